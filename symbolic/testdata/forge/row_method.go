// A row that turns itself into a fact.
package forge

import "sakur4/symbolic"

var (
	_ = symbolic.Row{}.Fact() // ERROR "Fact"
	_ = symbolic.Row{}.Mint() // ERROR "Mint"
)
