// Package receipt shows the numbers of a turn: what filled the window, and what the server's cache made of it.
//
// A [Receipt] counts the prompt by [Category]; every category is always listed, and their sum is what was used. Its [Cache] part holds what was
// predicted beside what the server measured. What a server did not report is "not reported", never 0.
//
// [Receipt.String] gives text for people, [Receipt.Line] one line for logs, encoding/json the whole as an object, and [WriteSVG] a picture of a session.
package receipt
