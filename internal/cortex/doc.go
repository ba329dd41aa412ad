// Package cortex knows the source code of a project.
//
// A [Source] is what an index holds of it: files, symbols, references and imports, sorted. What is said about it, such as who calls a symbol, is a pure function
// of a Source.
package cortex
