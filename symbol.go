package sakur4

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sakur4/internal/codeindex"
)

// Symbol is a declaration in the project's source code, as its file has it at this moment.
type Symbol struct {
	// ID is the fact: [FactAnchor] of it is what an interpretation of the symbol is anchored to.
	ID FactID `json:"id"`
	// Name is the shortest name that [Engine.Symbol] finds the symbol and nothing else by. QualifiedName is the fact's: the name with its scopes, with parameter
	// types where the language has overloads, and "#2", "#3" where names repeat in a file.
	Name          string `json:"name"`
	QualifiedName string `json:"qualified_name"`
	// Kind is one of those that [symbolic.Kinds] begins with. Language is that of the file, Package what the language calls the unit that it belongs to: of Go
	// the path that it is imported by, "" in the root of a tree without a go.mod.
	Kind     string `json:"kind"`
	Language string `json:"language"`
	Package  string `json:"package,omitempty"`
	// File is below the project's root, with slashes. Line and EndLine are from 1, Start and End byte offsets, End exclusive.
	File    string `json:"file"`
	Line    int    `json:"line"`
	EndLine int    `json:"end_line"`
	Start   int    `json:"start"`
	End     int    `json:"end"`
	// Signature is the declaration without its body, Doc the first sentence of its comment, Text the whole declaration as it is in the file.
	Signature string `json:"signature"`
	Doc       string `json:"doc,omitempty"`
	Text      string `json:"text"`
	// Hash covers all tokens of the declaration, SignatureHash those of the signature, both without comments and spacing.
	Hash          string `json:"hash"`
	SignatureHash string `json:"signature_hash"`
	// Parent is the qualified name of the symbol that it stands in, "" for none. Bases are the types that it extends, implements or embeds, as written.
	Parent string   `json:"parent,omitempty"`
	Bases  []string `json:"bases,omitempty"`
	// Test says that it is a test, Exported that other packages see it, Partial that a syntax error lies in it or next to it.
	Test     bool `json:"test,omitempty"`
	Exported bool `json:"exported,omitempty"`
	Partial  bool `json:"partial,omitempty"`
	// Refreshed says that its file had changed since it was indexed, and was read anew.
	Refreshed bool `json:"refreshed,omitempty"`
}

// SymbolError says why a name is none of one symbol. It is [ErrNotFound].
type SymbolError struct {
	// Name is the name that was asked for.
	Name string
	// Ambiguous says that several symbols have it. Nearest are then names for each of them, otherwise those that may have been meant, the likeliest first; at most 16.
	Ambiguous bool
	Nearest   []string
	// NothingIndexed says that the project has no index yet.
	NothingIndexed bool
}

// Error says what is wrong and lists the names.
func (e *SymbolError) Error() string {
	switch {
	case e.NothingIndexed && e.Name == "":
		return "sakur4: nothing is indexed yet"
	case e.NothingIndexed:
		return fmt.Sprintf("sakur4: no symbol %q: nothing is indexed yet", e.Name)
	case e.Ambiguous:
		return fmt.Sprintf("sakur4: %q is the name of several symbols: %s", e.Name, strings.Join(e.Nearest, ", "))
	case len(e.Nearest) > 0:
		return fmt.Sprintf("sakur4: no symbol %q; the nearest are: %s", e.Name, strings.Join(e.Nearest, ", "))
	}
	return fmt.Sprintf("sakur4: no symbol %q", e.Name)
}

// Is reports whether target is [ErrNotFound].
func (e *SymbolError) Is(target error) bool { return target == ErrNotFound }

// Symbol returns a symbol by its name: the qualified name, one with the package or the file in front ("store.Open", "store/open.go:Open"), or the end of one. A kind
// or the word that declares it, may stand before it ("struct T", "func Open"), and parameter types may be left out or be "()".
// In front of a Go name may stand the import path of its package, the end of it, or the name in the package clause: "examples/agent.main" is "main.main" as well. The symbol is what its file holds at this moment: a file that has changed since
// it was indexed is read anew, and the index is brought up to date for it unless the store is read-only. A name that the index does not have is looked for in the indexed files that
// have changed; files that are new are found by [Engine.Index].
//
// The errors are a [*SymbolError] and, where the file cannot be read, [ErrUnverified].
func (e *Engine) Symbol(ctx context.Context, qualifiedName string) (Symbol, error) {
	if err := e.check(ctx); err != nil {
		return Symbol{}, err
	}
	found, err := e.code.Symbol(ctx, qualifiedName)
	if err != nil {
		return Symbol{}, nameError(err)
	}
	return symbolOf(&found)
}

// nameError gives an error of the index its exported type.
func nameError(err error) error {
	var n *codeindex.NameError
	if errors.As(err, &n) {
		return &SymbolError{Name: n.Name, Ambiguous: n.Ambiguous, Nearest: n.Nearest, NothingIndexed: n.NothingIndexed}
	}
	return wrap(err)
}

// symbolOf describes what was found.
func symbolOf(f *codeindex.Found) (Symbol, error) {
	fact := &f.Fact
	if f.Err != nil {
		return Symbol{}, fmt.Errorf("%w: %s %q: %w", ErrUnverified, fact.Kind, fact.QualifiedName, f.Err)
	}
	if fact.Offset > f.End || f.End > len(f.Text) {
		return Symbol{}, fmt.Errorf("%w: symbol %q lies outside of its file", ErrCorrupt, fact.QualifiedName)
	}
	return Symbol{ID: FactID(fact.FactID), Name: f.Name, QualifiedName: fact.QualifiedName, Kind: fact.Kind, Language: f.File.Language,
		Package: f.Package, File: f.File.Path, Line: fact.Line, EndLine: f.EndLine, Start: fact.Offset, End: f.End, Signature: fact.Value, Doc: f.Doc,
		Text: f.Text[fact.Offset:f.End], Hash: fact.ASTHash, SignatureHash: f.SigHash.String(), Parent: f.Parent, Bases: f.Bases, Test: f.Test, Exported: f.Exported,
		Partial: f.Partial, Refreshed: f.Refreshed}, nil
}
