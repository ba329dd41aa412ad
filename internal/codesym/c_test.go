package codesym_test

import (
	"testing"

	"sakur4/internal/codesym"
)

const cSample = `#ifndef A_H
#define A_H
#include <stdio.h>
#include "own.h" /* why */
#define MAX(a, b) \
	((a) > (b) ? (a) : (b)) // {
#define LIMIT 10

/* A point. It is flat. */
typedef struct point {
	int x, y;
	struct inner { int z; } in;
} point_t, *point_p;
typedef unsigned long (*callback)(int, char *);
typedef struct forward forward;
union u { int a; float b; };
enum color { RED, GREEN = MAX(1, 2), BLUE, };
enum { ANONYMOUS };
extern int printf_like(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int helper(int);
static const int size = 3;
int table[] = { 1, 2 };
int (*pointer)(int);
#if 0
int dead(void) {
#endif

// Adds.
static inline struct point *add(struct point *p, int n) {
#ifdef DEBUG
	if (n > 1) {
#else
	if (n) {
#endif
		printf("%d }", helper(n)); p->fn(n);
	}
	return (struct point *)p;
}
static int helper(int n) { char c = '}'; switch (n) { case 1: return MAX(n, c); } return 0; }
int old(a, b)
	int a;
	char *b;
{ return a; }
MODULE_LICENSE("GPL")
void after_macro(void) { if (x) y(); }
int one(int x), two;
#endif
`

func TestC(t *testing.T) {
	t.Parallel()
	runGolden(t, codesym.C, cCases)
}

var cCases = []golden{{name: "all", src: cSample, want: cWant, calls: cCalls, imports: cImports}}

// TestCHeads reads heads that are written in unusual ways.
func TestCHeads(t *testing.T) {
	t.Parallel()
	runGolden(t, codesym.C, cHeadsCases)
}

var cHeadsCases = []golden{
	{
		name: "types with a word", src: "PUBLIC enum error check(int fd)\n{\n\treturn OK;\n}\nstruct pair make(int a, b_t b) { return p; }\nenum e old(a)\n\tint a;\n{\n}\n",
		want: `
function check 1-4 | PUBLIC enum error check(int fd)
function make 5-5 | struct pair make(int a, b_t b)
function old 6-9 | enum e old(a) int a;
`,
	},
	{
		name: "macros in front of old heads", src: "RCSID(\"@(#)a.c\")\n\nint\nflush(fp, timeout)\n\tregister FILE *fp;\n\tint (*timeout)();\n{\n}\nMODULE(a)\nint next(b)\n\tint b;\n{\n}\n",
		want: `
function flush 3-8 | int flush(fp, timeout) register FILE *fp; int (*timeout)();
function next 10-13 | int next(b) int b;
`,
	},
	{
		name: "macros for parameters", src: `extern void a __P((int, char *));
static char *b _((void));
E int FDECL(c, (struct obj *, BOOLEAN_P));
extern void NDECL(d);
E boolean FDECL(i, (struct obj *));
E struct obj *FDECL(j, (int));
extern boolean NDECL(k);
struct mutex lock ALIGNED(cache); boolean ready GUARDED(lock);
E int FDECL((*pointer), (int)), (*other)();
typedef int (*e) __P((DB *db));
typedef void f _((int));
struct s { int (*field) _((int)); };
int (g)(x) int x; { return x; }
int h() NORETURN((1));
__attribute_cold__
__attribute_format__((__printf__, 1, 2))
static void l(const char *fmt, ...);
`,
		want: `
function a 1-1 | extern void a __P((int, char *))
function b 2-2 | static char *b _((void))
function c 3-3 | E int FDECL(c, (struct obj *, BOOLEAN_P))
function d 4-4 | extern void NDECL(d)
function i 5-5 | E boolean FDECL(i, (struct obj *))
function j 6-6 | E struct obj *FDECL(j, (int))
function k 7-7 | extern boolean NDECL(k)
type e 10-10 | typedef int (*e) __P((DB *db))
type f 11-11 | typedef void f _((int))
struct s 12-12 | struct s
function g 13-13 | int (g)(x) int x;
function h 14-14 | int h() NORETURN((1))
function l 15-17 | __attribute_cold__ __attribute_format__((__printf__, 1, 2)) static void l(const char *fmt, ...)
`,
	},
	{
		name: "names at the left margin, and a bracket missing elsewhere", src: "enum {\nA,\nB\n};\nint f(void) {\n  g(1;\n}\n",
		want: `
constant A 2-2 | A
constant B 3-3 | B
function f 5-7 | int f(void) [partial]
`,
	},
	{
		name: "macros around declarations", src: "__BEGIN_DECLS\nint a(void);\n__END_DECLS\n\n#define X 1\nint b(void) { return 1; }\nPOP\n",
		want: `
function a 2-2 | int a(void)
constant X 5-5 | #define X 1
function b 6-6 | int b(void)
`,
	},
	{
		name: "strings over lines of a macro", src: "#define T(x) \\\n  printf(\"fails:   \\\n    at %d\\n\" \\\n  , x); \\\n}\nint after(void) { return 1; }\n",
		want: `
function T 1-5 | #define T(x)
function after 6-6 | int after(void)
`,
	},
}

func FuzzC(f *testing.F) {
	fuzz(f, codesym.C, cSample, "#if\n{\n#else\n", "int a(", "typedef struct {", "#define", "enum { A")
}

const cWant = `
constant A_H 2-2 | #define A_H
import stdio.h 3-3 | #include <stdio.h>
import own.h 4-4 | #include "own.h"
function MAX 5-6 | #define MAX(a, b)
constant LIMIT 7-7 | #define LIMIT 10
type point_t 10-13 | typedef struct point { int x, y; struct inner { int z; } in; } point_t, *point_p | A point.
type point_p 10-13 | typedef struct point { int x, y; struct inner { int z; } in; } point_t, *point_p | A point.
struct point 10-13 | struct point
struct point::inner 12-12 | struct inner
type callback 14-14 | typedef unsigned long (*callback)(int, char *)
type forward 15-15 | typedef struct forward forward
struct u 16-16 | union u
enum color 17-17 | enum color
constant color::RED 17-17 | RED
constant color::GREEN 17-17 | GREEN = MAX(1, 2)
constant color::BLUE 17-17 | BLUE
constant ANONYMOUS 18-18 | ANONYMOUS
function printf_like 19-19 | extern int printf_like(const char *fmt, ...) __attribute__((format(printf, 1, 2)))
constant size 21-21 | static const int size = 3
function add 29-38 | static inline struct point *add(struct point *p, int n) | Adds.
function helper 39-39 | static int helper(int n)
function old 40-43 | int old(a, b) int a; char *b;
function after_macro 45-45 | void after_macro(void)
function one 46-46 | int one(int x), two
`

var cCalls = []string{"color::GREEN: |MAX", "printf_like: |format", "add: |printf", "add: |helper", "add: p|fn", "helper: |MAX", ": |MODULE_LICENSE", "after_macro: |y"}

var cImports = []string{"stdio.h||", "own.h||"}
