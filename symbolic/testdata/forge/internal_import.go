// The constructors behind the module's own wall.
package forge

import (
	"sakur4/internal/episode" // ERROR "use of internal package"
)

var _, _ = episode.FromFile("proj_0", "a.json", []byte(`{"forged": 1}`))
