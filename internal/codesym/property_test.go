package codesym_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sakur4/internal/codesym"
)

// samples are the sources of the other tests, one for each language.
var samples = map[codesym.Lang]string{
	codesym.Go: goSample, codesym.Python: pySample, codesym.TypeScript: tsSample, codesym.TSX: jsxSample, codesym.JavaScript: jsxSample,
	codesym.Rust: rustSample, codesym.Java: javaSample, codesym.C: cSample, codesym.CPP: cppSample,
	codesym.JSON: jsonSample, codesym.YAML: yamlSample, codesym.TOML: tomlSample, codesym.Markdown: markdownSample, codesym.SQL: sqlSample, codesym.Shell: shellSample,
}

// goldens are the texts of the other tests, with what is read in them.
var goldens = map[codesym.Lang][][]golden{
	codesym.Go: {goCases}, codesym.Python: {pythonCases}, codesym.TypeScript: {typescriptCases}, codesym.JavaScript: {javaScriptCases, ecmaValuesCases, ecmaBrokenCases},
	codesym.Rust: {rustCases, rustBrokenCases}, codesym.Java: {javaCases}, codesym.C: {cCases, cHeadsCases}, codesym.CPP: {cppCases, cppMacrosCases, cppHeadsCases, cppBrokenCases},
	codesym.JSON: {jsonCases}, codesym.YAML: {yamlCases}, codesym.TOML: {tomlCases}, codesym.Markdown: {markdownCases}, codesym.SQL: {sqlCases}, codesym.Shell: {shellCases},
}

// comment returns a text as a comment of its own line.
func comment(lang codesym.Lang, text string) string {
	switch lang {
	case codesym.Python, codesym.YAML, codesym.TOML, codesym.Shell:
		return "# " + text + "\n"
	case codesym.SQL:
		return "-- " + text + "\n"
	case codesym.Markdown:
		return "<!-- " + text + " -->\n"
	}
	return "/* " + text + " */ // " + text + "\n"
}

func parse(t *testing.T, lang codesym.Lang, src string) codesym.File {
	t.Helper()
	f, err := codesym.Parse(lang, src)
	if err != nil {
		t.Fatalf("Parse(%s) = %v", lang, err)
	}
	return f
}

// hashes lists both hashes of each symbol.
func hashes(f codesym.File) []string {
	var list []string
	for _, s := range f.Symbols {
		list = append(list, fmt.Sprintf("%s %s %s %s", s.Kind, s.Qualified, s.SignatureHash.Short(), s.Hash.Short()))
	}
	return list
}

// stable complains where a change of spacing and comments changes a hash.
func stable(t *testing.T, lang codesym.Lang, name, src string) {
	t.Helper()
	before := parse(t, lang, src)
	if before.Partial {
		return
	}
	want := strings.Join(hashes(before), "\n")
	for what, changed := range map[string]string{
		"moved down":       strings.Repeat(comment(lang, "moved: {")+"\n", 3) + src,
		"comments between": spaced(before, lang, src),
		"indented":         indented(before, lang, src),
	} {
		if (strings.HasPrefix(src, "#!") || strings.HasPrefix(src, "---")) && what == "moved down" {
			continue
		}
		if got := strings.Join(hashes(parse(t, lang, changed)), "\n"); got != want {
			t.Errorf("%s %s, %s: hashes changed: %s", lang, name, what, firstDifference(want, got))
		}
	}
	for i, s := range before.Symbols {
		if changed := toEnd(before, i, src); changed != "" && i%5 == 0 {
			after := parse(t, lang, changed)
			if !slices.ContainsFunc(after.Symbols, func(o codesym.Symbol) bool {
				return o.Name == s.Name && o.Hash == s.Hash && o.SignatureHash == s.SignatureHash
			}) {
				t.Errorf("%s %s: %s has other hashes at the end of the file", lang, name, s.Qualified)
			}
		}
	}
}

// indented puts space in front of the lines on which declarations begin and end, where the language gives it no meaning.
func indented(f codesym.File, lang codesym.Lang, src string) string {
	switch lang {
	case codesym.Python, codesym.YAML, codesym.Markdown:
		return src
	}
	var at []int
	for _, s := range f.Symbols {
		for _, i := range []int{s.Start, s.End - 1} {
			line := strings.LastIndexByte(src[:i], '\n') + 1
			if i == s.Start && strings.TrimSpace(src[line:i]) == "" || src[i] == '}' && strings.TrimSpace(src[line:i]) == "" {
				at = append(at, line)
			}
		}
	}
	slices.Sort(at)
	var out strings.Builder
	done := 0
	for _, i := range slices.Compact(at) {
		out.WriteString(src[done:i] + "\t ")
		done = i
	}
	return out.String() + src[done:]
}

// toEnd moves a declaration at the top of a file that has its lines for itself to the end of the file; "" for others.
func toEnd(f codesym.File, i int, src string) string {
	s := f.Symbols[i]
	line, end := strings.LastIndexByte(src[:s.Start], '\n')+1, s.End
	for end < len(src) && src[end] == ';' {
		end++
	}
	switch s.Kind {
	case codesym.Function, codesym.Method, codesym.Class, codesym.Struct, codesym.Enum, codesym.Trait, codesym.Interface:
	default:
		return ""
	}
	if s.Parent >= 0 || line != s.Start || end < len(src) && src[end] != '\n' || i+1 < len(f.Symbols) && f.Symbols[i+1].Start == s.Start {
		return ""
	}
	return src[:line] + src[end:] + "\n\n" + src[line:end] + "\n"
}

// spaced puts a comment and a line break in front of each declaration whose line it begins.
func spaced(f codesym.File, lang codesym.Lang, src string) string {
	var out strings.Builder
	at := 0
	for _, s := range f.Symbols {
		line := strings.LastIndexByte(src[:s.Start], '\n') + 1
		if line < at || line == 0 || strings.TrimSpace(src[line:s.Start]) != "" || s.Parent >= 0 && f.Symbols[s.Parent].Kind == codesym.Constant {
			continue
		}
		out.WriteString(src[at:line])
		out.WriteString("\n" + comment(lang, "a comment (") + "\n")
		at = line
	}
	return out.String() + src[at:]
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range w {
		if i >= len(g) || w[i] != g[i] {
			return fmt.Sprintf("%q became %q", w[i], g[min(i, len(g)-1)])
		}
	}
	return fmt.Sprintf("%d symbols became %d", len(w), len(g))
}

// edited changes one name within each symbol, and complains where others than the symbol and its parents change.
func edited(t *testing.T, lang codesym.Lang, name, src string, every int) {
	t.Helper()
	before := parse(t, lang, src)
	if before.Partial {
		return
	}
	for i, s := range before.Symbols {
		if i%every != 0 {
			continue
		}
		at := editable(before, i, src)
		if at < 0 {
			continue
		}
		after := parse(t, lang, src[:at]+"Zq"+src[at:])
		if len(after.Symbols) != len(before.Symbols) {
			t.Errorf("%s %s: an edit in %s at %d makes %d symbols of %d", lang, name, s.Qualified, at, len(after.Symbols), len(before.Symbols))
			continue
		}
		for k, o := range before.Symbols {
			// Names of one declaration share its span.
			want := o.Start <= at && at < o.End
			if got := after.Symbols[k].Hash != o.Hash; got != want {
				t.Errorf("%s %s: an edit at %d in %s: %s changed: %v, want %v", lang, name, at, s.Qualified, o.Qualified, got, want)
			}
		}
	}
}

// editable returns the offset of the callee of a call in the symbol, or of the end of its last word where the language has no calls, -1 where it has none.
func editable(f codesym.File, i int, src string) int {
	switch f.Lang {
	case codesym.JSON, codesym.YAML, codesym.TOML, codesym.Markdown, codesym.SQL:
		at := f.Symbols[i].End - 1
		if c := src[at]; at <= f.Symbols[i].NameAt+len(f.Symbols[i].Name) || c != '"' && c != '\'' && (c < 'a' || c > 'z') || src[at-1] == c && c < 'a' {
			return -1
		}
		return at
	}
	for _, c := range f.Calls {
		if strings.ToUpper(c.Callee) == c.Callee {
			continue // a macro: what it stands for is told by its capitals
		}
		if c.Symbol == i && f.Symbols[i].Kind != codesym.ImportOf && c.Offset > f.Symbols[i].NameAt+len(f.Symbols[i].Name) && !strings.Contains(src[f.Symbols[i].Start:c.Offset], "operator") {
			return c.Offset
		}
	}
	return -1
}

func TestHashes(t *testing.T) {
	t.Parallel()
	for lang, src := range samples {
		t.Run(string(lang), func(t *testing.T) {
			t.Parallel()
			stable(t, lang, "sample", src)
			edited(t, lang, "sample", src, 1)
		})
	}
}

// TestParserKeepsNothing reads the texts of the other tests, whole and broken, one after another with the same parser: what is read is what a parser reads that has read nothing
// before, and stays so while others are read.
func TestParserKeepsNothing(t *testing.T) {
	t.Parallel()
	type read struct {
		lang codesym.Lang
		src  string
		got  codesym.File
	}
	var texts []read
	for _, lang := range codesym.Langs() {
		srcs := []string{samples[lang], ""}
		if lang == codesym.Java { // one that is longer than what leaves buffers behind
			srcs = append(srcs, "class A { "+strings.Repeat("          ", 110_000)+"int a() { return b(); } }")
		}
		for _, cases := range goldens[lang] {
			for _, c := range cases {
				srcs = append(srcs, c.src, c.src[:len(c.src)/2], c.src[len(c.src)/3:])
			}
		}
		for _, src := range srcs {
			texts = append(texts, read{lang: lang, src: src})
		}
	}
	var parser codesym.Parser
	for k := range texts { // each language behind each other one, and long ones between short ones
		r := &texts[k*7919%len(texts)]
		var err error
		if r.got, err = parser.Parse(r.lang, r.src); err != nil {
			t.Fatalf("Parse(%s) = %v", r.lang, err)
		}
	}
	for _, r := range texts {
		if want, got := appendFile(nil, parse(t, r.lang, r.src)), appendFile(nil, r.got); string(got) != string(want) {
			t.Errorf("%s text of %d bytes: read by a used parser: %s", r.lang, len(r.src), firstDifference(string(want), string(got)))
		}
	}
}

// TestLeftOut leaves out each mark of the texts of the other tests, one at a time: the promises of the package hold for what is left.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	for lang, src := range samples {
		t.Run(string(lang), func(t *testing.T) {
			t.Parallel()
			texts := []string{src}
			for _, cases := range goldens[lang] {
				for _, c := range cases {
					texts = append(texts, c.src)
				}
			}
			for _, src := range texts {
				for at := range len(src) {
					if c := src[at]; c == ' ' || c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' {
						continue
					}
					broken := src[:at] + src[at+1:]
					if err := check(parse(t, lang, broken), broken); err != nil {
						t.Errorf("Parse(%s, %q): %v", lang, broken, err)
					}
				}
			}
		})
	}
}

func TestHashesOfGoFiles(t *testing.T) {
	t.Parallel()
	for path, src := range goFiles(t, 10*goEvery()) {
		stable(t, codesym.Go, path, src)
		edited(t, codesym.Go, path, src, 7)
	}
}

func TestReservedWordsAreNoNames(t *testing.T) {
	t.Parallel()
	for lang, src := range map[codesym.Lang]string{
		codesym.Python:     "def if(): pass\nclass for: pass\n",
		codesym.JavaScript: "function if() {}\nclass for {}\nconst while = () => 1;\n",
		codesym.Rust:       "fn if() {}\nstruct for {}\n",
		codesym.Java:       "class for {}\nclass A { void if() {} int while(int x) {} }\n",
		codesym.C:          "int if(x) { }\nstruct while { int a; };\n#ifdef A\nif (x) {\n#endif\nelse if (y) { }\n",
		codesym.CPP:        "int if(int x) { }\nclass for { };\n",
		codesym.Go:         "package p\nfunc if() {}\ntype for struct{}\n",
	} {
		for _, s := range parse(t, lang, src).Symbols {
			switch s.Name {
			case "if", "for", "while":
				t.Errorf("Parse(%s) has a %s %s", lang, s.Kind, s.Qualified)
			}
		}
	}
}

// TestGoBroken leaves one character out of files, a third of the way in: nearly all names stay.
func TestGoBroken(t *testing.T) {
	t.Parallel()
	for _, char := range []string{"{", "}", ")", "\""} {
		kept, total := 0, 0
		for _, src := range goFiles(t, min(2*goEvery(), 150)) {
			at := strings.Index(src[len(src)/3:], char)
			if at < 0 {
				continue
			}
			at += len(src) / 3
			left := map[string]int{}
			for _, s := range parse(t, codesym.Go, src[:at]+src[at+1:]).Symbols {
				left[s.Name]++
			}
			for _, s := range parse(t, codesym.Go, src).Symbols {
				if s.Parent >= 0 {
					continue // types in functions are read in files without errors only
				}
				if total++; left[s.Name] > 0 {
					left[s.Name]--
					kept++
				}
			}
		}
		if kept*100 < total*99 {
			t.Errorf("without one %s: %d of %d names are left, want 99 %%", char, kept, total)
		}
		t.Logf("without one %s: %d of %d names are left", char, kept, total)
	}
}
