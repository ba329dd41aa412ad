package toolparse

import "fmt"

// SyntaxError says where an input stops being what its parser reads.
type SyntaxError struct {
	// Parser is the name of the parser, such as "json".
	Parser string
	// Offset is the byte offset of the first offending byte, from 0; Line its line, from 1.
	Offset, Line int
	// Msg says what was expected or found.
	Msg string
}

// Error returns the message with the position.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("toolparse: %s: line %d, offset %d: %s", e.Parser, e.Line, e.Offset, e.Msg)
}
