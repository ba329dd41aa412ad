package cortex_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/cortex"
)

// TestReceiversByDeclaration finds the types of receivers by what stands beside their names, methods that are named without a call, and what modules hand on.
func TestReceiversByDeclaration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, files, symbol, want string }{
		{"python", `
-- cache.py --
class Cache:
    def get(self): return self.find()
    def find(self): pass
class Other:
    def find(self): pass
made = Cache()
find = made.find
-- user.py --
from cache import Cache, Other
class User:
    c: Cache
    def __init__(self, other):
        self.own = Cache(1)
        self.maybe: Optional[Other] = None
        self.late = wrap(self.own.find)
    def a(self): self.own.find()
    def b(self): self.maybe.find()
    def d(self):
        x = Other()
        x.find()
        unknown.find()
    def e(self): return self.c.find()
`, "Cache.find", `
1 calls cache.py:Cache.get [2] via Cache.find, same scope 0.95
1 mentions cache.py:(file) [7] via Cache.find, receiver type 0.90
1 mentions user.py:User.__init__ [7] via Cache.find, receiver type 0.90
1 calls user.py:User.a [8] via Cache.find, receiver type 0.90
1 calls user.py:User.e [14] via Cache.find, receiver type 0.90
1 calls user.py:User.d [13] via Cache.find, ambiguous 0.20
`},
		{"typescript", `
-- svc.ts --
export class Service { run() {} }
export class Job { run() {} }
-- index.ts --
export { Service } from './svc'
export * from './svc'
-- use.ts --
import { Service, Job } from './index'
class App {
  private job?: Job
  constructor(private readonly svc: Service) { on(this.svc.run) }
  go() { this.svc.run() }
  not() { this.job.run() }
}
const s = new Service()
function f() { s.run(); const j = new Job(); j.run() }
`, "Service.run", `
1 mentions use.ts:App.constructor [4] via Service.run, receiver type 0.90
1 calls use.ts:App.go [5] via Service.run, receiver type 0.90
1 calls use.ts:f [9] via Service.run, receiver type 0.90
`},
		{"what is handed on", `
-- a/x.ts --
export function once() {}
export class Kept {}
-- a/index.ts --
export * from './x'
-- b.ts --
export { once, Kept as Renamed } from './a'
-- c.ts --
import { once } from './b'
import * as a from './a'
function f() { once(); a.once() }
-- d.ts --
import { once } from './elsewhere'
function g() { once() }
`, "a/x.ts:once", `
1 calls c.ts:f [3] via once, imported name 0.90
1 mentions b.ts:once [1] via once, same word 0.60
`},
		{"python packages", `
-- pkg/__init__.py --
from .impl import work
-- pkg/impl.py --
def work(): pass
-- main.py --
from pkg import work
import pkg
def f(): work()
def g(): pkg.work()
`, "work", `
1 calls main.py:f [3] via work, imported name 0.90
1 calls main.py:g [4] via work, imported name 0.90
`},
		{"java", `
-- A.java --
package p;
class A {
  private final Store<String> store;
  Other o = new Other();
  void a() { store.put(); }
  void b() { o.put(); }
  void c() { Store s = make(); s.put(); }
}
-- Store.java --
package p;
class Store<T> { void put() {} }
class Other { void put() {} }
`, "Store.put()", `
1 calls A.java:A.a() [5] via Store.put(), receiver type 0.90
1 calls A.java:A.c() [7] via Store.put(), receiver type 0.90
`},
		{"c++ and rust", `
-- t.cpp --
class T { public: void go(); };
class U { public: void go(); };
class W { T* t; U u; void a() { t->go(); } void b() { u.go(); } };
void f() { T x; x.go(); }
-- src/lib.rs --
struct S;
trait Show { fn show(&self); }
impl Show for S { fn show(&self) {} }
impl S { fn new() -> S { S } }
fn g() { let s = S::new(); s.show(); }
`, "T::go()", `
1 calls t.cpp:W::a() [3] via T::go(), receiver type 0.90
1 calls t.cpp:f() [4] via T::go(), receiver type 0.90
`},
		{"overloads", `
-- p/A.java --
package p;
class A {
  void f(int x) { f("", x); }
  void f(String s, int x) { g(); }
  void g() { f(1); }
  void h(int x) { g(); }
  void h(String s) { g(); }
}
-- p/B.java --
package p;
// A, and a * of A
class B { String s = "an A of B"; Runnable r = A::g; /* A */ Object o = A.class; }
`, "A.g()", `
1 calls p/A.java:A.f(String, int) [4] via A.g(), same scope 0.95
1 calls p/A.java:A.h(int) [6] via A.g(), same scope 0.95
1 calls p/A.java:A.h(String) [7] via A.g(), same scope 0.95
1 mentions p/B.java:B [3] via A.g(), receiver type 0.90
`},
		{"what is no use", `
-- a.py --
"""Job is
a Job."""
class Job: pass
-- b.py --
from a import Job # Job
__all__ = ["Job", 'other']
def f():
    '''makes a Job'''
    log("a Job", 'it\'s a Job')
    return "Job"
x = 1 # no Job
-- c.py --
from a import Job
def g(x: "Job"): return Job
`, "Job", `
1 mentions b.py:(file) [2] via Job, same word 0.60
1 mentions b.py:f [6] via Job, same word 0.60
1 mentions c.py:g [2] via Job, same word 0.60
imported by b.py
imported by c.py
`},
		{"methods of traits", `
-- src/lib.rs --
struct S;
struct R;
trait Show { fn show(&self); }
impl Show for S { fn show(&self) {} }
impl Show for R { fn show(&self) {} }
impl S { fn new() -> S { S } }
fn g() { let s = S::new(); s.show(); }
`, "<S as Show>::show", `
1 calls src/lib.rs:g [7] via <S as Show>::show, receiver type 0.90
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files := parseTree(c.files)
			src := files.source(t, "m")
			r := cortex.NewResolver(cortex.NewGraph(src))
			r.Text = files.text(src)
			if d := cmp.Diff(strings.TrimPrefix(c.want, "\n"), impactText(src, r.Impact(symbolNamed(t, src, c.symbol), 1, 0))); d != "" {
				t.Errorf("Impact(%s) (-want +got)\n%s", c.symbol, d)
			}
		})
	}
}
