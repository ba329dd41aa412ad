//go:build unix

package codesym_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sakur4/internal/codesym"
)

// macros are the macros with arguments that the C and C++ files of a project define: parameters and expansions.
type macros map[string][]expansion

type expansion struct {
	params []string
	body   string
}

var (
	defines    = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)\(([^)\n]*)\)((?:[^\\\n]|\\\n|\\.)*)`)
	remarks    = regexp.MustCompile(`/\*(?s:.*?)\*/|//.*`)
	plainWords = regexp.MustCompile(`\w+`)
)

func macrosBelow(t *testing.T, dir string) macros {
	t.Helper()
	all := macros{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		src, err := os.ReadFile(path)
		if l, ok := codesym.LanguageOf(path, string(src[:min(len(src), 4000)])); !ok || l != codesym.C && l != codesym.CPP {
			return err
		}
		for _, m := range defines.FindAllStringSubmatch(string(src), -1) {
			var params []string
			for p := range strings.SplitSeq(m[2], ",") {
				params = append(params, strings.TrimSpace(p))
			}
			body := strings.TrimSpace(strings.ReplaceAll(remarks.ReplaceAllString(m[3], ""), "\\\n", " "))
			all[m[1]] = append(all[m[1]], expansion{params, body})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// naming returns an expansion of a macro for those that stand around the name of what is declared: one begins with its first parameter, as in
// "#define FDECL(f, p) f p". What else than parameters and brackets it holds is left out.
func (m macros) naming(name string) (expansion, bool) {
	for _, e := range m[name] {
		words := plainWords.FindAllString(e.body, -1)
		if len(words) == 0 || words[0] != e.params[0] || !strings.HasPrefix(e.body, words[0]) || strings.Contains(e.body, "#") {
			continue
		}
		for _, w := range words {
			simple := w == "void"
			for _, p := range e.params {
				simple = simple || p == w
			}
			if !simple {
				return expansion{e.params, e.params[0]}, true
			}
		}
		if strings.Trim(plainWords.ReplaceAllString(e.body, ""), "() \t") == "" {
			return e, true
		}
	}
	return expansion{}, false
}

// expand returns src with the macros that stand around names replaced by what they make, each line where it was, and how many there were.
func (m macros) expand(src string) (string, int) {
	text := blanked(src)
	var out strings.Builder
	from, n := 0, 0
	for _, at := range plainWords.FindAllStringIndex(text, -1) {
		e, ok := m.naming(text[at[0]:at[1]])
		if !ok || at[0] < from || at[1] >= len(text) || text[at[1]] != '(' {
			continue
		}
		args, end := arguments(text, at[1])
		if len(args) < len(e.params) || end < 0 {
			continue
		}
		whole := func(a [2]int) string { return src[a[0]:a[1]] }
		if !regexp.MustCompile(`^\s*(\w+|operator\W+)\s*$`).MatchString(whole(args[0])) {
			continue
		}
		made := plainWords.ReplaceAllStringFunc(e.body, func(w string) string {
			for i, p := range e.params {
				if p == w {
					return whole(args[i])
				}
			}
			return w
		})
		out.WriteString(src[from:at[0]])
		out.WriteString(" " + made + " " + strings.Repeat("\n", max(0, strings.Count(src[at[0]:end], "\n")-strings.Count(made, "\n"))))
		from = end
		n++
	}
	out.WriteString(src[from:])
	return out.String(), n
}

// arguments returns the ranges of the arguments in the brackets that open at an offset, and where they end, -1 where they do not.
func arguments(text string, open int) (args [][2]int, end int) {
	depth, from := 0, open+1
	for i := open; i < len(text) && i < open+4000; i++ {
		switch text[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return append(args, [2]int{from, i}), i + 1
			}
		case ',':
			if depth == 1 {
				args = append(args, [2]int{from, i})
				from = i + 1
			}
		}
	}
	return nil, -1
}

// expanded asks both oracles again, about copies of the files in which the project's macros around names are expanded. It returns nil where there are none.
func expanded(t *testing.T, lang string, files []string, m macros) (sitter, tags map[found]place, count int) {
	t.Helper()
	tmp := t.TempDir()
	var copies []string
	of := map[string]string{}
	for i, path := range files {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text, n := m.expand(string(src))
		count += n
		to := path
		if n > 0 {
			to = filepath.Join(tmp, fmt.Sprint(i)+filepath.Ext(path))
			if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		copies, of[to] = append(copies, to), path
	}
	if count == 0 {
		return nil, nil, 0
	}
	back := func(all map[found]place) map[found]place {
		out := make(map[found]place, len(all))
		for k, p := range all {
			k.file = of[k.file]
			out[k] = p
		}
		return out
	}
	s, _ := treeSitter(t, lang, copies)
	c, _ := ctags(t, lang, copies)
	return back(s), back(c), count
}
