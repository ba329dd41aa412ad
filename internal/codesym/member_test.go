package codesym_test

import (
	"strings"
	"testing"

	"sakur4/internal/codesym"
)

// TestMember tells calls of something from calls of nothing.
func TestMember(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lang codesym.Lang
		src  string
		want string // the callees of member calls
	}{
		{codesym.Go, "package p\nfunc f() { a(); b.c(); d().e(); x.y.\n\tz(); g[int]() }\n", "c e z"},
		{codesym.Python, "a()\nb.c()\nd()[0].e()\n", "c e"},
		{codesym.JavaScript, "a(); b.c(); d()?.e(); f(...g());\n", "c e"},
		{codesym.Rust, "fn x() { a(); b.c(); D::e(); for i in 0..f() {} }\n", "c e"},
		{codesym.CPP, "void x() { a(); b->c(); ns::d(); ::e(); f<T>::g(); }\n", "c d g"},
		{codesym.Java, "class A { int k = a() + b.c() + d().e(); }\n", "c e"},
	} {
		var got []string
		for _, call := range parse(t, c.lang, c.src).Calls {
			if call.Member {
				got = append(got, call.Callee)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("Parse(%s, %q) has the member calls %q, want %q", c.lang, c.src, got, c.want)
		}
	}
}
