// A true fact changed afterwards.
package forge

import "sakur4/symbolic"

func forge(f symbolic.Fact) symbolic.Fact {
	f.row.Value = "forged"   // ERROR "row"
	f.Value() = "forged"     // ERROR "cannot assign"
	f.Row().Value = "forged" // ERROR "cannot assign"
	return f
}
