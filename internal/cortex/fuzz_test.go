package cortex_test

import (
	"testing"

	"sakur4/internal/codesym"
	"sakur4/internal/cortex"
)

// FuzzGraph asks everything about a project of two files that hold anything: it ends, and what it says lies within the source.
func FuzzGraph(f *testing.F) {
	for i, text := range []string{
		"package p\nimport . \"m\"\nimport x \"m/b\"\ntype T struct{ *T; x.Y[T] }\nfunc (t *T) M() (r T) { for a, b := range t.M { a.b().M(); b.M() }; switch v := x.Z(t).(type) { case *T: v.M() }; return T.M(*t) }\n" +
			"type I interface { I; M() T }\nconst ( A T = iota; B )\nvar v, w = v.M(), (A + B).M\nfunc g[X I](x X) { x.M(); x := x.M().M; x() }\n",
		"from .b import *\nimport b as c\nclass A(A, c.B):\n  def m(self, x: A): self.m(); x.m(); super().m(); c.m(); A()\n",
		"import {a as b} from './b'; import * as n from './b'; class A extends A { m(x: A) { this.m(); x.m(); n.m(); b(); super.m() } }",
		"package p; import q.*; class A extends A implements I { A(I i) { m(i); i.m(); A.m(); this.m(); new A(i); } }",
		"use crate::b::{self, c as d}; struct A; impl A { fn m(&self, x: &A) { self.m(); x.m(); A::m(x); d(); b::c(); Self::m(x) } }",
		"#include \"b.h\"\nclass A : public A { void m(A &a) { m(a); a.m(a); this->m(a); A::m(a); n::m(); } };",
	} {
		f.Add(uint8(i), text, "module m\nrequire (\n a v1 // x\n)\nreplace a => ./b\n")
	}
	f.Add(uint8(1), "from .b import A\nclass C:\n  x: A\n  def m(self): self.y = A('it\\'s'); self.y.m(self.x.m) # A\n  \"\"\"A\nm = C()\nm.m()\n", "")
	f.Add(uint8(2), "export { A } from './b'; export * from './b'; const s = new A(); class B { private t?: A; m() { this.t.m(s.m); s.m() } } // m", "")
	langs := []string{"a.go", "a.py", "a.ts", "a.java", "a.rs", "a.cpp"}
	f.Fuzz(func(t *testing.T, lang uint8, text, mod string) {
		name := langs[int(lang)%len(langs)]
		l, _ := codesym.LanguageOf(name, "")
		if _, err := codesym.Parse(l, text); err != nil || len(text) > 4000 {
			t.Skip()
		}
		files := tree{name: text, "b/" + name: text, "go.mod": mod}
		src := files.source(t, "m")
		g := cortex.NewGraph(src)
		plain := cortex.NewResolver(g)
		r := cortex.NewResolver(g)
		r.Text = files.text(src)
		for i := range src.Refs {
			for _, e := range append(plain.Resolve(i), r.Resolve(i)...) {
				if e.To < 0 || e.To >= len(src.Symbols) || e.Confidence <= 0 || e.Confidence > 1 {
					t.Errorf("Resolve(%d) = %+v", i, e)
				}
			}
		}
		for i := range src.Symbols[:min(len(src.Symbols), 20)] {
			for _, level := range r.Impact(i, 3, 0).Levels {
				for _, d := range level {
					if d.Symbol >= len(src.Symbols) || d.File < 0 || d.File >= len(src.Files) || d.Confidence <= 0 || d.Confidence > 1 || len(d.Lines) == 0 {
						t.Errorf("Impact(%d) has %+v", i, d)
					}
				}
			}
		}
		end := 0
		for _, span := range cortex.Prose(l, text) {
			if span[0] < end || span[1] <= span[0] || span[1] > len(text) {
				t.Errorf("%v follows what ends at %d in a text of %d bytes", span, end, len(text))
			}
			end = span[1]
		}
		sum := 0.0
		for _, x := range ranked(t, g, "b", "m") {
			sum += x.Score
		}
		if !(sum >= 0 && sum <= 1+1e-6) {
			t.Errorf("the ranks sum to %v", sum)
		}
		if name == "a.go" {
			if _, err := cortex.CheckGo(t.Context(), g, cortex.GoConfig{Root: files.mapFS(), Std: tinyStd.mapFS(), Cache: files.mapFS()}); err != nil {
				t.Errorf("CheckGo: %v", err)
			}
		}
	})
}
