package cortex

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"sakur4/internal/codesym"
)

// Exported reports whether other packages see the i-th symbol of a file, by the rules of its language as far as the declaration shows them.
func Exported(f codesym.File, i int) bool {
	for ; i >= 0; i = f.Symbols[i].Parent {
		s := &f.Symbols[i]
		if s.Kind == codesym.Module && f.Lang != codesym.Rust {
			continue // a package or namespace hides nothing
		}
		if !exported(f.Lang, s) {
			return false
		}
	}
	return true
}

func exported(lang codesym.Lang, s *codesym.Symbol) bool {
	if s.Kind == codesym.ImportOf {
		return false
	}
	words := strings.Fields(s.Signature)
	has := func(list ...string) bool {
		for _, w := range words {
			for _, x := range list {
				if w == x {
					return true
				}
			}
			if strings.ContainsAny(w, "({=") {
				return false // the modifiers are over
			}
		}
		return false
	}
	switch lang {
	case codesym.Go:
		for part := range strings.SplitSeq(s.Qualified, ".") {
			if r, _ := utf8.DecodeRuneInString(part); !unicode.IsUpper(r) && s.Kind != codesym.Module {
				return false
			}
		}
		return true
	case codesym.Python:
		return !strings.HasPrefix(s.Name, "_") || strings.HasPrefix(s.Name, "__") && strings.HasSuffix(s.Name, "__")
	case codesym.JavaScript, codesym.TypeScript, codesym.TSX:
		if s.Parent >= 0 || s.Kind == codesym.Method {
			return !has("private", "protected") && !strings.HasPrefix(s.Name, "#")
		}
		return s.Kind == codesym.Export || has("export")
	case codesym.Rust:
		return s.Kind == codesym.Trait || len(words) > 0 && strings.HasPrefix(words[0], "pub")
	case codesym.Java:
		return s.Kind == codesym.Module || has("public", "protected")
	case codesym.C, codesym.CPP:
		return !has("static")
	}
	return true
}
