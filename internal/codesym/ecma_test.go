package codesym_test

import (
	"testing"

	"sakur4/internal/codesym"
)

const tsSample = "#!/usr/bin/env node\n" + `import def, { a as b, type C } from './mod';
import * as ns from "ns";
import './effect';
import legacy = require('legacy');
export { x, y as z } from './other';
export * from 'all';
export default { run() { go(); } };

/** Limit of things. More. */
export const LIMIT: number = 10, OTHER = /[/'"]/.test(` + "`a${b(`in ${'}'}`)}`" + `);
const { p, q: r } = require('parts');
let counter = 0;

export const arrow = async <T,>(v: T): Promise<{ a: T }> => { return inner(v); };
const short = x => x / 2 / counter;
var list = function () {}, also = class Named extends Base {};

@Component({ sel: 'x}' })
export abstract class A<T extends object = {}> extends ns.B<T> implements I, J<string> {
  static #count = 0;
  readonly field: () => void = () => {
    helper();
  };
  constructor(private readonly x: number, y?: { z: 1 }) { super(x); }
  get value(): string | undefined { return this.x?.toFixed?.(2); }
  static async *[Symbol.iterator]<K>(k: K) {}
  @dec() private over(a: string): void;
  private over(a: any) { const LOCAL = 1; function nested() {} }
  abstract todo(): asserts this is T
  'quoted name'() {}
  delete() {}
  static { init(); }
}

export interface I<T> extends K, L<T> {
  prop: string;
  call(a: number, b: { c: () => void }): void;
  opt?<U>(u: U): u is string
  (direct: number): string;
  new (x: string): I<T>;
  readonly [key: string]: any;
}
type U<T> = T extends (infer V)[] ? { k: V } : never;
declare module 'ext' { export function declared(x: string): void; }
namespace N.M { export const IN = 1; enum E { One, Two = 'two', } }
export declare const enum Flags { A = 1 << 0, B = A | 2 }
function overload(a: string): string;
function overload(a: number): number;
function overload(a: any): any { if (a) /re{/.exec(a); return a; }
A.prototype.later = function later() {};
exports.named = () => 1;
switch (counter) { case 1: { break; } default: done<string>(1); }
export default function () {}
`

func TestTypeScript(t *testing.T) {
	t.Parallel()
	runGolden(t, codesym.TypeScript, typescriptCases)
}

var typescriptCases = []golden{
	{
		name: "all", src: tsSample,
		want: `
import ./mod 2-2 | import def, { a as b, type C } from './mod';
import ns 3-3 | import * as ns from "ns";
import ./effect 4-4 | import './effect';
import legacy 5-5 | import legacy = require('legacy');
export x 6-6 | export { x, y as z } from './other';
export z 6-6 | export { x, y as z } from './other';
export * 7-7 | export * from 'all';
export default 8-8 | export default { run() { go(); } };
method default.run 8-8 | run()
constant LIMIT 11-11 | LIMIT: number = 10
constant OTHER 11-11 | OTHER = /[/'"]/.test(` + "`a${b(`in ${'}'}`)}`" + `)
import parts 12-12 | const { p, q: r } = require('parts');
function arrow 15-15 | export const arrow = async <T,>(v: T): Promise<{ a: T }> =>
function short 16-16 | const short = x =>
function list 17-17 | list = function ()
class also 17-17 | also = class Named extends Base <Base>
class A 19-34 | export abstract class A<T extends object = {}> extends ns.B<T> implements I, J<string> <ns.B<T> I J<string>>
method A.field 22-24 | readonly field: () => void = () =>
method A.constructor 25-25 | constructor(private readonly x: number, y?: { z: 1 })
method A.value 26-26 | get value(): string | undefined
method A.[Symbol.iterator] 27-27 | static async *[Symbol.iterator]<K>(k: K)
method A.over 28-28 | private over(a: string): void
method A.over#2 29-29 | private over(a: any)
function A.over#2.nested 29-29 | function nested()
method A.todo 30-30 | abstract todo(): asserts this is T
method A.quoted name 31-31 | 'quoted name'()
method A.delete 32-32 | delete()
interface I 36-43 | export interface I<T> extends K, L<T> <K L<T>>
method I.call 38-38 | call(a: number, b: { c: () => void }): void
method I.opt 39-39 | opt?<U>(u: U): u is string
type U 44-44 | type U<T> = T extends (infer V)[] ? { k: V } : never
module ext 45-45 | declare module 'ext'
function ext.declared 45-45 | export function declared(x: string): void
module N.M 46-46 | namespace N.M
constant N.M.IN 46-46 | export const IN = 1
enum N.M.E 46-46 | enum E
constant N.M.E.One 46-46 | One
constant N.M.E.Two 46-46 | Two = 'two'
enum Flags 47-47 | export declare const enum Flags
constant Flags.A 47-47 | A = 1 << 0
constant Flags.B 47-47 | B = A | 2
function overload 48-48 | function overload(a: string): string
function overload#2 49-49 | function overload(a: number): number
function overload#3 50-50 | function overload(a: any): any
method A.later 51-51 | A.prototype.later = function later()
function named 52-52 | exports.named = () =>
function default 54-54 | export default function ()
`,
		calls: []string{
			"legacy: |require", "default.run: |go", "OTHER: |test", "OTHER: |b", "parts: |require", "arrow: |inner", "A: |Component",
			"A.field: |helper", "A.value: |toFixed", "A.over: |dec", "A: |init", "overload#3: |exec", ": |done",
		},
		imports: []string{"./mod|default|def", "./mod|a|b", "./mod|C|", "ns|*|ns", "./effect||", "legacy|default|legacy", "./other|x|", "./other|y|z", "all|*|", "parts|p|", "parts|q|r"},
	},
	{name: "empty", want: "\n"},
	{
		name: "commas of types, and words that are names", src: `const runs = (r: R) => <A, E>(x: Y<A, E>): Z<A, E> => {
}
const table = (globalThis as any)[id] as Map<unknown, any>
const self = x.await
export const children = <A>(a: A) => a.of

export const first = (a: A) =>
  b(a) ?
    pull(a) :
    c(a)
function f() {
  let n = counter++
  const next = () => {
    n++
  }
}
interface Tag {
  readonly a: T
  of(self: T): T
}
`, want: `
function runs 1-2 | const runs = (r: R) =>
constant table 3-3 | const table = (globalThis as any)[id] as Map<unknown, any>
constant self 4-4 | const self = x.await
function children 5-5 | export const children = <A>(a: A) =>
function first 7-10 | export const first = (a: A) =>
function f 11-16 | function f()
function f.next 13-15 | const next = () =>
interface Tag 17-20 | interface Tag
method Tag.of 19-19 | of(self: T): T
`,
	},
	{
		name: "types without semicolons", src: "type A = B<C>\nexport type D = void\ntype E = (x: A) => void\n\nfunction f() {}\ntype G = H<\n  I\n>\nclass J {}\n",
		want: `
type A 1-1 | type A = B<C>
type D 2-2 | export type D = void
type E 3-3 | type E = (x: A) => void
function f 5-5 | function f()
type G 6-8 | type G = H< I >
class J 9-9 | class J
`,
	},
	{
		name: "missing brace", src: "export class A {\n  a() {\n    if (x) {\n      y();\n  }\n\n  b() {}\n}\n\nfunction c() {\n  return 1;\n\nfunction d() {}\n",
		want: `
class A 1-8 | export class A [partial]
method A.a 2-5 | a() [partial]
method A.b 7-7 | b()
function c 10-11 | function c() [partial]
function d 13-13 | function d()
`,
	},
	{
		name: "missing backtick", src: "const a = `x ${1}\n\nfunction b() { return `y`; }\n\nfunction c() { return `z ${b()}`; }\n",
		want: `
constant a 1-1 | const a = ` + "`x ${1}" + ` [partial]
function b 3-3 | function b()
function c 5-5 | function c()
`,
	},
}

const jsxSample = `// View is shown.
export const View = ({ items, a }) => {
  const re = a / 2 / 3;
  return (
    <Layout title="it's {" onClick={() => { go(); }} {...rest}>
      It's {items.map(i => <Item key={i}>don't { /* ' */ fmt(i) }</Item>)} fine
      <br/>
      <></>
    </Layout>
  );
};
class C extends React.Component {
  static defaults = { x: 1 };
  render() { return <div>{this.x < 3 && b}</div>; }
}
module.exports = { View, helper: function (x) { return x; }, C };
`

func TestJavaScript(t *testing.T) {
	t.Parallel()
	runGolden(t, codesym.JavaScript, javaScriptCases)
}

var javaScriptCases = []golden{
	{
		name: "jsx", src: jsxSample,
		want: `
function View 2-11 | export const View = ({ items, a }) => | View is shown.
class C 12-15 | class C extends React.Component <React.Component>
method C.render 14-14 | render()
method helper 16-16 | helper: function (x)
`,
		calls: []string{"View: |go", "View: items|map", "View: |fmt"},
	},
}

// TestEcmaValues reads classes that are parts of expressions, and modules that are parts of values.
func TestEcmaValues(t *testing.T) {
	t.Parallel()
	runGolden(t, codesym.JavaScript, ecmaValuesCases)
}

var ecmaValuesCases = []golden{
	{
		name: "classes",
		src: `export default Component => Object.assign(class Wrapper extends Component {
  shown() { return 2; }
}, Component);
function mixin(Base) { return class extends Base { added() {} }; }
const o = { class: 1, made: new (class Q { run() {} })() };
a.class { }
`,
		want: `
function default 1-3 | export default Component =>
class default.Wrapper 1-3 | class Wrapper extends Component <Component>
method default.Wrapper.shown 2-2 | shown()
function mixin 4-4 | function mixin(Base)
method mixin.added 4-4 | added()
constant o 5-5 | const o = { class: 1, made: new (class Q { run() {} })() }
class o.Q 5-5 | class Q
method o.Q.run 5-5 | run()
`,
	},
	{
		name: "objects in values",
		src: `function App() {
  return <Card style={{ color: 'red' }} actions={{
    onClick: () => close(),
    fallback() { return 1; }
  }}>{{ key: () => 2 }}</Card>;
}
`,
		want: `
function App 1-6 | function App()
method App.onClick 3-3 | onClick: () =>
method App.fallback 4-4 | fallback()
method App.key 5-5 | key: () =>
`,
	},
	{
		name: "modules",
		src: `const EventEmitter = require('events').EventEmitter;
const R = require('stream').Readable;
const { q } = require('z').w;
const log = require('debug')('app'), other = 1;
`,
		want: `
import events 1-1 | const EventEmitter = require('events').EventEmitter;
import stream 2-2 | const R = require('stream').Readable;
import z 3-3 | const { q } = require('z').w;
constant log 4-4 | log = require('debug')('app')
import debug 4-4 | require('debug')
constant other 4-4 | other = 1
`,
		imports: []string{"events|EventEmitter|", "stream|Readable|R", "z|q|", "debug||"},
	},
}

// TestEcmaBroken reads JSX with a character missing.
func TestEcmaBroken(t *testing.T) {
	t.Parallel()
	runGolden(t, codesym.JavaScript, ecmaBrokenCases)
}

var ecmaBrokenCases = []golden{
	{
		name: "opening quote of an attribute", src: "function a() {\n  return <ul role=tab\" id=\"x\">\n    it's\n  </ul>;\n}\nfunction b() {\n  return <p id=\"y\" />;\n}\n",
		want: `
function a 1-5 | function a() [partial]
function b 6-8 | function b()
`,
	},
	{
		name: "closing quote of an attribute", src: "function a() {\n  return <ul role=\"tab\n    id=\"x\">\n    one\n  </ul>;\n}\nfunction b() {\n  return <p id=\"y\" />;\n}\n",
		want: `
function a 1-6 | function a() [partial]
function b 7-9 | function b()
`,
	},
	{
		name: "bracket in a value", src: "function a() {\n  return (\n    <ul>\n      {l.map((x => (\n        <li>{x}</li>\n      ))}\n      it's\n    </ul>\n  );\n}\nfunction b() {\n  return 1;\n}\n",
		want: `
function a 1-10 | function a() [partial]
function b 11-13 | function b()
`,
	},
}

func FuzzJavaScript(f *testing.F) {
	fuzz(f, codesym.JavaScript, jsxSample, "const x = require('m').y, { a, b: c } = require(\"n\")", "A.prototype.b = function* () {}; exports.c = class {}", "a = b / c /d/.e; f(/[/\"]/g)",
		"`a${`b${", "<a b={", "class A { static #x = 1; static { y() } get z() {} }", "x ? y() : z => ({ [a]: () => {} })", "async *", "label: for (;;) {", "a++\nfunction b() {}", "#!/x\n<!--\n")
}

func FuzzTypeScript(f *testing.F) {
	fuzz(f, codesym.TypeScript, tsSample, "`${`${", "a(<", "class A { [", "export default", "const a = (b): c => d, e = f")
}

func FuzzTSX(f *testing.F) { fuzz(f, codesym.TSX, jsxSample, "a = <b", "(<a>{") }
