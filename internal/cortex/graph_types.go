package cortex

import "sakur4/internal/codesym"

// Source is what an index holds of one project. Indexes in it are positions in its slices. Nothing in it is changed once it is made.
type Source struct {
	// Modules are the Go modules of the project, sorted by folder.
	Modules []Module
	// Files are sorted by path; those that were skipped are not among them.
	Files []File
	// Symbols are sorted by file, then in source order: each comes after its parent. A file's symbols are Symbols[f.Symbols[0]:f.Symbols[1]].
	Symbols []Symbol
	// Refs are sorted by file, then by offset, Imports too.
	Refs    []Ref
	Imports []Import
}

// Module is a Go module: a folder with a go.mod.
type Module struct {
	// Dir is the folder below the project's root, "." for the root. Path is the module's path as go.mod states it.
	Dir, Path string
}

// File is one file of a [Source].
type File struct {
	// Path is the file's path below the project's root, with slashes.
	Path string
	Lang codesym.Lang
	// Package is what the language calls the unit that the file belongs to: the import path of a Go package (the folder where no go.mod is above it), the declared
	// package of Java, the dotted module of Python, the path without its ending of JavaScript and TypeScript, the folder of the others.
	Package string
	// Symbols, Refs and Imports are the ranges of the file in the source's slices: first, and one after the last.
	Symbols, Refs, Imports [2]int
}

// Symbol is one declaration of a [Source].
type Symbol struct {
	// ID is the id of the symbol's fact: "sym_" and hexadecimal digits.
	ID string
	// Name is the qualified name, with parameter types where the language has overloads and "#2" where names repeat. Short is the declared name.
	Name, Short string
	Kind        codesym.Kind
	// File is the file's index in the source.
	File int
	// Signature is the declaration without its body; Doc the first sentence of its comment.
	Signature, Doc string
	// Hash covers all tokens of the declaration, SigHash those of the signature: hexadecimal digits.
	Hash, SigHash string
	// Start and End are byte offsets, End exclusive; Line and EndLine are from 1.
	Start, End, Line, EndLine int
	// Parent is the index in the source of the innermost symbol that the declaration stands in, -1 for none.
	Parent int
	// Bases are the types that it extends, implements or embeds, as written.
	Bases []string
	// Test says that it is a test by the rules of its language, Exported that other packages see it.
	Test, Exported bool
	// Partial says that a syntax error lies in it or next to it.
	Partial bool
	// Version counts the texts that the index has had of it: 1 is one that was never edited. 0 is not known.
	Version int
}

// Ref is one call site of a [Source].
type Ref struct {
	// From is the index in the source of the innermost symbol that the call stands in, -1 for none. File is the file's index.
	From, File int
	// Callee is the name that is called, Receiver the text in front of it without the dot, "" for none or where it is long.
	Callee, Receiver string
	// Offset is the byte offset of the callee's name, Line its line from 1.
	Offset, Line int
	// SeenHash is the Hash that From had when this call was first seen there; "" for a call outside of symbols. It is compared with the Hash of now.
	SeenHash string
}

// Import is one name that an import declaration of a [Source] binds, or one module that it names.
type Import struct {
	// File is the file's index, Symbol the index of the import's symbol in the source.
	File, Symbol int
	// Path is the module as written, Name the name within it: "" for the module itself, "*" for all. Alias is the name that the file uses, "" where it follows.
	Path, Name, Alias string
	// Line is from 1.
	Line int
}
