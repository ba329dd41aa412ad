package codesym_test

import (
	"testing"

	"sakur4/internal/codesym"
)

const cppSample = `#include <vector>
namespace a::b {
inline namespace v1 { class Forward; }
using std::string;
using namespace std;
using Alias = std::vector<int>;
template <typename T> concept Small = sizeof(T) < 8;

/// A class. Documented.
template <class T, int N = 3>
class EXPORT Widget final : public Base<T>, private virtual ns::Other {
 public:
  explicit Widget(int x, const std::string& s = "}") : Base<T>(x), s_{s} { init(); }
  Widget(Widget&&) = delete;
  virtual ~Widget() noexcept override;
  T& operator[](size_t i) const { return data_[i]; }
  bool operator==(const Widget& o) const = default;
  operator bool() const;
  static constexpr int kSize = N;
  enum class Mode : unsigned char { kOn, kOff = 1'000 };
  struct Nested { int x; void m(); };
  virtual void pure(std::map<int, T> m = {}) = 0;
  friend void swap(Widget& a, Widget& b) { a.swap(b); }
  template <typename U> auto cast() -> U { return static_cast<U>(1); }
 private:
  int data_[N]; std::function<void(int)> cb_;
  Mutex mu_; int guarded_ GUARDED_BY(mu_);
};

template <typename T> Widget<T>::~Widget() {}
void Outer::Inner::run(int a, unsigned long b[]) const try { auto f = [&](int x) { return g(x); }; ns::call<int>(1); } catch (...) {}
int overload(int); int overload(double d) { return R"x(} " )x)x"[0]; }
int overload(int i) { return Small<int> ? 1 : 2; }
constexpr double kPi = 3.14;
extern "C" { int exported(void); }
std::ostream& operator<<(std::ostream& o, const Widget<int>& w) { struct Local { int v; }; return o; }
}  // namespace
static Registry registry("x", 1);
TEST(Suite, Name) { EXPECT_EQ(1, overload(2)); }
`

func TestCPP(t *testing.T) {
	t.Parallel()
	runGolden(t, codesym.CPP, cppCases)
}

var cppCases = []golden{{name: "all", src: cppSample, want: cppWant, calls: cppCalls, imports: cppImports}}

// TestCPPMacros reads what macros hide from a reader that knows none of them.
func TestCPPMacros(t *testing.T) {
	t.Parallel()
	runGolden(t, codesym.CPP, cppMacrosCases)
}

var cppMacrosCases = []golden{
	{name: "all", src: cppMacros, want: cppMacrosWant},
	{
		name: "in front of labels", src: `class C : public QObject
{
    Q_OBJECT
    Q_PROPERTY(QString name READ name)

public:
    Q_DISABLE_COPY(C)

    enum Key { One };
    Q_ENUM(Key)
signals:
    void changed(Key key);
public slots:
    void set(Key key);
};
`,
		want: `
class C 1-15 | class C : public QObject <QObject>
enum C::Key 9-9 | enum Key
constant C::Key::One 9-9 | One
method C::changed(Key) 12-12 | void changed(Key key)
method C::set(Key) 14-14 | void set(Key key)
`,
	},
	{
		name: "in front of names of namespaces", src: `inline namespace DEPRECATED("say w") v3 {
    void f();
}
namespace BARRIER_FOR(base) {
    struct S : T { friend int U::g(); friend S make<S>(int); friend int h(S &); };
    struct WITH_BARRIER(base) : T { base(); };
}
void k() { struct tm now{}; struct EXPORT Local {}; }
class widgets_export Widget {};
struct D { struct tm last{}; };
`,
		want: `
module v3 1-3 | inline namespace DEPRECATED("say w") v3
function v3::f() 2-2 | void f()
struct S 5-5 | struct S : T <T>
function S::h(S&) 5-5 | friend int h(S &)
struct base 6-6 | struct WITH_BARRIER(base) : T <T>
method base::base() 6-6 | base()
function k() 8-8 | void k()
struct k()::Local 8-8 | struct EXPORT Local
class Widget 9-9 | class widgets_export Widget
struct D 10-10 | struct D
`,
	},
	{
		name: "for heads", src: `namespace a {
template(typename T, typename U)(
    requires same<T, U> AND good<T>)
T RANGES_FUNC(copy)(T const& from, U to) //
{
    return from;
}
PROJECT_END(copy)
template<typename T>
auto CPP_auto_fun(operator-)(T last, T first)
(
    return last - first
)

namespace b { int f(); }
template<typename T>
using Old DEPRECATED("New") = New<T>;
}
`,
		want: `
module a 1-18 | namespace a
function a::copy(T const&, U) 2-7 | template(typename T, typename U)(requires same<T, U> AND good<T>) T RANGES_FUNC(copy)(T const& from, U to)
function a::operator-(T, T) 9-13 | template<typename T> auto CPP_auto_fun(operator-)(T last, T first) (return last - first)
module a::b 15-15 | namespace b
function a::b::f() 15-15 | int f()
type a::Old 16-17 | template<typename T> using Old DEPRECATED("New") = New<T>
`,
	},
}

// TestCPPHeads reads heads that are written in unusual ways.
func TestCPPHeads(t *testing.T) {
	t.Parallel()
	runGolden(t, codesym.CPP, cppHeadsCases)
}

var cppHeadsCases = []golden{
	{
		name: "initializers of two branches", src: `Main::Main(Widget* parent)
#ifdef KDE
    : KWindow(parent)
    ,
#else
    : QWindow(parent)
    ,
#endif
    a_(new A(this))
    , b_{1}
      WARNINGS_PUSH_(4355 /* this */)
      c_(this)
{
}
int after() { return 1; }
`,
		want: `
method Main::Main(Widget*) 1-14 | Main::Main(Widget* parent)
function after() 15-15 | int after()
`,
	},
	{
		name: "names in brackets", src: `class Limits {
  result_type(min)() const { return 0; }
  static constexpr ns::type (max)() { return 1; }
  Limits(Limits)(int);
  void (*pointer)(int);
  operator Generator< ::testing::tuple<T1, T2, T3, T4, T5, T6, T7, T8, T9, T10> >() const;
};
char (&Helper(...))[2];
struct Pair make(int a) { return Pair(a); }
class EXPORT(1) Marked { };
struct Packed ALIGN(4) { int x; };
`,
		want: `
class Limits 1-7 | class Limits
method Limits::min() const 2-2 | result_type(min)() const
method Limits::max() 3-3 | static constexpr ns::type (max)()
method Limits::Limits(Limits) 4-4 | Limits(Limits)(int)
method Limits::operator Generator< ::testing::tuple<T1, T2, T3, T4, T5, T6, T7, T8, T9, T10> >() const 6-6 | operator Generator< ::testing::tuple<T1, T2, T3, T4, T5, T6, T7, T8, T9, T10> >() const
function Helper(...) 8-8 | char (&Helper(...))[2]
function make(int) 9-9 | struct Pair make(int a)
class Marked 10-10 | class EXPORT(1) Marked
struct Packed 11-11 | struct Packed ALIGN(4)
`,
	},
	{
		name: "unbalanced angles", src: `template <typename T,
#if A
  bool B = f<T>()>
#else
  bool B = g<T>()>
#endif
struct S {
  T value;
};
int after() { return 1; }
`,
		want: `
function after() 10-10 | int after()
`,
	},
}

func TestCPPBroken(t *testing.T) {
	t.Parallel()
	runGolden(t, codesym.CPP, cppBrokenCases)
}

var cppBrokenCases = []golden{
	{
		name: "brace of a namespace", src: "namespace a\nnamespace b {\nint f() { return 1; }\n}\n}\n",
		want: `
module a 1-1 | namespace a [partial]
module b 2-2 | namespace b [partial]
function f() 3-3 | int f()
`,
	},
	{
		name: "brace of a class", src: "class A : public B\n public:\n  A() {}\n  int f(int x) { return x; }\n};\nint g() { return 1; }\n",
		want: `
class A 1-5 | class A : public B [partial]
method A::A() 3-3 | A()
method A::f(int) 4-4 | int f(int x)
function g() 6-6 | int g()
`,
	},
	{
		name: "brace of an enum", src: "class A {\npublic:\n    enum B\n    \n        One = (1 << 0),\n        Two\n    };\n    int f();\n};\nint g() { return 1; }\n",
		want: `
class A 1-9 | class A [partial]
enum A::B 3-7 | enum B [partial]
constant A::B::One 5-5 | One = (1 << 0)
constant A::B::Two 6-6 | Two
method A::f() 8-8 | int f()
function g() 10-10 | int g()
`,
	},
	{
		name: "closing brace behind a label", src: "class A\n{\npublic:\n    enum B\n    {\n        One\n    ;\n    int f();\n};\nA::A()\n{\n    a();\n\nA::~A()\n{\n}\n",
		want: `
class A 1-9 | class A [partial]
enum A::B 4-7 | enum B [partial]
constant A::B::One 6-7 | One ;
method A::f() 8-8 | int f()
method A::A() 10-12 | A::A() [partial]
method A::~A() 14-16 | A::~A()
`,
	},
	{
		name: "brace of a namespace without a name", src: "namespace\n\n    class A\n    {\n        int f();\n    };\n}\nint g() { return 1; }\n",
		want: `
class A 3-6 | class A
method A::f() 5-5 | int f()
function g() 8-8 | int g()
`,
	},
	{
		name: "brace in one branch", src: "#if A\nint f() { return 1; }\n#else\nint g() {\n  if (x) return 2; }\n}\n#endif\nint h() { return 3; }\n",
		want: `
function f() 2-2 | int f()
function g() 4-5 | int g()
function h() 8-8 | int h()
`,
	},
}

const cppMacros = `PROJECT_PRAGMA_INIT

namespace a {
PROJECT_OPEN
template <> NOINLINE ::ns::Any*
Arena::Create< ::ns::Any >(Arena* arena) {
  using Local = int;
  return 0;
}
template void Instance<4>(int);
extern template class Other<int>;
PROJECT_CLOSE
enum E { one };
class C {
  enum : int { two = 2 };
  enum { three };
  int x GUARDED_BY(mu);
  DISALLOW(C);
  friend EXPORT int friendly(C const& c);
};
EXPORT int friendly(C const& c);
const char table[] SECTION(cold) = { 1, f(2) };
PRIORITY static Runner dummy(&table);
void after() EXCLUDES(mu) {}
}
`

const cppMacrosWant = `
module a 3-25 | namespace a
method a::Arena::Create(Arena*) 5-9 | template <> NOINLINE ::ns::Any* Arena::Create< ::ns::Any >(Arena* arena)
type a::Arena::Create(Arena*)::Local 7-7 | using Local = int
enum a::E 13-13 | enum E
constant a::E::one 13-13 | one
class a::C 14-20 | class C
constant a::C::two 15-15 | two = 2
constant a::C::three 16-16 | three
function a::C::friendly(C const&) 19-19 | friend EXPORT int friendly(C const& c)
function a::friendly(C const&) 21-21 | EXPORT int friendly(C const& c)
constant a::table 22-22 | const char table[] SECTION(cold) = { 1, f(2) }
function a::after() 24-24 | void after() EXCLUDES(mu)
`

func FuzzCPP(f *testing.F) {
	fuzz(f, codesym.CPP, cppSample, "class A : B", "A::A() : b(", "template <", "operator", "0 operator(\noperator(\nA;", "a::~", "R\"(")
}

const cppWant = `
import vector 1-1 | #include <vector>
module a::b 2-37 | namespace a::b
module a::b::v1 3-3 | inline namespace v1
import std::string 4-4 | using std::string
import std 5-5 | using namespace std
type a::b::Alias 6-6 | using Alias = std::vector<int>
type a::b::Small 7-7 | template <typename T> concept Small = sizeof(T) < 8
class a::b::Widget 10-28 | template <class T, int N = 3> class EXPORT Widget final : public Base<T>, private virtual ns::Other | A class. <Base<T> ns::Other>
method a::b::Widget::Widget(int, const std::string&) 13-13 | explicit Widget(int x, const std::string& s = "}")
method a::b::Widget::Widget(Widget&&) 14-14 | Widget(Widget&&) = delete
method a::b::Widget::~Widget() 15-15 | virtual ~Widget() noexcept override
method a::b::Widget::operator[](size_t) const 16-16 | T& operator[](size_t i) const
method a::b::Widget::operator==(const Widget&) const 17-17 | bool operator==(const Widget& o) const = default
method a::b::Widget::operator bool() const 18-18 | operator bool() const
constant a::b::Widget::kSize 19-19 | static constexpr int kSize = N
enum a::b::Widget::Mode 20-20 | enum class Mode : unsigned char
constant a::b::Widget::Mode::kOn 20-20 | kOn
constant a::b::Widget::Mode::kOff 20-20 | kOff = 1'000
struct a::b::Widget::Nested 21-21 | struct Nested
method a::b::Widget::Nested::m() 21-21 | void m()
method a::b::Widget::pure(std::map) 22-22 | virtual void pure(std::map<int, T> m = {}) = 0
function a::b::Widget::swap(Widget&, Widget&) 23-23 | friend void swap(Widget& a, Widget& b)
method a::b::Widget::cast() 24-24 | template <typename U> auto cast() -> U
method a::b::Widget::~Widget()#2 30-30 | template <typename T> Widget<T>::~Widget()
method a::b::Outer::Inner::run(int, unsigned long[]) const 31-31 | void Outer::Inner::run(int a, unsigned long b[]) const try
function a::b::overload(double) 32-32 | int overload(double d)
function a::b::overload(int) 33-33 | int overload(int i)
constant a::b::kPi 34-34 | constexpr double kPi = 3.14
function a::b::exported() 35-35 | int exported(void)
function a::b::operator<<(std::ostream&, const Widget&) 36-36 | std::ostream& operator<<(std::ostream& o, const Widget<int>& w)
struct a::b::operator<<(std::ostream&, const Widget&)::Local 36-36 | struct Local
function TEST(Suite, Name) 39-39 | TEST(Suite, Name)
`

var cppCalls = []string{"a::b::Widget::Widget(int, const std::string&): |Base", "a::b::Widget::Widget(int, const std::string&): |init", "a::b::Widget::swap(Widget&, Widget&): a|swap", "a::b::Widget: |GUARDED_BY", "a::b::Outer::Inner::run(int, unsigned long[]) const: |g", "a::b::Outer::Inner::run(int, unsigned long[]) const: ns|call", ": |registry", "TEST(Suite, Name): |EXPECT_EQ", "TEST(Suite, Name): |overload"}

var cppImports = []string{"vector||", "std|string|", "std|*|"}
