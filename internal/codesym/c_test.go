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
	runGolden(t, codesym.C, []golden{{name: "all", src: cSample, want: cWant, calls: cCalls, imports: cImports}})
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
