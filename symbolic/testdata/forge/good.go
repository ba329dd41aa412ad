// What an agent may do: name the types, hold their zero values, copy rows, ask for facts.
package forge

import (
	"encoding/json"
	"regexp"

	"sakur4/semantic"
	"sakur4/symbolic"
)

var (
	fact   symbolic.Fact
	source = symbolic.JSON()
	custom = symbolic.Regexp(regexp.MustCompile(`v(\d+)`))
	row    = symbolic.Row{FactID: "sym_0", Value: "claimed"}
	anchor semantic.Anchor
	entry  = semantic.Entry{Text: "an interpretation"}
)

func use(ev symbolic.Evidence) ([]symbolic.Fact, error) {
	if _, err := symbolic.Rederive(row, ev); err != nil {
		return nil, err
	}
	_ = json.Unmarshal([]byte(`{"row":{"Value":"forged"}}`), &fact) // compiles, and leaves the zero value as it is
	return symbolic.Extract(source, ev)
}
