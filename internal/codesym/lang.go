package codesym

import (
	"path"
	"strings"
)

// Lang names a language. The constants below are the languages that [Parse] reads; the zero value is none.
type Lang string

// The languages.
const (
	Go Lang = "go"
)

// Langs returns the languages that [Parse] reads, in the order in which they are documented.
func Langs() []Lang { return []Lang{Go} }

// parserOf returns the parser of a language, nil where there is none.
func parserOf(lang Lang) func(*builder) {
	switch lang {
	case Go:
		return parseGo
	}
	return nil
}

// LangNamed returns the language that people mean by a name such as "golang" or "ts". Case does not matter.
func LangNamed(name string) (Lang, bool) {
	switch name = strings.ToLower(name); name {
	case "golang":
		name = "go"
	}
	lang := Lang(name)
	return lang, parserOf(lang) != nil
}

// Separator returns what stands between the parts of a qualified name: "." or "::".
func (l Lang) Separator() string { return "." }

// LanguageOf returns the language of a file by its name, and where the name leaves it open by head, the first bytes of the file.
func LanguageOf(name, head string) (Lang, bool) {
	lang := langOf(strings.ToLower(path.Ext(name)), head)
	return lang, lang != ""
}

func langOf(ext, head string) Lang {
	switch ext {
	case ".go":
		return Go
	}
	return ""
}
