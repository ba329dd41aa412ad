// Evidence made from loose bytes.
package forge

import "sakur4/symbolic"

var (
	_                   = symbolic.Evidence{content: "forged", valid: true}            // ERROR "content"
	_ symbolic.Evidence = "forged"                                                     // ERROR "cannot use"
	_                   = symbolic.Evidence("forged")                                  // ERROR "cannot convert"
	_                   = symbolic.Evidence{"", "", "", "", "", "forged", false, true} // ERROR "unexported field"
)
