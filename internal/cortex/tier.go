package cortex

import "fmt"

// Tier says how the callee of a call was found. The constants below are its members, the surest in front; the zero value is none.
type Tier uint8

// The tiers.
const (
	// Exactly is what the type checker of the language says.
	Exactly Tier = iota + 1
	// SameScope is a declaration in a scope around the call, or in the type that the call stands in.
	SameScope
	// ReceiverType is a method of the type that the receiver was inferred to have.
	ReceiverType
	// SameFile is a declaration of the same file.
	SameFile
	// ImportedName is a declaration of a module that the file imports it from.
	ImportedName
	// SamePackage is a declaration of the same package.
	SamePackage
	// MethodSet is a type that has all methods of an interface.
	MethodSet
	// ThroughInterface is a method that a call of the same method of an interface may reach.
	ThroughInterface
	// SameWord is the same word in a file that can name the declaration.
	SameWord
	// UniqueInProject is the only declaration of that name in the project.
	UniqueInProject
	// Ambiguous is one of several declarations of that name.
	Ambiguous
)

// String returns the tier's name.
func (t Tier) String() string {
	names := [...]string{"none", "exact", "same scope", "receiver type", "same file", "imported name", "same package", "method set", "through an interface", "same word", "unique in the project", "ambiguous"}
	if int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("Tier(%d)", uint8(t))
}

// confidence is how sure a tier is, from 0 to 1; that of an ambiguous name is shared by its candidates. The numbers say which is surer and are no measurement.
func (t Tier) confidence() float64 {
	switch t {
	case Exactly:
		return 1
	case SameScope:
		return 0.95
	case ReceiverType, SameFile, ImportedName:
		return 0.9
	case SamePackage, MethodSet:
		return 0.85
	case ThroughInterface, SameWord:
		return 0.6
	case UniqueInProject:
		return 0.5
	case Ambiguous:
		return 0.4
	}
	return 0
}
