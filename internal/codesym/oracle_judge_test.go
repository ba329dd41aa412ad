//go:build unix

package codesym_test

import (
	"regexp"
	"strings"
)

// A judge says of a symbol that neither oracle has whether the source declares it. It reads the text around the name by rules of its own, which share nothing with the scanners: comments and
// strings blanked, brackets counted for each branch of an #if, and then the words in front of the name and behind it.
type judge struct {
	src, text string // the source, and the source without comments, strings and preprocessor lines
	// opened holds for each offset's line the braces that are open at its beginning.
	opened [][]int
	starts []int
}

var (
	keyworded = regexp.MustCompile(`(^|[^\w.])(fn|struct|enum|union|trait|type|const|static|mod|macro_rules!|static\s+ref|static\s+mut|concept|class|interface|def|function|namespace)\s+(#[\w]*\s*)?$`)
	holding   = regexp.MustCompile(`(^|[^\w])([A-Za-z_]\w*)\s*\(\s*$`)
	valueHead = regexp.MustCompile(`^\s*(<[^;{}]*>)?\s*(\[[^;{}]*?\]\s*)*([A-Z]\w*\([^()]*\)\s*)?(=|\{|\()`)
	typeHead  = regexp.MustCompile(`\b(struct|class|union|enum|enum\s+class|enum\s+struct)\s[^;{}()]*(\([^()]*\)\s*)*[^;{}()]*$`)
	scopeHead = regexp.MustCompile(`\b(struct|class|union|namespace)\b[^;{}=]*$|\bextern\s*$|^\s*[A-Z][A-Z0-9_]*\s*$`)
	statement = regexp.MustCompile(`(^|[^\w])(return|else|case|new|delete|throw|goto|sizeof|if|while|for|switch|do|co_await|co_return|co_yield)\s*$`)
)

func newJudge(src string) *judge {
	j := &judge{src: src, text: blanked(src)}
	var open []int
	var groups [][]int // the braces that were open at each #if
	at := 0
	for line := range strings.SplitAfterSeq(src, "\n") {
		j.starts = append(j.starts, at)
		j.opened = append(j.opened, append([]int(nil), open...))
		switch word := directive(line); {
		case strings.HasPrefix(word, "if"):
			groups = append(groups, append([]int(nil), open...))
		case strings.HasPrefix(word, "el") && len(groups) > 0:
			open = append([]int(nil), groups[len(groups)-1]...)
		case word == "endif" && len(groups) > 0:
			groups = groups[:len(groups)-1]
		default:
			for i, c := range []byte(j.text[at : at+len(line)]) {
				switch {
				case c == '{':
					open = append(open, at+i)
				case c == '}' && len(open) > 0:
					open = open[:len(open)-1]
				}
			}
		}
		at += len(line)
	}
	return j
}

// directive returns the word of a preprocessor line, "" for another line.
func directive(line string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "#")
	if !ok {
		return ""
	}
	if f := strings.FieldsFunc(rest, func(r rune) bool { return r < 'a' || r > 'z' }); len(f) > 0 {
		return f[0]
	}
	return ""
}

// blanked returns src with spaces for comments, strings and preprocessor lines.
func blanked(src string) string {
	out := []byte(src)
	blank := func(from, to int) {
		for i := from; i < to && i < len(out); i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	fresh := true
	for i := 0; i < len(src); {
		from := i
		switch c := src[i]; {
		case c == '#' && fresh:
			for i < len(src) && (src[i] != '\n' || src[i-1] == '\\') {
				i++
			}
			blank(from, i)
		case strings.HasPrefix(src[i:], "//"):
			for i < len(src) && src[i] != '\n' {
				i++
			}
			blank(from, i)
		case strings.HasPrefix(src[i:], "/*"):
			if n := strings.Index(src[i+2:], "*/"); n >= 0 {
				i += n + 4
			} else {
				i = len(src)
			}
			blank(from, i)
		case c == '"' || c == '\'' && (i == 0 || !wordByte(src[i-1])):
			for i++; i < len(src) && src[i] != c && src[i] != '\n'; i++ {
				if src[i] == '\\' {
					i++
				}
			}
			i = min(i+1, len(src))
			blank(from+1, i-1)
		default:
			if c == '\n' {
				fresh = true
			} else if c != ' ' && c != '\t' {
				fresh = false
			}
			i++
		}
	}
	return string(out)
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// head returns the text in front of an offset in its statement: back to a semicolon, a brace or a label outside of brackets.
func (j *judge) head(at int) string {
	depth, i := 0, at
	for ; i > 0 && at-i < 4000; i-- {
		switch c := j.text[i-1]; c {
		case ')', ']':
			depth++
		case '(', '[':
			if depth--; depth < -1 {
				return j.text[i:at]
			}
		case '}':
			if depth <= 0 {
				return j.text[i:at]
			}
		case ';', '{':
			return j.text[i:at]
		case ':':
			if depth <= 0 && i > 1 && j.text[i-2] != ':' && j.text[i] != ':' {
				return j.text[i:at]
			}
		}
	}
	return j.text[i:at]
}

// scope returns the head of the innermost brace around an offset, and whether there is one.
func (j *judge) scope(at int) (string, bool) {
	line := strings.Count(j.src[:at], "\n")
	open := append([]int(nil), j.opened[line]...)
	for i := j.starts[line]; i < at; i++ {
		switch {
		case j.text[i] == '{':
			open = append(open, i)
		case j.text[i] == '}' && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return "", false
	}
	brace := open[len(open)-1]
	from := strings.LastIndexAny(j.text[:brace], ";}{")
	head := j.text[from+1 : brace]
	if n := strings.LastIndex(head, "public:"); n >= 0 {
		head = head[n:]
	}
	return head, true
}

// verdict returns the rule by which the source declares a name of a kind at an offset, "" where none says that it does.
func (j *judge) verdict(lang, kind, name string, at int, defined macros) string {
	if at+len(name) > len(j.text) {
		return ""
	}
	end := at + len(name)
	for k := at; k < len(j.src) && !strings.HasPrefix(j.src[at:], name); k++ { // a name that is written with spaces
		if plain(j.src[at:k]) == name {
			end = k
			break
		}
	}
	if lang != "c" && lang != "cpp" {
		line := j.src[strings.LastIndexByte(j.src[:at], '\n')+1 : at]
		if keyworded.MatchString(line) {
			return "behind its keyword"
		}
		if name == "default" && strings.HasSuffix(line, "export ") || name == "global" && strings.HasSuffix(line, "declare ") {
			return "default export, or the global scope"
		}
		if strings.HasPrefix(name, "[") && regexp.MustCompile(`^\s*[:(<]`).MatchString(j.src[end:]) {
			return "computed key of a function"
		}
		return ""
	}
	lineStart := strings.LastIndexByte(j.src[:at], '\n') + 1
	if directive(j.src[lineStart:at]+"x") == "define" && strings.HasSuffix(strings.TrimSpace(j.src[lineStart:at]), "define") {
		return "#define"
	}
	before, after := j.head(at), j.text[end:min(len(j.text), end+600)]
	behind := strings.TrimLeft(after, " \t\n")
	scope, inside := j.scope(at)
	if strings.TrimSpace(j.text[at:end]) == "" {
		return "" // within a comment or a string
	}
	if kind == "constant" && regexp.MustCompile(`\benum\b`).MatchString(scope) {
		if b := strings.TrimSpace(before); (b == "" || strings.HasSuffix(b, ",")) && (behind == "" || strings.ContainsAny(behind[:1], ",=}") || wordByte(behind[0])) {
			return "enumerator"
		}
		return ""
	}
	if inside && !scopeHead.MatchString(strings.TrimSpace(scope)) && kind != "struct" && kind != "class" && kind != "enum" && kind != "type" {
		return "" // in the body of a function
	}
	switch kind {
	case "struct", "class", "enum":
		if typeHead.MatchString(before) && behind != "" && (strings.ContainsAny(behind[:1], "{:<") || strings.HasPrefix(behind, "final")) {
			return "type with a body"
		}
		return ""
	case "type":
		switch {
		case regexp.MustCompile(`\bconcept\s+$`).MatchString(before) && strings.HasPrefix(behind, "="):
			return "concept"
		case regexp.MustCompile(`\busing\s+$`).MatchString(before) && strings.Contains(cut(after), "="):
			return "using"
		case regexp.MustCompile(`\btypedef\b`).MatchString(before) || strings.Contains(cut(after), ";"):
			return "typedef"
		}
		return ""
	case "constant":
		if regexp.MustCompile(`\b(const|constexpr|constinit)\b`).MatchString(before) && valueHead.MatchString(after) {
			return "constant with a value"
		}
		return ""
	case "module":
		if regexp.MustCompile(`\bnamespace\b[^;{}]*$`).MatchString(before) && strings.HasPrefix(behind, "{") {
			return "namespace"
		}
		return ""
	}
	if m := holding.FindStringSubmatch(before); m != nil {
		if behind != "" && (behind[0] == ')' || behind[0] == ',') && (defined[m[2]] != nil || m[2] == strings.ToUpper(m[2])) {
			return "name in the brackets of a macro"
		}
		if behind != "" && behind[0] == ')' && strings.HasPrefix(strings.TrimLeft(behind[1:], " \t\n"), "(") {
			return "name in brackets"
		}
	}
	if strings.Count(before, "(") != strings.Count(before, ")") || statement.MatchString(before) || !strings.HasPrefix(behind, "(") && !strings.HasPrefix(behind, "<") {
		return ""
	}
	if close := balanced(behind); close < 0 || !follows(strings.TrimLeft(behind[close:], " \t\n")) {
		return ""
	}
	last := strings.TrimRight(before, " \t\n")
	switch {
	case regexp.MustCompile(`\bfriend\b`).MatchString(before):
		if strings.HasSuffix(last, "::") {
			return "" // declares nothing
		}
		return "friend"
	case strings.HasPrefix(name, "operator"):
		return "operator"
	case strings.HasPrefix(name, "~"):
		return "destructor"
	case regexp.MustCompile(`\b(struct|class|union)\b[^;{}]*\b` + regexp.QuoteMeta(name) + `\b`).MatchString(scope):
		return "constructor"
	case strings.HasSuffix(last, "::") && last != "::":
		return "out of its class"
	case regexp.MustCompile(`(^|\s)::\s*\w`).MatchString(before):
		return "type from the global namespace"
	case last != "" && (wordByte(last[len(last)-1]) || strings.ContainsAny(last[len(last)-1:], ">*&)]")):
		return "function behind its type"
	}
	return ""
}

// noName returns the rule by which a word on a line is the name of no declaration, though both oracles take it for one; "" where none says so.
func (j *judge) noName(word string, line int, defined macros) string {
	if line < 1 || line > len(j.starts) {
		return ""
	}
	from := j.starts[line-1]
	for _, at := range regexp.MustCompile(`\b`+regexp.QuoteMeta(word)+`\b`).FindAllStringIndex(j.text[from:min(len(j.text), from+400)], -1) {
		behind := strings.TrimLeft(j.text[from+at[1]:min(len(j.text), from+at[1]+400)], " \t\n")
		switch {
		case !strings.HasPrefix(behind, "("):
		case defined[word] != nil:
			return "uses of macros with arguments that the project defines"
		case word == strings.ToUpper(word):
			return "uses of names of capitals: macros from elsewhere"
		case regexp.MustCompile(`^\(\s*\w+\s*\)\s*\(`).MatchString(behind):
			return "types in front of a name in brackets"
		}
	}
	return ""
}

// prototype returns the rule by which a name on a line is only said again there: a function without a body, which the file declares at another place.
func (j *judge) prototype(name string, line int) string {
	if line < 1 || line > len(j.starts) {
		return ""
	}
	from := j.starts[line-1]
	for _, at := range regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b`).FindAllStringIndex(j.text[from:min(len(j.text), from+400)], -1) {
		behind := strings.TrimLeft(j.text[from+at[1]:min(len(j.text), from+at[1]+4000)], " \t\n")
		if behind != "" && (behind[0] == '(' || behind[0] == ',') {
			if end := cut(behind); strings.HasSuffix(end, ";") && !strings.ContainsAny(end, "{}") {
				return "prototypes of functions that ours has where the file defines them"
			}
		}
	}
	return ""
}

// cut returns a text up to its first semicolon, that one included.
func cut(s string) string {
	if n := strings.IndexByte(s, ';'); n >= 0 {
		return s[:n+1]
	}
	return s
}

// balanced returns the end of the brackets that open at the beginning of s, behind type arguments, -1 where they do not close.
func balanced(s string) int {
	depth, angle := 0, 0
	for i, c := range []byte(s) {
		switch c {
		case '<':
			if depth == 0 {
				angle++
			}
		case '>':
			if depth == 0 && i > 0 && s[i-1] != '-' {
				angle--
			}
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 && angle <= 0 {
				return i + 1
			}
		case ';', '{', '}':
			if depth == 0 {
				return -1
			}
		}
	}
	return len(s) // parameters longer than what is looked at
}

// follows reports whether what follows the parameters can follow those of a declaration.
func follows(s string) bool {
	if s == "" {
		return true
	}
	if strings.ContainsAny(s[:1], ";{&=:[(") || strings.HasPrefix(s, "->") || strings.HasPrefix(s, "}") || strings.HasPrefix(s, ",") {
		return true
	}
	return wordByte(s[0]) // const, noexcept, override, a macro, parameters in the old style
}
