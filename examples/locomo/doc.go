// Command locomo measures recall on conversations with questions, in the form of the LoCoMo benchmark. It ships no data.
//
//	locomo -in locomo.json           prints a table
//	locomo -in locomo.json -json     prints one JSON object
//
// All conversations go into one store, each as a project of its own, each of its sessions as a session, each turn as one episode in order.
// Every question is one [sakur4.Engine.Recall] with its text as it is; nothing is set for a question or a conversation.
//
// recall@k is the share of a question's evidence among the first k hits, averaged over the questions; MRR the mean of 1/rank of the first
// piece of evidence. Questions whose evidence names no turn are left out.
package main
