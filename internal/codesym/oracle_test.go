//go:build unix

package codesym_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sakur4/internal/codesym"
)

// found is a declaration that somebody found.
type found struct {
	file, name string
	line       int // of the name
}

type place struct {
	kind       string
	start, end int
}

// TestOracle compares one language with universal-ctags and tree-sitter over the files below a folder. It runs where SAKUR4_CODESYM_ORACLE names both, as in
// "python=/src/project"; testdata/oracle/README.md says how to get the oracles.
func TestOracle(t *testing.T) {
	lang, dir, ok := strings.Cut(os.Getenv("SAKUR4_CODESYM_ORACLE"), "=")
	if !ok {
		t.Skip("SAKUR4_CODESYM_ORACLE is not set")
	}
	files := sources(t, lang, dir)
	ours, size := map[found]place{}, 0
	defined, nameAt, hasName := macros{}, map[found]int{}, map[found]bool{}
	if lang == "c" || lang == "cpp" {
		defined = macrosBelow(t, dir)
	}
	for _, path := range files {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := codesym.Parse(codesym.Lang(lang), string(src))
		size += len(src)
		if err != nil {
			t.Errorf("Parse(%s) = %v", path, err)
			continue
		}
		if f.Partial && os.Getenv("SAKUR4_CODESYM_BROKEN") == "" {
			t.Logf("%s is partial: %v", path, f.Errors[:min(len(f.Errors), 3)])
		}
		if err := check(f, string(src)); err != nil {
			t.Errorf("Parse(%s): %v", path, err)
		}
		for _, s := range f.Symbols {
			if s.Kind == codesym.ImportOf || s.Kind == codesym.Export {
				continue
			}
			at := found{path, plain(s.Name), nameLine(string(src), s)}
			ours[at] = place{string(s.Kind), s.Line, s.EndLine}
			nameAt[at] = s.NameAt
			hasName[found{file: path, name: at.name}] = true
		}
	}
	sitter, sitterSpeed := treeSitter(t, lang, files)
	tags, tagsSpeed := ctags(t, lang, files)

	kinds := map[string]bool{}
	for _, p := range sitter {
		kinds[p.kind] = true
	}
	agreed, kept, span, kind, wrong, mine := 0, 0, 0, 0, 0, 0
	lostBy, byRule, judges := map[string]int{}, map[string]int{}, map[string]*judge{}
	judgeOf := func(path string) *judge {
		if judges[path] == nil {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			judges[path] = newJudge(string(src))
		}
		return judges[path]
	}
	noName := func(k found) string {
		rule := judgeOf(k.file).noName(k.name, k.line, defined)
		if rule == "" && hasName[found{file: k.file, name: k.name}] {
			rule = judgeOf(k.file).prototype(k.name, k.line)
		}
		return rule
	}
	var lost, odd, extra []string
	for k, p := range sitter {
		if _, ok := tags[k]; !ok {
			continue
		}
		agreed++
		o, ok := ours[k]
		if !ok {
			rule := ""
			if p.kind != "constant" && (lang == "c" || lang == "cpp") {
				rule = noName(k)
			}
			lostBy[rule]++
			lost = append(lost, fmt.Sprintf("%s:%d %s %s [%s]", k.file, k.line, p.kind, k.name, rule))
			continue
		}
		kept++
		if o.kind == p.kind {
			kind++
		} else {
			odd = append(odd, fmt.Sprintf("%s:%d %s is %s, not %s", k.file, k.line, k.name, o.kind, p.kind))
		}
		if o.start == p.start && o.end == p.end {
			span++
		} else {
			odd = append(odd, fmt.Sprintf("%s:%d %s spans %d-%d, not %d-%d", k.file, k.line, k.name, o.start, o.end, p.start, p.end))
		}
	}
	for k, o := range ours {
		if !kinds[o.kind] {
			continue
		}
		mine++
		_, inSitter := sitter[k]
		_, inTags := tags[k]
		if !inSitter && !inTags {
			wrong++
			rule := judgeOf(k.file).verdict(lang, o.kind, k.name, nameAt[k], defined)
			byRule[rule]++
			extra = append(extra, fmt.Sprintf("%s:%d %s %s [%s]", k.file, k.line, o.kind, k.name, rule))
		}
	}
	percent := func(a, b int) string {
		return fmt.Sprintf("%d of %d, %.2f %%", a, b, 100*float64(a)/float64(max(b, 1)))
	}
	var still []string
	afresh := ""
	if sitter, tags, n := expanded(t, lang, files, defined); n > 0 {
		agreed, kept, wrong, none := 0, 0, 0, 0
		for k := range sitter {
			if _, ok := tags[k]; ok {
				agreed++
				if _, ok := ours[k]; ok {
					kept++
				} else if noName(k) != "" {
					none++
				} else {
					still = append(still, fmt.Sprintf("%s:%d %s", k.file, k.line, k.name))
				}
			}
		}
		for k, o := range ours {
			_, inSitter := sitter[k]
			_, inTags := tags[k]
			if kinds[o.kind] && !inSitter && !inTags {
				wrong++
			}
		}
		afresh = fmt.Sprintf("where the oracles read %d uses of the project's macros around names expanded (and ours as they are): agreed and ours has it: %s, without what is no name of its own %s; ours that neither has: %s",
			n, percent(kept, agreed), percent(kept, agreed-none), percent(wrong, mine))
	}
	for name, list := range map[string][]string{"lost": lost, "different": odd, "ours alone": extra, "lost when expanded": still} {
		slices.Sort(list)
		if to := os.Getenv("SAKUR4_CODESYM_LISTS"); to != "" {
			if err := os.WriteFile(to+"-"+strings.ReplaceAll(name, " ", "-")+".txt", []byte(strings.Join(list, "\n")+"\n"), 0o600); err != nil {
				t.Error(err)
			}
		}
		for i, l := range list {
			if step := max(1, len(list)/40); i%step == 0 {
				t.Logf("%s: %s", name, strings.TrimPrefix(l, dir))
			}
		}
	}
	t.Logf("%s: %d files, %d bytes; tree-sitter has %d, ctags %d, ours %d", lang, len(files), size, len(sitter), len(tags), len(ours))
	t.Logf("both oracles agree, and ours has it: %s", percent(kept, agreed))
	left := agreed
	for _, rule := range slices.Sorted(maps.Keys(lostBy)) {
		if rule != "" {
			left -= lostBy[rule]
			t.Logf("of the others, what both oracles have as a name of its own and is none: %5d %s", lostBy[rule], rule)
		}
	}
	if left < agreed {
		t.Logf("both oracles agree on a name, and ours has it: %s", percent(kept, left))
	}
	t.Logf("same kind: %s; same lines: %s", percent(kind, kept), percent(span, kept))
	t.Logf("ours that neither has: %s", percent(wrong, mine))
	for _, rule := range slices.Sorted(maps.Keys(byRule)) {
		if rule != "" {
			t.Logf("of these in the source, by rule: %5d %s", byRule[rule], rule)
		}
	}
	t.Logf("ours that neither has and no rule finds in the source: %s", percent(byRule[""], mine))
	if afresh != "" {
		t.Log(afresh)
	}
	t.Logf("MB/s: ours %.1f, ctags %.1f, tree-sitter %.1f", float64(size)/1e6/parseTime(t, lang, files).Seconds(), tagsSpeed, sitterSpeed)
}

// nameLine returns the line of a symbol's name.
func nameLine(src string, s codesym.Symbol) int {
	text := src[s.NameAt:min(len(src), s.NameAt+len(s.Name))]
	if text != s.Name {
		return s.Line
	}
	return 1 + strings.Count(src[:s.NameAt], "\n")
}

// plain is a name without quotes and spaces.
func plain(name string) string { return strings.NewReplacer(`"`, "", "'", "", " ", "").Replace(name) }

func treeSitter(t *testing.T, lang string, files []string) (map[found]place, float64) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", "testdata/oracle/treesitter.mjs", lang)
	cmd.Stdin = strings.NewReader(strings.Join(files, "\n"))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tree-sitter: %v", err)
	}
	all, speed := map[found]place{}, 0.0
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 6 {
			var size, ms float64
			if _, err := fmt.Sscanf(line, "# %g %g", &size, &ms); err == nil {
				speed = size / 1e3 / ms
			}
			continue
		}
		n, _ := strconv.Atoi(f[3])
		start, _ := strconv.Atoi(f[4])
		end, _ := strconv.Atoi(f[5])
		all[found{f[0], plain(f[2]), n}] = place{f[1], start, end}
	}
	return all, speed
}

// ctagsKinds are the kinds of ctags that are compared, for each language.
var ctagsKinds = map[string]string{
	"python": "--kinds-Python=cfm", "javascript": "--kinds-JavaScript=fcmgC", "typescript": "--kinds-TypeScript=fcmiegnaCp", "tsx": "--kinds-TypeScript=fcmiegnaCp",
	"rust": "--kinds-Rust=nsgtifMPeCS", "java": "--kinds-Java=aceigmf", "c": "--kinds-C=dfgstuepv", "cpp": "--kinds-C++=dfgstuecnpvmA", "go": "--kinds-Go=pfctsin",
}

func ctags(t *testing.T, lang string, files []string) (map[found]place, float64) {
	t.Helper()
	name := map[string]string{"python": "Python", "javascript": "JavaScript", "typescript": "TypeScript", "tsx": "TypeScript", "rust": "Rust", "java": "Java", "c": "C", "cpp": "C++", "go": "Go"}[lang]
	args := []string{"--options=NONE", "--language-force=" + name, ctagsKinds[lang], "--fields=nKe", "--excmd=number", "--sort=no", "-L", "-", "-f", "-"}
	run := func(args ...string) (string, time.Duration) {
		cmd := exec.CommandContext(t.Context(), "ctags", args...)
		cmd.Stdin = strings.NewReader(strings.Join(files, "\n"))
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Run(); err != nil {
			t.Fatalf("ctags: %v", err)
		}
		return out.String(), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	out, spent := run(args...)
	all, size := map[found]place{}, 0
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			size += int(info.Size())
		}
	}
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) < 4 || strings.HasPrefix(line, "!") {
			continue
		}
		p := place{kind: f[3]}
		n := 0
		for _, x := range f[4:] {
			if s, ok := strings.CutPrefix(x, "line:"); ok {
				n, _ = strconv.Atoi(s)
			}
			if s, ok := strings.CutPrefix(x, "end:"); ok {
				p.end, _ = strconv.Atoi(s)
			}
		}
		all[found{f[1], plain(f[0]), n}] = p
	}
	return all, float64(size) / 1e6 / spent.Seconds()
}

// sources returns the files of a language below a folder.
func sources(t *testing.T, lang, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		src, err := os.ReadFile(path)
		if l, ok := codesym.LanguageOf(path, string(src[:min(len(src), 4000)])); ok && string(l) == lang && len(src) < 1<<20 {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// processorTime returns what the process has used of the processor.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// parseTime returns the processor time that parsing takes: the least of three runs, reading aside, garbage collection included.
func parseTime(t *testing.T, lang string, files []string) time.Duration {
	t.Helper()
	sources := contents(t, files)
	least := parseOnce(t, lang, sources)
	for range 2 {
		least = min(least, parseOnce(t, lang, sources))
	}
	return least
}

func contents(t *testing.T, files []string) []string {
	t.Helper()
	var all []string
	for _, path := range files {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(src))
	}
	return all
}

func parseOnce(t *testing.T, lang string, sources []string) time.Duration {
	t.Helper()
	runtime.GC()
	began := processorTime(t)
	parser := new(codesym.Parser)
	for _, src := range sources {
		if _, err := parser.Parse(codesym.Lang(lang), src); err != nil {
			t.Fatal(err)
		}
	}
	return processorTime(t) - began
}

// TestOracleSpeed compares the processor time of parsing with that of ctags: turn and turn about, the least of eight runs each. It runs where TestOracle runs, and takes several
// languages and folders, with commas between them.
func TestOracleSpeed(t *testing.T) {
	list := os.Getenv("SAKUR4_CODESYM_ORACLE")
	if list == "" {
		t.Skip("SAKUR4_CODESYM_ORACLE is not set")
	}
	for one := range strings.SplitSeq(list, ",") {
		lang, dir, _ := strings.Cut(one, "=")
		files := sources(t, lang, dir)
		sources := contents(t, files)
		size := 0
		for _, src := range sources {
			size += len(src)
		}
		ours, theirs := 0.0, 0.0
		for range 8 {
			_, speed := ctags(t, lang, files)
			theirs = max(theirs, speed)
			ours = max(ours, float64(size)/1e6/parseOnce(t, lang, sources).Seconds())
		}
		t.Logf("%-10s %5d files, %5.1f MB; MB/s: ours %5.1f, ctags %5.1f: %.2f times; %s", lang, len(files), float64(size)/1e6, ours, theirs, ours/theirs, filepath.Base(dir))
	}
}

// brokenBy are the characters of which one is left out, for each language.
var brokenBy = map[string]string{"python": "):\"", "go": "{})\""}

// TestOracleBroken compares how many names are left in files with one character missing a third of the way in. It runs where TestOracle runs.
func TestOracleBroken(t *testing.T) {
	lang, dir, ok := strings.Cut(os.Getenv("SAKUR4_CODESYM_ORACLE"), "=")
	if !ok {
		t.Skip("SAKUR4_CODESYM_ORACLE is not set")
	}
	all := sources(t, lang, dir)
	chars := brokenBy[lang]
	if chars == "" {
		chars = "{})\""
	}
	for _, c := range chars {
		var files, broken []string
		tmp := t.TempDir()
		for i, path := range all {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			at := bytes.IndexRune(src[len(src)/3:], c)
			if at < 0 || len(src) < 2000 || len(all) > 300 && i%(len(all)/150) != 0 {
				continue
			}
			at += len(src) / 3
			out := filepath.Join(tmp, fmt.Sprint(i)+filepath.Ext(path))
			if err := os.WriteFile(out, slices.Concat(src[:at], src[at+1:]), 0o600); err != nil {
				t.Fatal(err)
			}
			files, broken = append(files, path), append(broken, out)
		}
		mine := func(files []string) map[found]place {
			all := map[found]place{}
			for _, path := range files {
				src, _ := os.ReadFile(path)
				f, _ := codesym.Parse(codesym.Lang(lang), string(src))
				for _, s := range f.Symbols {
					if s.Kind != codesym.ImportOf && s.Kind != codesym.Export {
						all[found{path, s.Name, s.Start}] = place{}
					}
				}
			}
			return all
		}
		sitter := func(files []string) map[found]place { m, _ := treeSitter(t, lang, files); return m }
		tags := func(files []string) map[found]place { m, _ := ctags(t, lang, files); return m }
		line := fmt.Sprintf("%s without %q, %d files:", lang, c, len(files))
		for i, find := range []func([]string) map[found]place{mine, sitter, tags} {
			kept, total, invented, worst := names(find(files), find(broken), files, broken)
			line += fmt.Sprintf(" %s keeps %.2f %%, invents %.2f %%;", []string{"ours", "tree-sitter", "ctags"}[i], 100*float64(kept)/float64(total), 100*float64(invented)/float64(total))
			if i == 0 {
				for _, w := range worst[:min(len(worst), 8)] {
					t.Log(w)
				}
			}
		}
		t.Log(line)
		if keep := os.Getenv("SAKUR4_CODESYM_KEEP"); keep != "" {
			if err := os.CopyFS(filepath.Join(keep, fmt.Sprint(c)), os.DirFS(tmp)); err != nil {
				t.Error(err)
			}
		}
	}
}

// names counts the names of whole files, how many of them are left in the broken ones, and how many there are new.
func names(whole, broken map[found]place, files, brokenFiles []string) (kept, total, invented int, worst []string) {
	count := func(m map[found]place) map[[2]string]int {
		n := map[[2]string]int{}
		for k := range m {
			n[[2]string{k.file, k.name}]++
		}
		return n
	}
	w, b := count(whole), count(broken)
	lost := map[string]int{}
	for i, f := range files {
		for k, n := range w {
			if k[0] != f {
				continue
			}
			left := min(n, b[[2]string{brokenFiles[i], k[1]}])
			total += n
			kept += left
			if left < n {
				lost[f+" as "+brokenFiles[i]] += n - left
			}
		}
		for k, n := range b {
			if k[0] == brokenFiles[i] {
				invented += max(0, n-w[[2]string{f, k[1]}])
			}
		}
	}
	for k, n := range lost {
		worst = append(worst, fmt.Sprintf("%5d names lost in %s", n, k))
	}
	slices.Sort(worst)
	slices.Reverse(worst)
	return kept, total, invented, worst
}

// TestOracleHashes tries the properties of the hashes on the files of a folder. It runs where TestOracle runs.
func TestOracleHashes(t *testing.T) {
	lang, dir, ok := strings.Cut(os.Getenv("SAKUR4_CODESYM_ORACLE"), "=")
	if !ok {
		t.Skip("SAKUR4_CODESYM_ORACLE is not set")
	}
	files := sources(t, lang, dir)
	for i, path := range files {
		if len(files) > 300 && i%(len(files)/150) != 0 {
			continue
		}
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(src) < 100_000 {
			stable(t, codesym.Lang(lang), path, string(src))
			edited(t, codesym.Lang(lang), path, string(src), 5)
		}
	}
}
