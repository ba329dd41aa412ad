// Package toolparse reads the structure of tool output.
//
// A parser takes the bytes that a tool returned and reports values with their positions: [JSON], [CSV], [HTTPHeaders], [UnifiedDiff], [ExitCode],
// [Fields] and [Matches]; a [Text] is for who asks several of them about one text. It reports what is there or refuses with a [*SyntaxError]; it repairs
// nothing and guesses nothing. What it reports is syntax, not a fact: facts are made by package symbolic alone, from recorded bytes.
//
// Offsets are bytes from 0, lines count from 1 and end at a line feed. Parsers are pure functions, safe for concurrent use, and work in time
// linear in the length of their input; they read what they are given to the end, whatever the bytes are.
package toolparse
