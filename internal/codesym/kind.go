package codesym

// Kind says what a symbol is. The set is closed: the constants below are its members, and the zero value is none.
type Kind string

// The kinds. A field, a local variable and a parameter are no symbols.
const (
	Function  Kind = "function"
	Method    Kind = "method"
	Class     Kind = "class"
	Struct    Kind = "struct"
	Enum      Kind = "enum"
	Trait     Kind = "trait"
	Interface Kind = "interface"
	Type      Kind = "type"
	Constant  Kind = "constant"
	Module    Kind = "module"
	ImportOf  Kind = "import"
	Export    Kind = "export"
)
