package codesym_test

import (
	"testing"

	"sakur4/internal/codesym"
)

const goSample = `// Package p does p. And more.
package p

import (
	"fmt"
	alias "io" // why
)

// Limit is a bound. It is exact.
const Limit = 10

const (
	// A is the first.
	A = iota
	B, C
	_
)

// T holds e.g. numbers. Not more.
type T[K comparable] struct {
	alias.Reader
	m map[K]int
}

type (
	Reader interface {
		// Read reads.
		Read(p []byte) (n int, err error)
		fmt.Stringer
	}
	Name = string
)

// Get gets.
func (t *T[K]) Get(
	k K, // the key
) (
	int,
	error,
) {
	type local struct{ x int }
	return t.m[k], fmt.Errorf("%v", local{len(t.m)})
}

func (T[K]) Get2() { func() { f[int](nil) }() }

func f[X any](x interface{ M() }) {}

func TestX() {}
func _()     {}
func init()  {}
func init()  {}
`

func TestGo(t *testing.T) {
	t.Parallel()
	runGolden(t, codesym.Go, goCases)
}

var goCases = []golden{
	{
		name: "all", src: goSample,
		want: `
module p 2-2 | package p | Package p does p.
import fmt 5-5 | import "fmt"
import io 6-6 | import alias "io"
constant Limit 10-10 | const Limit = 10 | Limit is a bound.
constant A 14-14 | const A = iota | A is the first.
constant B 15-15 | const B, C
constant C 15-15 | const B, C
struct T 20-23 | type T[K comparable] struct | T holds e.g. numbers. <alias.Reader>
interface Reader 26-30 | type Reader interface <fmt.Stringer>
method Reader.Read 28-28 | Read(p []byte) (n int, err error) | Read reads.
type Name 31-31 | type Name = string
method T.Get 35-43 | func (t *T[K]) Get(k K) (int, error) | Get gets.
struct T.Get.local 41-41 | type local struct
method T.Get2 45-45 | func (T[K]) Get2()
function f 47-47 | func f[X any](x interface{ M() })
function TestX 49-49 | func TestX() [test]
function init 51-51 | func init()
function init#2 52-52 | func init()
`,
		calls:   []string{"T.Get: fmt|Errorf", "T.Get: |len", "T.Get2: |f"},
		imports: []string{"fmt||", "io||alias"},
	},
	{name: "empty", want: "\n"},
	{
		name: "missing brace", src: "package p\n\nfunc a() {\n\tif x {\n\t\tb()\n}\n\n// B is b.\nfunc (t *T) B(x int) { a() }\n\ntype S struct {\n\tx int\n\nconst K = 1\n",
		want: `
module p 1-1 | package p
function a 3-6 | func a() [partial]
method T.B 9-9 | func (t *T) B(x int) | B is b. [partial]
struct S 11-12 | type S struct [partial]
constant K 14-14 | const K = 1
`,
		calls: []string{"a: |b", "T.B: |a"},
	},
	{
		name: "missing quote", src: "package p\n\nvar x = \"abc\n\nfunc f() string { return `a\n\nfunc g() {}\n",
		want: `
module p 1-1 | package p
function f 5-5 | func f() string [partial]
function g 7-7 | func g()
`,
	},
}

func FuzzGo(f *testing.F) { fuzz(f, codesym.Go, goSample, "package p\nfunc (", "import\"") }
