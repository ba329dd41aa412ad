// Evidence that answers with other bytes.
package forge

import "sakur4/symbolic"

type forged struct{ symbolic.Evidence }

func (forged) Content() string { return `{"forged": true}` }

func forge(ev symbolic.Evidence) {
	symbolic.Extract(symbolic.JSON(), forged{ev})      // ERROR "cannot use"
	symbolic.Extract(symbolic.JSON(), `{"forged": 1}`) // ERROR "cannot use"
	symbolic.Read(`{"forged": 1}`, 0)                  // ERROR "cannot use"
}
