package codesym

// Kind says what a symbol is. The set is closed: the constants below are its members, and the zero value is none.
//
// Languages that declare nothing use some of them too. A heading of Markdown, a table of TOML, and a key of JSON or YAML that has keys of its own are modules; another key is a
// constant. SQL creates types (tables, views, types, domains), functions (routines, triggers, rules), modules (schemas, packages), imports (extensions) and constants (indexes and
// the rest). A shell script has functions, constants (read-only variables, and those outside of functions with a name of capitals) and imports (files that it reads).
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
