// A source of one's own.
package forge

import "sakur4/symbolic"

var (
	_                     = symbolic.FactSource{kind: 1}    // ERROR "kind"
	_                     = symbolic.FactSource{1, "", nil} // ERROR "unexported field kind"
	_ symbolic.FactSource = "json"                          // ERROR "cannot use"
	_                     = symbolic.FactSource("json")     // ERROR "cannot convert"
)
