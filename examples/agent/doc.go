// Command agent is the reference agent: a thin loop around package sakur4 that shows how a program uses it.
//
// A turn is one [sakur4.Session.Window], the reply to it, and one [sakur4.Session.Observe]. Everything that was said is recorded with
// [sakur4.Session.Commit]; what leaves the prompt stays in the record.
//
//	agent                            explores the current folder by a fixed script on the embedded simulator
//	agent -task "find the bug"       works on a task with a llama.cpp server
//	agent -policy model              talks: one task a line
//	agent doctor                     says what works, and what to do about what does not
//	agent status|verify|receipt|plan|episodes|sessions|pins|evictions|folds|staleness|recall WORDS   looks into a store, given with -db
//	agent index                      reads the source code below the root into a store; symbol NAME looks a declaration up
//	agent impact NAME                says what may notice a change of it; map -budget N shows what matters most
//	agent dream                      writes interpretations into a store while its server is idle
//
// Flags stand behind the command and in front of a NAME or WORDS: agent symbol -db memory.db Open.
//
// The script needs no intelligent model: it ignores the words of a reply, and drives a real server as well as the simulator. While it runs the
// agent checks what the package promises, with code of its own, and says in its closing summary what held.
//
// The tools that read files are confined to one folder. Commands are run only with -allow-exec, and then they are not confined at all.
package main
