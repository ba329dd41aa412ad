package symbolic

import (
	"fmt"

	"sakur4/internal/codesym"
	"sakur4/toolparse"
)

// scanCode passes on the symbols of source code. A symbol's value is its signature, its hash covers all its tokens without comments and spacing.
func scanCode(lang, content string, emit func(item)) error {
	f, err := parseCode(new(codesym.Parser), lang, content)
	if err == nil {
		emitCode(f, emit)
	}
	return err
}

// parseCode reads source code. Text with a syntax error gives the symbols that are left; where none is left, it is not what the parser reads.
func parseCode(p *codesym.Parser, lang, content string) (codesym.File, error) {
	l, ok := codesym.LangNamed(lang)
	if !ok {
		return codesym.File{}, fmt.Errorf("%w: %q", ErrUnsupportedLanguage, lang)
	}
	f, err := p.Parse(l, content)
	if err != nil {
		return codesym.File{}, &toolparse.SyntaxError{Parser: "code:" + lang, Line: 1, Msg: err.Error()}
	}
	if f.Partial && len(f.Symbols) == 0 {
		e := f.Errors[0]
		return codesym.File{}, &toolparse.SyntaxError{Parser: "code:" + lang, Offset: e.Offset, Line: e.Line, Msg: e.Message}
	}
	return f, nil
}

func emitCode(f codesym.File, emit func(item)) {
	for _, s := range f.Symbols {
		emit(item{kind: string(s.Kind), place: ":" + s.Qualified, value: s.Signature, hash: s.Hash, offset: s.Start, line: s.Line})
	}
}
