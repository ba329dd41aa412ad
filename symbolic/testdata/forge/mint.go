// The mint itself.
package forge

import "sakur4/symbolic"

func forge(ev symbolic.Evidence) {
	symbolic.mint(symbolic.JSON(), ev, 0, nil)       // ERROR "mint"
	symbolic.NewFact("name", "json_field", "forged") // ERROR "undefined"
	symbolic.FromRow(symbolic.Row{})                 // ERROR "undefined"
}
