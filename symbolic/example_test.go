package symbolic_test

import (
	"errors"
	"fmt"

	"sakur4/symbolic"
)

// The evidence of a recorded tool turn is what the engine has after a commit.
func ExampleRead() {
	ev := recorded("list_pools", `{"host": "a"}`, `{"pools": 3, "busy": ["p1"]}`)
	reading := symbolic.Read(ev, 0)
	fmt.Println(reading.Summary)
	for _, f := range reading.Facts {
		fmt.Println(f)
	}
	fmt.Println(symbolic.Read(recorded("ask", "{}", "Three pools, I think."), 0).Summary)
	// Output:
	// json: 2 values
	// json_field list_pools#c229da38/pools = 3
	// json_field list_pools#c229da38/busy/0 = p1
	// no structure detected
}

func ExampleRederive() {
	ev := recorded("list_pools", `{}`, `{"pools": 3}`)
	facts, _ := symbolic.Extract(symbolic.JSON(), ev)
	row := facts[0].Row()

	again, err := symbolic.Rederive(row, ev)
	fmt.Println(again == facts[0], err)

	row.Value = "4" // a row is a claim: anybody can write one down
	_, err = symbolic.Rederive(row, ev)
	fmt.Println(errors.Is(err, symbolic.ErrStale))
	// Output:
	// true <nil>
	// true
}
