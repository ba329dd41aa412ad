// A fact written down by its fields.
package forge

import "sakur4/symbolic"

var (
	_ = symbolic.Fact{row: symbolic.Row{Value: "forged"}} // ERROR "row"
	_ = symbolic.Fact{symbolic.Row{Value: "forged"}}      // ERROR "unexported field row"
)
