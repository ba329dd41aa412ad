package symbolic

import (
	"fmt"
	"strconv"

	"sakur4/toolparse"
)

// maxPlaceBytes bounds the place in a fact's name. A value whose place is longer is counted and makes no fact: deep nesting would otherwise
// write names whose total length grows with the square of the input.
const maxPlaceBytes = 1024

// item is what a parser read, before it is a fact.
type item struct {
	kind string
	// place follows the call's part of the qualified name.
	place string
	value string
	// raw is the bytes that the hash covers.
	raw          string
	offset, line int
	// tooLong says that the place has no name within the bound.
	tooLong bool
}

// scan runs the parser of src and passes what it reads to emit in source order. While full reports true, items may be passed without place and value,
// to be counted only.
func scan(src FactSource, content string, full func() bool, emit func(item)) error {
	switch src.kind {
	case sourceJSON:
		return scanJSON(content, full, emit)
	case sourceExit:
		st, err := toolparse.ExitCode(content)
		if err == nil {
			emit(item{kind: kindExitCode, place: ":exit_code", value: strconv.Itoa(st.Code), raw: st.Raw, offset: st.Offset, line: st.Line})
		}
		return err
	case sourceCode:
		return fmt.Errorf("%w: %q", ErrUnsupportedLanguage, src.arg)
	}
	return ErrNoSource
}

func scanJSON(content string, full func() bool, emit func(item)) error {
	return toolparse.JSON(content, func(v toolparse.JSONValue) bool {
		it := item{kind: kindJSON, raw: v.Raw, offset: v.Offset, line: v.Line}
		if it.tooLong = v.PointerLen() > maxPlaceBytes; !it.tooLong && !full() {
			it.place, it.value = v.Pointer(), v.Text()
		}
		emit(it)
		return true
	})
}
