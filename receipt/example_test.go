package receipt_test

import (
	"fmt"

	"sakur4/boundary"
	"sakur4/receipt"
)

func Example() {
	tokens := map[receipt.Category]int{receipt.System: 900, receipt.Tools: 1100, receipt.RawHistory: 5800, receipt.TemplateOverhead: 200}
	r := receipt.Receipt{
		Session: "fix-the-build", Turn: 7, Window: 32768, Used: 8000,
		Parts: receipt.Parts(func(c receipt.Category) int { return tokens[c] }),
		Cache: receipt.Cache{Status: boundary.StatusPartialReuse, Predicted: 7600, Measured: true, Reused: 7600, Prefilled: 400, Millis: 150},
	}
	fmt.Println(r.Line())
	if ratio, ok := r.ReuseRatio(); ok {
		fmt.Printf("%.0f %% of the prompt came from the cache\n", 100*ratio)
	}
	// Output:
	// turn 7: 8000 of 32768 tokens (24 %), cache partial-reuse: 7600 reused (95 %), 400 prefilled in 150 ms
	// 95 % of the prompt came from the cache
}
