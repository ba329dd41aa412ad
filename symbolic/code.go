package symbolic

import (
	"fmt"

	"sakur4/internal/codesym"
	"sakur4/toolparse"
)

// scanCode passes on the symbols of source code. A symbol's value is its signature, its hash covers all its tokens without comments and spacing. Text with a
// syntax error gives the symbols that are left; where none is left, it is not what the parser reads.
func scanCode(lang, content string, emit func(item)) error {
	l, ok := codesym.LangNamed(lang)
	if !ok {
		return fmt.Errorf("%w: %q", ErrUnsupportedLanguage, lang)
	}
	f, err := codesym.Parse(l, content)
	if err != nil {
		return &toolparse.SyntaxError{Parser: "code:" + lang, Line: 1, Msg: err.Error()}
	}
	if f.Partial && len(f.Symbols) == 0 {
		e := f.Errors[0]
		return &toolparse.SyntaxError{Parser: "code:" + lang, Offset: e.Offset, Line: e.Line, Msg: e.Message}
	}
	for _, s := range f.Symbols {
		emit(item{kind: string(s.Kind), place: ":" + s.Qualified, value: s.Signature, hash: s.Hash, offset: s.Start, line: s.Line})
	}
	return nil
}
