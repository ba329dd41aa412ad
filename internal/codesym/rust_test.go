package codesym_test

import (
	"testing"

	"sakur4/internal/codesym"
)

const rustSample = `#![allow(dead_code)]
//! Crate docs.
use std::{fmt::{self, Display as D}, io::*};
pub use crate::x::Y;
extern crate alloc;

/// A limit. Exact.
#[doc = "]"]
pub(crate) const LIMIT: usize = compute(1);
static mut NAME: &'static str = r#"fn not() { "quoted" }"#;
type Alias<T> = Result<T, Box<dyn std::error::Error>>;

#[derive(Debug)]
pub struct P<'a, T: 'a>(pub T, &'a str) where T: Clone;
struct Unit;
pub union U { a: u32, b: f32 }

/* outer /* inner */ still */
pub enum E {
    One,
    #[serde(rename = "2")]
    Two(u8, u16),
    Three { x: char } ,
    Four = 4,
}

pub unsafe trait T: D + std::marker::Send {
    const K: usize = 1;
    type Item;
    fn required(&self, c: char) -> bool;
    fn given<'b>(&'b self) -> char { let c = '{'; self.required(c); '\'' }
}

impl<'a, T: Clone> P<'a, T> {
    pub async fn new(x: T) -> Self where T: D { x.clone().a::<u8>(1); vec![1, f(2)]; Self::build(x) }
    const fn k() -> usize { 1..2.max(3) }
}
impl<T> fmt::Display for Vec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { const LOCAL: u8 = b'x'; fn nested() {} write!(f, "{}", 1) }
}
mod inner {
    pub extern "C" fn ffi(x: i32) -> i32 { x }
    impl super::Unit { fn deep() {} }
}
mod elsewhere;
macro_rules! my { ($x:expr) => { fn not_this() {} }; }
thread_local! { static CELL: u8 = 1; }
forward! { struct identifier enum }
#[cfg(test)]
mod tests {
    #[test]
    fn r#match() { assert_eq!(super::f(), "multi
 line"); }
    #[tokio::test(flavor = "x")]
    async fn waits() {}
}
`

func TestRust(t *testing.T) {
	t.Parallel()
	runGolden(t, codesym.Rust, rustCases)
}

var rustCases = []golden{{name: "all", src: rustSample, want: rustWant, calls: rustCalls, imports: rustImports},
	{
		name: "traits of types", src: "struct A;\nenum B<T> { X(T) }\nimpl Mark for A {}\nimpl<T> ops::Add<T> for crate::B<T> { fn add(self) {} }\nimpl<'a> Mark for &'a A {}\nimpl Mark for [A] {}\nmod m { struct A2; }\n",
		want: `
struct A 1-1 | struct A <Mark>
enum B 2-2 | enum B<T> <ops::Add<T>>
constant B::X 2-2 | X(T)
method <crate::B<T> as ops::Add<T>>::add 4-4 | fn add(self)
module m 7-7 | mod m
struct m::A2 7-7 | struct A2
`,
	},
}

func TestRustBroken(t *testing.T) {
	t.Parallel()
	runGolden(t, codesym.Rust, rustBrokenCases)
}

var rustBrokenCases = []golden{
	{
		name: "brace, and attributes behind", src: "mod tests\n    use super::*;\n\n    #[test]\n    fn a() {\n        b();\n    }\n}\n\nmod c\n#[cfg(d)]\n#[path = \"e\"]\npub fn f() {}\n\nfn g()\n#[test]\nfn h() {}\n",
		want: `
module tests 1-1 | mod tests
import super::* 2-2 | use super::*
function a 4-7 | fn a() [test]
module c 10-10 | mod c
function f 11-13 | pub fn f()
function g 15-15 | fn g()
function h 16-17 | fn h() [test]
`,
	},
	{
		name: "quote, and another elsewhere", src: "fn a() {\n    f(list\", 1);\n}\n\nfn b() {\n    g();\n}\n\nfn c() {\n    h(\"x\");\n    let q = '\"';\n    i(\"y\");\n}\n\nfn d() {}\n// it's \" here\n",
		want: `
function a 1-3 | fn a() [partial]
function b 5-7 | fn b()
function c 9-13 | fn c()
function d 15-15 | fn d()
`,
	},
	{
		name: "bracket, beside code in a string", src: "fn a() {\n    f(1;\n}\n\nfn b() {\n    g(\"\n        fn x() {}\n        pub fn y() {}\n    \");\n}\n\nfn c() {}\n",
		want: `
function a 1-3 | fn a() [partial]
function b 5-10 | fn b()
function c 12-12 | fn c()
`,
	},
}

func FuzzRust(f *testing.F) {
	fuzz(f, codesym.Rust, rustSample, "impl", "enum A { #", "use a::{b,", "fn a() -> r#\"", "#[a", "mod a\n#[b]\n    fn c", "const A: u8\n#[b]\npub const C: u8;")
}

const rustWant = `
import std::{fmt::{self, Display as D}, io::*} 3-3 | use std::{fmt::{self, Display as D}, io::*}
import crate::x::Y 4-4 | pub use crate::x::Y
constant LIMIT 8-9 | pub(crate) const LIMIT: usize = compute(1) | A limit.
constant NAME 10-10 | static mut NAME: &'static str = r#"fn not() { "quoted" }"#
type Alias 11-11 | type Alias<T> = Result<T, Box<dyn std::error::Error>>
struct P 13-14 | pub struct P<'a, T: 'a>(pub T, &'a str) where T: Clone
struct Unit 15-15 | struct Unit
struct U 16-16 | pub union U
enum E 19-25 | pub enum E | outer /* inner */ still
constant E::One 20-20 | One
constant E::Two 21-22 | Two(u8, u16)
constant E::Three 23-23 | Three { x: char }
constant E::Four 24-24 | Four = 4
trait T 27-32 | pub unsafe trait T: D + std::marker::Send <D std::marker::Send>
constant T::K 28-28 | const K: usize = 1
type T::Item 29-29 | type Item
method T::required 30-30 | fn required(&self, c: char) -> bool
method T::given 31-31 | fn given<'b>(&'b self) -> char
method P::new 35-35 | pub async fn new(x: T) -> Self where T: D
method P::k 36-36 | const fn k() -> usize
method <Vec<T> as fmt::Display>::fmt 39-39 | fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result
function <Vec<T> as fmt::Display>::fmt::nested 39-39 | fn nested()
module inner 41-44 | mod inner
function inner::ffi 42-42 | pub extern "C" fn ffi(x: i32) -> i32
method inner::super::Unit::deep 43-43 | fn deep()
module elsewhere 45-45 | mod elsewhere
function my 46-46 | macro_rules! my
constant CELL 47-47 | static CELL: u8 = 1
module tests 49-56 | mod tests
function tests::r#match 51-53 | fn r#match() [test]
function tests::waits 54-55 | async fn waits()
`

var rustCalls = []string{"LIMIT: |compute", "T::given: self|required", "P::new: x|clone", "P::new: |a", "P::new: |vec", "P::new: |f", "P::new: Self|build", "P::k: |max", "<Vec<T> as fmt::Display>::fmt: |write", "my: |not_this", ": |thread_local", ": |forward", "tests::r#match: |assert_eq", "tests::r#match: super|f"}

var rustImports = []string{"std::fmt|self|", "std::fmt|Display|D", "std::io|*|", "crate::x|Y|"}
