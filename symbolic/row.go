package symbolic

import "time"

// Row is what the ledger stores of a fact: a claim, open to be read and copied. Anybody can write one down, so it proves nothing;
// a [Fact] is had again only by re-deriving it.
type Row struct {
	// FactID is "sym_" and hexadecimal digits, derived from the natural key (project, qualified name, kind, file path).
	FactID string
	// Project is the id of the project that the fact belongs to.
	Project string
	// QualifiedName is the symbol's name from its enclosing scopes, or tool name + "#" + 8 hexadecimal digits of the call's arguments + the place in the output.
	QualifiedName string
	// Kind is one of the kinds listed at [Kinds].
	Kind string
	// FilePath is the file that the bytes are the content of; "" where they are none.
	FilePath string
	// Source names the deterministic source, such as "json"; never empty.
	Source string
	// Value is the value as the parser read it: exact number text, decoded strings, a header's field value, a symbol's signature.
	Value string
	// ASTHash is the hash of the parser's value bytes, or of the whole symbol for code.
	ASTHash string
	// Episode is the tool episode that the bytes came back in; "" for a file that the cortex read.
	Episode string
	// Offset is the byte offset of the value in the evidence, from 0; Line its line, from 1.
	Offset, Line int
	// Updated is when the row last changed its value; First when the key was first written. Zero where the row was not read from the ledger.
	First, Updated time.Time
	// Version counts the values that this key has had, from 1; 0 where the row was not read from the ledger.
	Version int
}
