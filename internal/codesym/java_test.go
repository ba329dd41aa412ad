package codesym_test

import (
	"testing"

	"sakur4/internal/codesym"
)

const javaSample = `/* licence */
package a.b;

import java.util.*;
import static java.lang.Math.max;
import a.b.C;

/**
 * An outer class. More of it.
 *
 * @author nobody
 */
@Deprecated
@SuppressWarnings({"a", "}"})
public abstract class Outer<T extends Comparable<T>> extends Base<T> implements I, a.J<String> {
    private static final int A = 1, B = max(2, 3);
    static final Map<String, Integer> M = new HashMap<String, Integer>() {{ put("x", 1); }};
    final int notConstant = 1;
    static { init(); }

    public Outer(final int x, @Nullable String... rest) throws E { super(x); this.run(rest); }

    // Says hello.
    @Override public <R> List<R> hello(Map<String, List<R>> m, int[] a, int b[]) {
        String s = """
            class Not { "x" }
            """;
        Runnable r = new Runnable() {
            @Override public void run() { other.call(s); }
        };
        class Local { void inLocal() {} }
        return m.stream().map(y -> { return y.<R>cast(); }).toList();
    }
    void hello(Map<String, List<T>> m) {}
    abstract @Nonnull T bare() ;
    int old()[] { return null; }

    @interface Ann { int value() default 1; String[] names() default {}; }
    interface In { int K = 1; void m(); default void n() {} }
    enum Color implements I { RED, @Old GREEN(1) { int v() { return f(2); } }, BLUE; private int x; Color(int... x) {} Color() {} }
    record Point(int x, int y) { Point { check(x); } static Point of() { return new Point(1, 2); } }
    sealed interface S permits X, Y {}
    non-sealed class X implements S {}
    @Test void works() { char c = '\''; boolean b = 1 < 2; }
}
`

func TestJava(t *testing.T) {
	t.Parallel()
	runGolden(t, codesym.Java, javaCases)
}

var javaCases = []golden{
	{name: "all", src: javaSample, want: javaWant, calls: javaCalls, imports: javaImports},
	{
		name: "missing bracket of a value", src: "class A {\n  final Set<X> s = f(new Y<>(16);\n\n  A(int x) {\n    this.x = x;\n  }\n  int g() { return 1; }\n}\n",
		want: `
class A 1-8 | class A [partial]
method A.A(int) 4-6 | A(int x)
method A.g() 7-7 | int g()
`,
	},
}

func FuzzJava(f *testing.F) {
	fuzz(f, codesym.Java, javaSample, "class A { B(", "enum E { A(", "class A { int a = new", "@", "record R(")
}

const javaWant = `
module a.b 2-2 | package a.b | licence
import java.util.* 4-4 | import java.util.*
import java.lang.Math.max 5-5 | import static java.lang.Math.max
import a.b.C 6-6 | import a.b.C
class Outer 13-45 | public abstract class Outer<T extends Comparable<T>> extends Base<T> implements I, a.J<String> | An outer class. <Base<T> I a.J<String>>
constant Outer.A 16-16 | private static final int A = 1, B = max(2, 3)
constant Outer.B 16-16 | private static final int A = 1, B = max(2, 3)
constant Outer.M 17-17 | static final Map<String, Integer> M = new HashMap<String, Integer>() {{ put("x", 1); }}
method Outer.Outer(int, String...) 21-21 | public Outer(final int x, @Nullable String... rest) throws E
method Outer.hello(Map, int[], int[]) 24-33 | public <R> List<R> hello(Map<String, List<R>> m, int[] a, int b[]) | Says hello.
method Outer.hello(Map, int[], int[]).run() 29-29 | public void run()
class Outer.hello(Map, int[], int[]).Local 31-31 | class Local
method Outer.hello(Map, int[], int[]).Local.inLocal() 31-31 | void inLocal()
method Outer.hello(Map) 34-34 | void hello(Map<String, List<T>> m)
method Outer.bare() 35-35 | abstract @Nonnull T bare()
method Outer.old() 36-36 | int old()[]
interface Outer.Ann 38-38 | @interface Ann
method Outer.Ann.value() 38-38 | int value() default 1
method Outer.Ann.names() 38-38 | String[] names() default {}
interface Outer.In 39-39 | interface In
constant Outer.In.K 39-39 | int K = 1
method Outer.In.m() 39-39 | void m()
method Outer.In.n() 39-39 | default void n()
enum Outer.Color 40-40 | enum Color implements I <I>
constant Outer.Color.RED 40-40 | RED
constant Outer.Color.GREEN 40-40 | GREEN(1)
method Outer.Color.GREEN.v() 40-40 | int v()
constant Outer.Color.BLUE 40-40 | BLUE
method Outer.Color.Color(int...) 40-40 | Color(int... x)
method Outer.Color.Color() 40-40 | Color()
class Outer.Point 41-41 | record Point(int x, int y)
method Outer.Point.Point 41-41 | Point
method Outer.Point.of() 41-41 | static Point of()
interface Outer.S 42-42 | sealed interface S permits X, Y
class Outer.X 43-43 | non-sealed class X implements S <S>
method Outer.works() 44-44 | void works() [test]
`

var javaCalls = []string{"Outer.B: |max", "Outer.M: |HashMap", "Outer.M: |put", "Outer: |init", "Outer.Outer(int, String...): this|run", "Outer.hello(Map, int[], int[]): |Runnable", "Outer.hello(Map, int[], int[]).run(): other|call", "Outer.hello(Map, int[], int[]): m|stream", "Outer.hello(Map, int[], int[]): |map", "Outer.hello(Map, int[], int[]): |cast", "Outer.hello(Map, int[], int[]): |toList", "Outer.Color.GREEN.v(): |f", "Outer.Point.Point: |check", "Outer.Point.of(): |Point"}

var javaImports = []string{"java.util|*|", "java.lang.Math|max|", "a.b|C|"}
