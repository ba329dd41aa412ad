// A source from its name, which rows carry.
package forge

import "sakur4/symbolic"

var (
	_, _ = symbolic.sourceNamed("json") // ERROR "sourceNamed"
	_    = symbolic.ParseSource("json") // ERROR "undefined"
)
