package cortex_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/cortex"
)

// edges lists the resolved calls of a project: "line callee → file:name tier confidence".
func edgesOf(src *cortex.Source, r *cortex.Resolver) string {
	var b strings.Builder
	for i, ref := range src.Refs {
		for _, e := range r.Resolve(i) {
			to := src.Symbols[e.To]
			fmt.Fprintf(&b, "%s:%d %s → %s:%s, %s %.2f\n", src.Files[ref.File].Path, ref.Line, ref.Callee, src.Files[to.File].Path, to.Name, e.Tier, e.Confidence)
		}
	}
	return b.String()
}

// head returns the first lines of a text.
func head(s string, lines int) string {
	return strings.Join(strings.SplitAfter(s, "\n")[:lines], "")
}

func TestResolve(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, files, plain, want string }{ // plain are the first edges without texts
		{"go: scopes, packages, imports, receivers", `
-- a/a.go --
package a
import (
	"os"
	alias "m/b"
	"m/c"
)
func f() {}
func run(t *T, o other, w alias.W) {
	f()
	g()
	alias.Open()
	c.Open()
	os.Open("x")
	t.Do()
	t.Close()
	o.Do()
	w.Do()
	len("x")
	f := func() {}
	f()
}
-- a/b.go --
package a
import ("m/b"; "os")
type T struct { in *b.W; f *os.File; all []other; by map[string]*T; fn func() other }
func (t *T) Do() {
	t.in.Do()
	t.f.Do()
	for _, o := range t.all { o.Do() }
	t.by["x"].Do()
	t.fn().Do()
	x := New()
	x.Do()
	y, err := newOther(x)
	y.Do()
	err.Do()
	(&T{}).Do()
	switch v := any(x).(type) { case *other: v.Do(); case *T: v.Do() }
	if z, ok := any(x).(*T); ok { z.Do() }
	unknown().Do()
}
type other struct{ b.Base }
func (other) Do() {}
func New() *T { return nil }
func newOther(t *T) (*other, error) { return nil, nil }
func g() { var o other; o.Lift(); Shared.Do() }
var Shared = New()
-- a/a_test.go --
package a_test
import "m/a"
func TestNew(t *testing.T) { a.New().Do(); g() }
-- a/dot_test.go --
package a_test
import . "m/a"
func TestDot(t *testing.T) { New().Do(); var x *T; x.Do(); x = Shared; Shared.Do(); TestNew(t) }
-- b/b.go --
package b
type W struct{}
func (w *W) Do() {}
type Base struct{}
func (Base) Lift() {}
func Open() {}
-- c/c.go --
package c
func Open() {}
func Do() {}
`, `
a/a.go:9 f → a/a.go:f, same file 0.90
a/a.go:10 g → a/b.go:g, same package 0.85
a/a.go:11 Open → b/b.go:Open, imported name 0.90
a/a.go:12 Open → c/c.go:Open, imported name 0.90
a/a.go:14 Do → a/b.go:T.Do, receiver type 0.90
a/a.go:16 Do → a/b.go:other.Do, receiver type 0.90
a/a.go:17 Do → b/b.go:W.Do, receiver type 0.90
a/a.go:20 f → a/a.go:f, same file 0.90
a/a_test.go:3 New → a/b.go:New, imported name 0.90
a/a_test.go:3 Do → a/b.go:T.Do, ambiguous 0.13
a/a_test.go:3 Do → a/b.go:other.Do, ambiguous 0.13
a/a_test.go:3 Do → b/b.go:W.Do, ambiguous 0.13
a/b.go:5 Do → a/b.go:T.Do, ambiguous 0.13
a/b.go:5 Do → a/b.go:other.Do, ambiguous 0.13
a/b.go:5 Do → b/b.go:W.Do, ambiguous 0.13
`, `
a/a.go:9 f → a/a.go:f, same file 0.90
a/a.go:10 g → a/b.go:g, same package 0.85
a/a.go:11 Open → b/b.go:Open, imported name 0.90
a/a.go:12 Open → c/c.go:Open, imported name 0.90
a/a.go:14 Do → a/b.go:T.Do, receiver type 0.90
a/a.go:16 Do → a/b.go:other.Do, receiver type 0.90
a/a.go:17 Do → b/b.go:W.Do, receiver type 0.90
a/a_test.go:3 New → a/b.go:New, imported name 0.90
a/a_test.go:3 Do → a/b.go:T.Do, receiver type 0.90
a/b.go:5 Do → b/b.go:W.Do, receiver type 0.90
a/b.go:7 Do → a/b.go:other.Do, receiver type 0.90
a/b.go:8 Do → a/b.go:T.Do, receiver type 0.90
a/b.go:9 Do → a/b.go:other.Do, receiver type 0.90
a/b.go:10 New → a/b.go:New, same file 0.90
a/b.go:11 Do → a/b.go:T.Do, receiver type 0.90
a/b.go:12 newOther → a/b.go:newOther, same file 0.90
a/b.go:13 Do → a/b.go:other.Do, receiver type 0.90
a/b.go:15 Do → a/b.go:T.Do, receiver type 0.90
a/b.go:16 Do → a/b.go:other.Do, receiver type 0.90
a/b.go:16 Do → a/b.go:T.Do, receiver type 0.90
a/b.go:17 Do → a/b.go:T.Do, receiver type 0.90
a/b.go:18 Do → a/b.go:T.Do, ambiguous 0.13
a/b.go:18 Do → a/b.go:other.Do, ambiguous 0.13
a/b.go:18 Do → b/b.go:W.Do, ambiguous 0.13
a/b.go:24 Lift → b/b.go:Base.Lift, receiver type 0.90
a/b.go:24 Do → a/b.go:T.Do, receiver type 0.90
a/b.go:25 New → a/b.go:New, same file 0.90
a/dot_test.go:3 New → a/b.go:New, imported name 0.90
a/dot_test.go:3 Do → a/b.go:T.Do, receiver type 0.90
a/dot_test.go:3 Do → a/b.go:T.Do, receiver type 0.90
a/dot_test.go:3 Do → a/b.go:T.Do, receiver type 0.90
a/dot_test.go:3 TestNew → a/a_test.go:TestNew, same package 0.85
`},
		{"python", `
-- pkg/a.py --
from .b import helper, Thing as T
from pkg import c
import os
class A(T):
    def run(self, t: T):
        self.step()
        self.base()
        helper()
        c.helper()
        os.open()
        t.base()
        print()
        x.only()
    def step(self): pass
def top():
    def inner(): pass
    inner()
    T()
-- pkg/b.py --
def helper(): pass
class Thing:
    def base(self): pass
-- pkg/c.py --
def helper(): pass
class Z:
    def only(self): pass
`, "", `
pkg/a.py:6 step → pkg/a.py:A.step, same scope 0.95
pkg/a.py:7 base → pkg/b.py:Thing.base, same scope 0.95
pkg/a.py:8 helper → pkg/b.py:helper, imported name 0.90
pkg/a.py:9 helper → pkg/c.py:helper, imported name 0.90
pkg/a.py:11 base → pkg/b.py:Thing.base, receiver type 0.90
pkg/a.py:13 only → pkg/c.py:Z.only, unique in the project 0.50
pkg/a.py:17 inner → pkg/a.py:top.inner, same scope 0.95
pkg/a.py:18 T → pkg/b.py:Thing, imported name 0.90
`},
		{"go: names of packages that something else has", `
-- p/p.go --
package p
import (
	"m/fault"
	other "m/fault"
)
// fault is said in a comment, and fault too.
func a() { fault.New() }
func b(fault ...T) { fault.New() }
func c(fault T) { fault.New() }
func d() { x := "http://fault"; fault := T{}; fault.New(); _ = x }
func e() { other.New() }
func g() { New() }
type T struct{}
func (T) New() {}
-- q/q.go --
package q
import "m/fault"
func a() { fault.New(); use("the fault of it") }
func b() { /* fault */ fault.New() }
-- r/r.go --
package r
import . "m/fault"
func a() { New() }
-- fault/f.go --
package fault
func New() {}
func Is() { New() }
`, "", `
fault/f.go:3 New → fault/f.go:New, same file 0.90
p/p.go:7 New → fault/f.go:New, imported name 0.90
p/p.go:9 New → p/p.go:T.New, receiver type 0.90
p/p.go:10 New → p/p.go:T.New, receiver type 0.90
p/p.go:11 New → fault/f.go:New, imported name 0.90
q/q.go:3 New → fault/f.go:New, imported name 0.90
q/q.go:4 New → fault/f.go:New, imported name 0.90
r/r.go:3 New → fault/f.go:New, imported name 0.90
`},
		{"typescript: packages of the project by name", `
-- package.json --
{"name": "@shop/root", "workspaces": ["packages/*"]}
-- packages/core/package.json --
{"name": "@shop/core", "main": "./dist/main.js", "types": "dist/main.d.ts", "exports": {"name": "other"}}
-- packages/core/src/main.ts --
export { price } from './price'
export function open() {}
-- packages/core/src/price.ts --
export function price() {}
-- packages/core/src/util/index.ts --
export function round() { price() }
-- packages/core/test/a.test.ts --
import { open } from '@shop/core'
open()
-- packages/web/package.json --
{"name": "web"}
-- packages/web/index.ts --
import { open, price } from '@shop/core'
import { round } from '@shop/core/util'
import { price as cost } from "@shop/core/price.js"
import { own } from 'web/own'
import { useState } from 'react'
import { lost } from '@shop/other'
open(); price(); round(); cost(); own(); useState(); lost()
-- packages/web/own.ts --
export const own = () => 1
export const lost = () => 1, useState = () => 1
`, "", `
packages/core/test/a.test.ts:2 open → packages/core/src/main.ts:open, imported name 0.90
packages/web/index.ts:7 open → packages/core/src/main.ts:open, imported name 0.90
packages/web/index.ts:7 price → packages/core/src/price.ts:price, imported name 0.90
packages/web/index.ts:7 round → packages/core/src/util/index.ts:round, imported name 0.90
packages/web/index.ts:7 cost → packages/core/src/price.ts:price, imported name 0.90
packages/web/index.ts:7 own → packages/web/own.ts:own, imported name 0.90
`},
		{"typescript", `
-- src/a.ts --
import { f as g, Base } from './b';
import * as ns from './b';
import { f as other } from 'elsewhere';
class A extends Base {
  run(b: Base) { this.step(); this.up(); g(); ns.f(); other(); b.up(); super.up(); }
  step() {}
}
-- src/b.ts --
export function f() {}
export class Base { up() { } }
`, "", `
src/a.ts:5 step → src/a.ts:A.step, same scope 0.95
src/a.ts:5 up → src/b.ts:Base.up, same scope 0.95
src/a.ts:5 g → src/b.ts:f, imported name 0.90
src/a.ts:5 f → src/b.ts:f, imported name 0.90
src/a.ts:5 up → src/b.ts:Base.up, receiver type 0.90
src/a.ts:5 up → src/b.ts:Base.up, same scope 0.95
`},
		{"java", `
-- p/A.java --
package p;
import q.B;
class A extends B {
  void run(B b, C c) { step(); up(); b.up(); C.make(); c.go(); new C(); this.step(); }
  void step() {}
}
-- p/C.java --
package p;
class C { static C make() { return null; } void go() {} C() {} }
-- q/B.java --
package q;
public class B { public void up() {} }
`, "", `
p/A.java:4 step → p/A.java:A.step(), same scope 0.95
p/A.java:4 up → q/B.java:B.up(), same scope 0.95
p/A.java:4 up → q/B.java:B.up(), receiver type 0.90
p/A.java:4 make → p/C.java:C.make(), receiver type 0.90
p/A.java:4 go → p/C.java:C.go(), receiver type 0.90
p/A.java:4 C → p/C.java:C, same package 0.85
p/A.java:4 step → p/A.java:A.step(), same scope 0.95
`},
		{"rust", `
-- src/main.rs --
mod util;
use crate::util::help;
struct S;
impl S { fn new() -> S { S } fn go(&self) { self.step(); } fn step(&self) {} }
fn main() { help(); util::help(); let s = S::new(); s.go(); run(&s); }
fn run(s: &S) { s.go(); }
-- src/util.rs --
pub fn help() {}
`, "", `
src/main.rs:4 step → src/main.rs:S::step, same scope 0.95
src/main.rs:5 help → src/util.rs:help, imported name 0.90
src/main.rs:5 help → src/util.rs:help, imported name 0.90
src/main.rs:5 new → src/main.rs:S::new, receiver type 0.90
src/main.rs:5 go → src/main.rs:S::go, receiver type 0.90
src/main.rs:5 run → src/main.rs:run, same file 0.90
src/main.rs:6 go → src/main.rs:S::go, receiver type 0.90
`},
		{"c and c++", `
-- lib/a.h --
int f(int);
-- lib/a.c --
#include "a.h"
static int hidden(void) { return 0; }
int f(int x) { return hidden(); }
-- main.c --
#include "lib/a.h"
static int hidden(void) { return 1; }
int main(void) { return f(1) + hidden() + printf("x"); }
-- t.cpp --
class T { public: void go() { step(); } void step(); };
void T::step() {}
void use(T &t) { t.go(); }
`, "", `
lib/a.c:3 hidden → lib/a.c:hidden, same file 0.90
main.c:3 f → lib/a.c:f, imported name 0.90
main.c:3 f → lib/a.h:f, imported name 0.90
main.c:3 hidden → main.c:hidden, same file 0.90
t.cpp:1 step → t.cpp:T::step(), same scope 0.95
t.cpp:3 go → t.cpp:T::go(), receiver type 0.90
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files := parseTree(c.files)
			src := files.source(t, "m")
			g := cortex.NewGraph(src)
			r := cortex.NewResolver(g)
			if c.plain != "" {
				if d := cmp.Diff(strings.TrimPrefix(c.plain, "\n"), head(edgesOf(src, r), strings.Count(c.plain, "\n")-1)); d != "" {
					t.Errorf("without texts: (-want +got)\n%s", d)
				}
			}
			r = cortex.NewResolver(g)
			r.Text = files.text(src)
			if d := cmp.Diff(strings.TrimPrefix(c.want, "\n"), edgesOf(src, r)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// TestEveryTypeExtendsEveryOther ends: each type is climbed once, however many ways lead to it.
func TestEveryTypeExtendsEveryOther(t *testing.T) {
	t.Parallel()
	const n = 40
	var goText, py strings.Builder
	goText.WriteString("package p\n")
	for i := range n {
		var fields, bases []string
		for k := range n {
			fields = append(fields, fmt.Sprint("*T", k))
			bases = append(bases, fmt.Sprint("T", k))
		}
		fmt.Fprintf(&goText, "type T%d struct { %s }\nfunc f%d(x *T%d) { x.Missing(); x.f.g.Missing() }\n", i, strings.Join(fields, "; "), i, i)
		fmt.Fprintf(&py, "class T%d(%s):\n  def m(self): self.missing(); super().missing()\n", i, strings.Join(bases, ", "))
	}
	goText.WriteString("type I interface { Missing() }\nfunc (U) Missing() {}\ntype U struct{}\n")
	py.WriteString("class U:\n  def missing(self): pass\n")
	files := tree{"a.go": goText.String(), "a.py": py.String()}
	src := files.source(t, "m")
	r := cortex.NewResolver(cortex.NewGraph(src))
	r.Text = files.text(src)
	for _, name := range []string{"U.Missing", "U.missing", "a.py:T0", "a.go:T0", "I"} {
		r.Impact(symbolNamed(t, src, name), 3, 0)
	}
}

// TestManyDeclarationsOfOneName: what is kept of a call is bounded, so that the edges of a file grow with its size and not with its square.
func TestManyDeclarationsOfOneName(t *testing.T) {
	t.Parallel()
	const n = 300
	var classes strings.Builder
	for i := range n {
		fmt.Fprintf(&classes, "class T%d:\n  def f(self, x): x.f(x)\n", i)
	}
	for _, c := range []struct {
		name, text string
		most       int
	}{
		{"one declaration many times", strings.Repeat("def f(): f()\n", n), 64},
		{"a method of many types", classes.String(), 5},
	} {
		src := tree{"a.py": c.text}.source(t, "m")
		r := cortex.NewResolver(cortex.NewGraph(src))
		for i := range src.Refs {
			if got := r.Resolve(i); len(got) == 0 && c.most == 64 || len(got) > c.most || cap(got) > 2*c.most {
				t.Fatalf("%s: Resolve(%d) = %d edges, %d held, want at most %d", c.name, i, len(got), cap(got), c.most)
			}
		}
	}
}
