package codesym

import (
	"path"
	"strings"
)

// Lang names a language. The constants below are the languages that [Parse] reads; the zero value is none.
type Lang string

// The languages.
const (
	Go         Lang = "go"
	Python     Lang = "python"
	JavaScript Lang = "javascript"
	TypeScript Lang = "typescript"
	TSX        Lang = "tsx"
	Rust       Lang = "rust"
	Java       Lang = "java"
	C          Lang = "c"
	CPP        Lang = "cpp"
	JSON       Lang = "json"
	YAML       Lang = "yaml"
	TOML       Lang = "toml"
	Markdown   Lang = "markdown"
	SQL        Lang = "sql"
	Shell      Lang = "shell"
)

// Langs returns the languages that [Parse] reads, in the order in which they are documented.
func Langs() []Lang {
	return []Lang{Go, Python, JavaScript, TypeScript, TSX, Rust, Java, C, CPP, JSON, YAML, TOML, Markdown, SQL, Shell}
}

// parserOf returns the parser of a language, nil where there is none.
func parserOf(lang Lang) func(*builder) {
	switch lang {
	case Go:
		return parseGo
	case Python:
		return parsePython
	case JavaScript:
		return parseJavaScript
	case TypeScript:
		return parseTypeScript
	case TSX:
		return parseTSX
	case Rust:
		return parseRust
	case Java:
		return parseJava
	case C:
		return parseC
	case CPP:
		return parseCPP
	case JSON:
		return parseJSON
	case YAML:
		return parseYAML
	case TOML:
		return parseTOML
	case Markdown:
		return parseMarkdown
	case SQL:
		return parseSQL
	case Shell:
		return parseShell
	}
	return nil
}

// LangNamed returns the language that people mean by a name such as "golang" or "ts". Case does not matter.
func LangNamed(name string) (Lang, bool) {
	switch name = strings.ToLower(name); name {
	case "golang":
		name = "go"
	case "py", "python3":
		name = "python"
	case "js", "jsx", "node":
		name = "javascript"
	case "ts":
		name = "typescript"
	case "rs":
		name = "rust"
	case "c++", "cxx":
		name = "cpp"
	case "yml":
		name = "yaml"
	case "md":
		name = "markdown"
	case "sh", "bash", "zsh", "ksh":
		name = "shell"
	}
	lang := Lang(name)
	return lang, parserOf(lang) != nil
}

// Separator returns what stands between the parts of a qualified name: ".", "::", or " > " between the headings of a text.
func (l Lang) Separator() string {
	switch l {
	case Rust, CPP, C:
		return "::"
	case Markdown:
		return " > "
	}
	return "."
}

// LanguageOf returns the language of a file by its name, and where the name leaves it open by head, the first bytes of the file.
func LanguageOf(name, head string) (Lang, bool) {
	lang := langOf(strings.ToLower(path.Ext(name)), head)
	return lang, lang != ""
}

func langOf(ext, head string) Lang {
	switch ext {
	case ".go":
		return Go
	case ".py", ".pyi", ".pyw":
		return Python
	case ".js", ".jsx", ".mjs", ".cjs":
		return JavaScript
	case ".ts", ".mts", ".cts":
		return TypeScript
	case ".tsx":
		return TSX
	case ".rs":
		return Rust
	case ".java":
		return Java
	case ".c":
		return C
	case ".cc", ".cpp", ".cxx", ".c++", ".hh", ".hpp", ".hxx", ".h++", ".ipp", ".tpp":
		return CPP
	case ".h":
		return headerOf(head)
	case ".json", ".jsonc", ".json5", ".webmanifest":
		return JSON
	case ".yaml", ".yml":
		return YAML
	case ".toml":
		return TOML
	case ".md", ".markdown":
		return Markdown
	case ".sql", ".ddl":
		return SQL
	case ".sh", ".bash", ".zsh", ".ksh", ".bats", ".bashrc", ".zshrc", ".profile", ".bash_profile":
		return Shell
	case "":
		if line, _, _ := strings.Cut(head, "\n"); strings.HasPrefix(line, "#!") {
			return scriptOf(line)
		}
	}
	return ""
}

// scriptOf returns the language of the interpreter that the first line of a script names.
func scriptOf(line string) Lang {
	for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == '/' || r == ' ' }) {
		switch {
		case strings.HasPrefix(word, "python"):
			return Python
		case word == "node":
			return JavaScript
		}
		switch word {
		case "sh", "bash", "dash", "zsh", "ksh", "bats":
			return Shell
		}
	}
	return ""
}

// headerOf returns C++ for a header in which a line begins as only C++ has them, else C.
func headerOf(head string) Lang {
	for line := range strings.Lines(head) {
		line = strings.TrimLeft(line, " \t")
		for _, word := range [...]string{"class ", "namespace ", "template", "using ", "public:", "private:", "protected:", "virtual ", "constexpr ", "extern \"C++\""} {
			if strings.HasPrefix(line, word) {
				return CPP
			}
		}
	}
	return C
}
