// Package symbolic is the ledger of facts that parsers read.
//
// A [Fact] is proof that a deterministic parser read a value in bytes that came back from a tool or were read from a file. It proves that these
// bytes came back, not that they are true: a page, a command or a test may lie, and the fact says only that it said so. No model is in the path.
//
// Start with [Read], which picks the parser of a recorded result, with [Extract], which applies a parser of your choice, and with [Rederive],
// which turns a [Row] of the ledger into a [Fact] again by parsing the recorded bytes anew.
//
// A fact cannot be made in another way. [Fact], [FactSource] and [Evidence] are opaque, have no decoder, and their zero values are refused. A
// [Row] is open and anybody can write one down, which is why it is a claim and no proof.
//
// Everything here is a pure function of its arguments and safe for concurrent use.
package symbolic
