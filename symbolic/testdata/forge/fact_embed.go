// A fact hidden in a struct of one's own, with a method that says something else.
package forge

import "sakur4/symbolic"

type forged struct{ symbolic.Fact }

func (forged) Value() string { return "forged" }

var _ symbolic.Fact = forged{} // ERROR "cannot use"
