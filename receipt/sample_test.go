package receipt_test

import (
	"math/rand/v2"

	"sakur4/boundary"
	"sakur4/receipt"
)

// sample is a receipt with every field set.
func sample() receipt.Receipt {
	tokens := map[receipt.Category]int{
		receipt.System: 1200, receipt.Tools: 2400, receipt.Pins: 60, receipt.Stubs: 480, receipt.RawHistory: 9000, receipt.TemplateOverhead: 310,
	}
	return receipt.Receipt{
		Session: "s1", ID: "win_7", Turn: 12, Generation: 2, Window: 32768, New: 17, Used: 13450, Messages: 41, EscapedMarks: 1, Compacted: true,
		Parts: receipt.Parts(func(c receipt.Category) int { return tokens[c] }),
		Cache: receipt.Cache{
			Status: boundary.StatusPartialReuse, Verdict: boundary.Snapped, Boundary: 12400, Checkpoint: 12288, Snap: 112, Predicted: 12288,
			Measured: true, Reused: 12287, Prefilled: 1163, Prompt: 13450, Drift: 0, Cause: "", Reason: "snapped 112 tokens back onto a checkpoint at 12288", Millis: 412.4,
		},
		Tokenizer: "o200k_base", Backend: "llama.cpp", Floor: "keep recent", Notes: []string{"a pin arrived after everything was sent"},
	}
}

// session is a made-up session that is compacted whenever it gets full.
func session(turns int) []receipt.Receipt {
	r := rand.New(rand.NewPCG(3, 1))
	var out []receipt.Receipt
	used, held, generation := 3000, 0, 0
	for turn := 1; turn <= turns; turn++ {
		used += 200 + r.IntN(1500)
		x := receipt.Receipt{Session: "refactor <store> & friends", Turn: turn, Window: 32768}
		if used > 24500 {
			used, held = 18000+r.IntN(500), 16000
			generation++
			x.Compacted = true
		}
		x.Generation, x.Used = generation, used
		x.Cache = receipt.Cache{Status: boundary.StatusPartialReuse, Measured: turn%17 != 0, Reused: held, Prefilled: used - held, Predicted: held}
		if turn == 1 {
			x.Cache.Status = boundary.StatusCold
		}
		held = used
		out = append(out, x)
	}
	return out
}
