// A model that says it is a parser.
package forge

import "sakur4/symbolic"

type model struct{ symbolic.FactSource }

func (model) String() string { return "json" }

func forge(ev symbolic.Evidence) {
	symbolic.Extract(model{}, ev)                     // ERROR "cannot use"
	symbolic.Extract(func() string { return "" }, ev) // ERROR "cannot use"
}
