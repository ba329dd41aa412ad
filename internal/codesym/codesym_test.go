package codesym_test

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/codesym"
)

// outline shows the symbols of a file, one a line: kind, qualified name, lines, signature, and the doc comment where there is one.
func outline(f codesym.File) string {
	var b strings.Builder
	for _, s := range f.Symbols {
		fmt.Fprintf(&b, "%s %s %d-%d | %s", s.Kind, s.Qualified, s.Line, s.EndLine, s.Signature)
		if s.Doc != "" {
			b.WriteString(" | " + s.Doc)
		}
		if s.Test {
			b.WriteString(" [test]")
		}
		if len(s.Bases) > 0 {
			b.WriteString(" <" + strings.Join(s.Bases, " ") + ">")
		}
		if s.Partial {
			b.WriteString(" [partial]")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// calls shows the call sites of a file: enclosing symbol, receiver and callee.
func calls(f codesym.File) []string {
	var list []string
	for _, c := range f.Calls {
		in := ""
		if c.Symbol >= 0 {
			in = f.Symbols[c.Symbol].Qualified
		}
		list = append(list, fmt.Sprintf("%s: %s|%s", in, c.Receiver, c.Callee))
	}
	return list
}

// imports shows what a file imports: path, name and alias.
func imports(f codesym.File) []string {
	var list []string
	for _, i := range f.Imports {
		list = append(list, fmt.Sprintf("%s|%s|%s", i.Path, i.Name, i.Alias))
	}
	return list
}

// golden is a source with what is read in it.
type golden struct {
	name, src, want string
	calls, imports  []string
}

func runGolden(t *testing.T, lang codesym.Lang, cases []golden) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, err := codesym.Parse(lang, c.src)
			if err != nil {
				t.Fatalf("Parse = %v", err)
			}
			if diff := cmp.Diff(strings.Split(c.want, "\n"), strings.Split("\n"+outline(f), "\n")); diff != "" {
				t.Errorf("Parse (-want +got):\n%s\nerrors: %v", diff, f.Errors)
			}
			if diff := cmp.Diff(c.calls, calls(f)); c.calls != nil && diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.imports, imports(f)); c.imports != nil && diff != "" {
				t.Errorf("imports (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		lang codesym.Lang
		src  string
		want error
	}{
		{"no language", "", "x", codesym.ErrLanguage},
		{"unknown language", "cobol", "x", codesym.ErrLanguage},
		{"binary", codesym.Go, "package p\x00", codesym.ErrBinary},
		{"control characters", codesym.Go, strings.Repeat("\x01\xff", 500_000), codesym.ErrBinary},
		{"too long", codesym.Go, strings.Repeat(" ", codesym.MaxBytes+1), codesym.ErrTooLong},
	} {
		if _, err := codesym.Parse(c.lang, c.src); !errors.Is(err, c.want) {
			t.Errorf("Parse(%s) = %v, want %v", c.name, err, c.want)
		}
	}
}

// TestBinary puts each byte in each place of a text in which one odd byte is more than a tenth.
func TestBinary(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		want := c < ' ' && strings.IndexByte("\t\n\v\f\r\x1b", byte(c)) < 0 || c >= 0x80
		for at := range 9 {
			src := strings.Repeat("a", at) + string([]byte{byte(c)}) + strings.Repeat("~", 8-at)
			if got := codesym.Binary(src); got != want {
				t.Errorf("Binary(%q) = %v, want %v", src, got, want)
			}
		}
	}
	if src := strings.Repeat("é", 20); codesym.Binary(src) {
		t.Errorf("Binary(%q) = true, want false", src)
	}
}

// check returns what a file breaks of the promises of the package.
func check(f codesym.File, src string) error {
	seen := map[string]bool{}
	for i, s := range f.Symbols {
		switch {
		case s.Start < 0 || s.End <= s.Start || s.End > len(src):
			return fmt.Errorf("%s %s spans %d to %d of %d bytes", s.Kind, s.Qualified, s.Start, s.End, len(src))
		case i > 0 && f.Symbols[i-1].Start > s.Start:
			return fmt.Errorf("%s %s stands before its predecessor", s.Kind, s.Qualified)
		case s.Parent >= i || s.Parent >= 0 && (f.Symbols[s.Parent].Start > s.Start || f.Symbols[s.Parent].End < s.End):
			return fmt.Errorf("%s %s does not lie in its parent", s.Kind, s.Qualified)
		case s.Name == "" || s.Hash.IsZero() || s.SignatureHash.IsZero():
			return fmt.Errorf("%s %q has no name or hash", s.Kind, s.Qualified)
		case seen[string(s.Kind)+" "+s.Qualified]:
			return fmt.Errorf("%s %s is there twice", s.Kind, s.Qualified)
		case s.Line != 1+strings.Count(src[:s.Start], "\n") || s.EndLine != 1+strings.Count(src[:s.End-1], "\n"):
			return fmt.Errorf("%s %s: lines %d to %d", s.Kind, s.Qualified, s.Line, s.EndLine)
		case len(s.Signature) > 600 || len(s.Doc) > 210:
			return fmt.Errorf("%s %s: signature of %d bytes, doc of %d", s.Kind, s.Qualified, len(s.Signature), len(s.Doc))
		}
		seen[string(s.Kind)+" "+s.Qualified] = true
	}
	for _, c := range f.Calls {
		if c.Symbol >= len(f.Symbols) || c.Callee == "" || !strings.HasPrefix(src[c.Offset:], c.Callee) {
			return fmt.Errorf("call %+v", c)
		}
		if c.Symbol >= 0 && (c.Offset < f.Symbols[c.Symbol].Start || c.Offset >= f.Symbols[c.Symbol].End) {
			return fmt.Errorf("call %+v is outside of its symbol", c)
		}
	}
	for _, i := range f.Imports {
		if i.Symbol < 0 || i.Symbol >= len(f.Symbols) || f.Symbols[i.Symbol].Kind != codesym.ImportOf && f.Symbols[i.Symbol].Kind != codesym.Export {
			return fmt.Errorf("import %+v has no symbol", i)
		}
	}
	return nil
}

// fuzz checks the promises of the package on any text, and that a parser reads the same whatever it has read before.
func fuzz(f *testing.F, lang codesym.Lang, seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	var used codesym.Parser
	f.Fuzz(func(t *testing.T, src string) {
		file, err := codesym.Parse(lang, src)
		if err != nil {
			return
		}
		if again, err := used.Parse(lang, src); err != nil || !reflect.DeepEqual(again, file) {
			t.Fatalf("Parse(%q) by a used parser = %v, %v, want %v", src, again, err, file)
		}
		if err := check(file, src); err != nil {
			t.Fatalf("Parse(%q): %v", src, err)
		}
	})
}

// TestHostile reads what no program is. With SAKUR4_CODESYM=all the texts are ten times as long, and a parser that is not linear does not end.
func TestHostile(t *testing.T) {
	t.Parallel()
	n := 20_000
	switch {
	case os.Getenv("SAKUR4_CODESYM") == "all":
		n = 200_000
	case raceEnabled:
		n = 3_000
	}
	texts := map[string]string{
		"open brackets":   strings.Repeat("(", n),
		"open braces":     strings.Repeat("{\n", n),
		"nested brackets": strings.Repeat("(", n) + strings.Repeat(")", n),
		"nested braces":   "f(" + strings.Repeat("{", n) + strings.Repeat("}", n),
		"closing":         strings.Repeat(" {\n", n/2) + strings.Repeat(")\n", n),
		"names":           "const " + strings.Repeat("a,", n),
		"dots":            strings.Repeat("a.", n) + "b()",
		"quotes":          strings.Repeat("\"'`\n", n),
		"quoted values":   strings.Repeat("- \"\n-  '\n", n/2),
		"comments":        strings.Repeat("/*", n),
		"comment lines":   strings.Repeat("<!-- \n", n),
		"less":            strings.Repeat("a<", n),
		"classes":         strings.Repeat("class a { ", n/4),
		"functions":       strings.Repeat("func f() { ", n/4),
		"routines":        strings.Repeat("create function f as begin\n", n/4),
		"commands":        strings.Repeat("f() {\n", n/4),
		"here documents":  strings.Repeat("cat <<E\n", n/4),
		"dollar quotes":   strings.Repeat("$a$ $b$ ", n/4),
		"substitutions":   strings.Repeat("$(", n),
		"flows":           strings.Repeat("- [\n", n/2),
		"headings":        strings.Repeat("# a\n", n/4),
		"keys":            strings.Repeat("a: {b: c,\n", n/4),
		"tables":          strings.Repeat("[a.b]\nc = [\n", n/4),
		"indents":         indents(min(n/10, 2000)),
	}
	for _, lang := range codesym.Langs() {
		for name, src := range texts {
			t.Run(string(lang)+"/"+name, func(t *testing.T) {
				t.Parallel()
				f, err := codesym.Parse(lang, src)
				if err != nil {
					t.Fatalf("Parse = %v", err)
				}
				for _, s := range f.Symbols {
					if len(s.Qualified) > len(s.Name)+700 {
						t.Fatalf("%s %s has a qualified name of %d bytes", s.Kind, s.Name, len(s.Qualified))
					}
				}
				if len(f.Symbols) < 1000 {
					if err := check(f, src); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// indents is code that is indented ever more deeply.
func indents(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "if x:\n")
	}
	return b.String()
}

// TestNothingNamed reads declarations whose name is empty: they are no symbols.
func TestNothingNamed(t *testing.T) {
	t.Parallel()
	for lang, src := range map[codesym.Lang]string{
		codesym.Go:         "package a\n\nimport \"\"\nimport x ``\n",
		codesym.Python:     "import\nfrom import x\nclass:\n  pass\ndef ():\n  pass\n",
		codesym.TypeScript: "declare module '';\ndeclare module '' {}\nimport \"\"\nexport * from ''\nexport class {}\nfunction () {}\nconst [] = 1\nlet {} = 2\nclass { \"\"() {} [``] = 1 }\n",
		codesym.TSX:        "import ''\nconst x = <></>\n",
		codesym.JavaScript: "import x from ''\nrequire('')\nmodule.exports = { '': function () {} }\n",
		codesym.Rust:       "use ;\nuse,\n)\nimpl ! {}\nimpl A for ! {}\nimpl , {}\nfn () {}\nstruct {}\nmod {}\nextern crate ;\nmacro_rules! {}\n",
		codesym.Java:       "import ;\npackage ;\nclass {}\nclass A { void () {} int ; }\n",
		codesym.C:          "#include \"\"\n#include <>\n#define\nstruct {};\nenum {};\nint ();\n",
		codesym.CPP:        "#include \"\"\nnamespace {}\nclass {};\nint ::();\noperator();\nusing ;\n",
		codesym.JSON:       `{"": {"": 1, "a": {"": []}}}`,
		codesym.YAML:       "\"\":\n  '': 1\n? \n: 2\n",
		codesym.TOML:       "[\"\"]\n\"\" = 1\n[a.\"\"]\n'' = 2\n",
		codesym.Markdown:   "#\n\n# #\n\n===\n\n \n---\n",
		codesym.SQL:        "CREATE TABLE \"\" (a int);\nCREATE VIEW `` AS SELECT 1;\nCREATE EXTENSION \"\";\nCREATE TABLE ;\n",
		codesym.Shell:      "source \"\"\n. ''\n() { :; }\nfunction { :; }\nalias =x\n",
	} {
		f, err := codesym.Parse(lang, src)
		if err != nil {
			t.Errorf("Parse(%s): %v", lang, err)
		} else if err := check(f, src); err != nil {
			t.Errorf("Parse(%s, %q): %v", lang, src, err)
		}
	}
}
