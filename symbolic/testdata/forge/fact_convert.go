// A fact converted from something that looks like one.
package forge

import "sakur4/symbolic"

type lookalike struct{ row symbolic.Row }

var (
	_               = symbolic.Fact(lookalike{symbolic.Row{Value: "forged"}}) // ERROR "cannot convert"
	_               = symbolic.Fact(symbolic.Row{Value: "forged"})            // ERROR "cannot convert"
	_               = symbolic.Fact("forged")                                 // ERROR "cannot convert"
	_ symbolic.Fact = symbolic.Row{Value: "forged"}                           // ERROR "cannot use"
)
