// Package recall turns text into search terms and merges what several retrievers found.
//
// [Analyze] gives the terms of a text and [QueryTerms] those of a question; both cut words in the same way, so that a term of one is a term of the other. [Fuse] merges ranked
// lists. All of it is pure: the same input gives the same output, in time proportional to its length.
//
// A text is not only prose here. An identifier is found by its whole name and by its parts, a file by its path, its name and the words in it, and text in scripts without
// spaces by its pairs of characters.
package recall
