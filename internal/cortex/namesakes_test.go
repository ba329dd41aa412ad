package cortex_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/codesym"
	"sakur4/internal/cortex"
)

// crowd is a project with n modules that look alike, so that every name has n declarations.
func crowd(n int, lang string) tree {
	files := tree{}
	for i := range n {
		switch lang {
		case "go":
			files[fmt.Sprintf("p%d/a.go", i)] = fmt.Sprintf("package p%d\n\ntype T struct{ n int }\n\nfunc New() *T { return &T{} }\n\nfunc (t *T) String() string { return t.name() }\n\nfunc (t *T) name() string { return New().Error() }\n\nfunc (t *T) Error() string { return t.String() }\n\ntype Namer interface{ String() string; Error() string }\n\nfunc use(x Namer, y any) { x.String(); y.(interface{ String() string }).String() }\n", i)
		case "py":
			files[fmt.Sprintf("p%d/utils.py", i)] = fmt.Sprintf("from .base%d import run as go\nfrom p%d.other import Base\nclass Config(Base):\n    def __str__(self):\n        return self.name()\n    def name(self):\n        return go(Config())\ndef run(c: Config):\n    c.name()\n    x.name()\n", i, i)
			files[fmt.Sprintf("p%d/base%d.py", i, i)] = "from . import utils\nimport utils as u\nclass Base:\n    def name(self): return str(self)\ndef run(x):\n    return utils.run(x) or u.run(x)\n"
		case "java":
			files[fmt.Sprintf("p%d/Config.java", i)] = fmt.Sprintf("package p%d;\nimport q%d.Base;\npublic class Config extends Base implements Named {\n  public String toString() { return name(); }\n  public String name() { return new Config().toString() + super.name(); }\n  static Config of(Config c) { c.name(); Config.of(c); other.name(); return c; }\n}\n", i, i)
			files[fmt.Sprintf("q%d/Base.java", i)] = fmt.Sprintf("package q%d;\npublic class Base { public String name() { return toString(); } }\ninterface Named { String name(); }\n", i)
		case "ts":
			files[fmt.Sprintf("p%d/index.ts", i)] = "import { run, Base } from './base';\nimport * as b from './base';\nexport class Config extends Base { toString() { return this.name(); } name() { return run(new Config()) + b.run(this); } }\nexport function main(c: Config) { c.name(); x.name(); }\n"
			files[fmt.Sprintf("p%d/base.ts", i)] = "export class Base { name() { return ''; } }\nexport function run(x: Base) { return x.name(); }\n"
		case "rs":
			files[fmt.Sprintf("src/p%d/mod.rs", i)] = "use crate::base::Base;\nuse super::other;\npub struct T { n: u8 }\nimpl Named for T { fn name(&self) -> u8 { self.new().name(); Base::new(); other::run(); T::new() } fn new() -> T { T { n: 0 } } }\npub fn run(t: &T) { t.name(); x.name(); }\n"
		case "cc":
			files[fmt.Sprintf("p%d/t.cc", i)] = fmt.Sprintf("#include \"t.h\"\n#include \"p%d/u.h\"\nnamespace n%d { class T : public Base { public: int name() { return run(this) + size(); } int size(); }; int T::size() { return this->name() + n%d::run(0); } int run(T* t) { return t->name() + x->name(); } }\n", i, i, i)
		}
	}
	return files
}

// TestNamesakes looks at projects with ever more declarations of each name: what is looked at grows with the project and not with its square.
func TestNamesakes(t *testing.T) {
	t.Parallel()
	const small, factor = 100, 3
	for lang, name := range map[string]string{"go": "T.String", "py": "Config.name", "java": "Config.name()", "ts": "Base.name", "rs": "<T as Named>::name", "cc": "n0::T::size()"} {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			looks := func(n int) (links, walk, found int) {
				files := crowd(n, lang)
				src := files.source(t, "m")
				g := cortex.NewGraph(src)
				links, err := cortex.LinkLooks(t.Context(), g)
				if err != nil {
					t.Fatal(err)
				}
				r := cortex.NewResolver(g)
				r.Text = files.text(src)
				for i := range src.Symbols {
					if s := src.Symbols[i].Name; s == name || s == "Base" || s == "Named" || s == "Namer" {
						for _, level := range r.Impact(i, 3, 200).Levels {
							found += len(level)
						}
						if src.Symbols[i].Name == name {
							break
						}
					}
				}
				return links, r.Looks(), found
			}
			links, walk, found := looks(small)
			links2, walk2, found2 := looks(small * factor)
			t.Logf("%d and %d declarations: %d and %d looks for the links, %d and %d for %d and %d dependents", small, small*factor, links, links2, walk, walk2, found, found2)
			if most := factor * (links + 1000); links2 > most {
				t.Errorf("links: %d looks for %d declarations of each name and %d for %d, want at most %d", links, small, links2, small*factor, most)
			}
			if most := factor * (walk + 1000); walk2 > most {
				t.Errorf("impact: %d looks for %d declarations of each name and %d for %d, want at most %d", walk, small, walk2, small*factor, most)
			}
			if found == 0 {
				t.Errorf("%s has no dependents", name)
			}
		})
	}
}

// TestUniqueAmongNamesakes names each of thousands of equal names.
func TestUniqueAmongNamesakes(t *testing.T) {
	t.Parallel()
	const n = 5000
	list := make([]cortex.Named, n)
	for i := range list {
		list[i] = cortex.Named{Name: "main", Package: fmt.Sprintf("m/p%d", i), Path: fmt.Sprintf("p%d/main.go", i), Clause: "main", Kind: codesym.Function}
	}
	names := cortex.NewNames(list)
	for i := range list {
		if got, want := names.Unique(i), list[i].Long(); got != want {
			t.Fatalf("Unique(%d) = %q, want %q", i, got, want)
		}
	}
	if got := len(names.Find("main.main")); got != n {
		t.Errorf("Find(main.main) finds %d, want all %d", got, n)
	}
}

// impatient is a context that ends after it was asked so many times.
type impatient struct {
	context.Context
	left int
}

func (c *impatient) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestRankIsCancelled ends a ranking at each of its steps. The next one starts anew.
func TestRankIsCancelled(t *testing.T) {
	t.Parallel()
	src := crowd(20, "go").source(t, "m")
	g := cortex.NewGraph(src)
	want := ranked(t, cortex.NewGraph(src))
	for n := 0; ; n++ {
		ctx := &impatient{t.Context(), n}
		got, err := g.Rank(ctx, nil)
		if err == nil {
			if n < 10 {
				t.Errorf("a ranking asked its context %d times", n)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("after cancelled rankings (-want +got)\n%s", d)
			}
			return
		}
		if !errors.Is(err, context.Canceled) || got != nil || ctx.left < -1 {
			t.Fatalf("Rank ended after %d looks at the context = %v, %v, %d looks later", n, got, err, -1-ctx.left)
		}
	}
}
