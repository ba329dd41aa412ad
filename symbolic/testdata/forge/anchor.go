// An anchor for nothing.
package forge

import "sakur4/semantic"

type forged struct{ semantic.Anchor }

func (forged) Hash() string { return "forged" }

func forge(a semantic.Anchor) {
	_ = semantic.Anchor{kind: "symbolic_fact", id: "sym_0", hash: "00"} // ERROR "kind"
	_ = semantic.Anchor{"symbolic_fact", "sym_0", "00"}                 // ERROR "unexported field kind"
	semantic.New("symbolic_fact:sym_0", semantic.Interpreted, "x")      // ERROR "cannot use"
	semantic.New(forged{a}, semantic.Interpreted, "x")                  // ERROR "cannot use"
}
