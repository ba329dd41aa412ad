package llamacpp

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"sakur4/boundary"
)

const (
	// probeHead is how many tokens the two prompts of a probe begin with in common, probeGap how many the second one leaves out behind them.
	probeHead, probeGap = 16, 64
	// probeChunk is the shortest run in tokens that the server is asked to move.
	probeChunk = 32
)

// measure finds the shape of the cache by two prompts. The second one leaves out a part near the start of the first: a server that can rewind to any token reuses
// what stands before it, one that can move what it holds reuses nearly all, and one that needs a checkpoint has none so early and reuses nothing.
func (c *Client) measure(ctx context.Context, props Props) (boundary.Geometry, *boundary.CheckpointRule, error) {
	unknown := boundary.Geometry{}
	slot, err := c.emptySlot(ctx)
	if err != nil || slot < 0 {
		return unknown, nil, err
	}
	n := min(c.opts.Probe, props.ContextTokens-probeHead)
	first, err := c.probeTokens(ctx, n)
	if err != nil || len(first) < probeHead+probeGap+2*probeChunk {
		return unknown, nil, err
	}
	second := slices.Concat(first[:probeHead], first[probeHead+probeGap:])
	// What a probe leaves behind is no prefix of any chat: where the server cannot erase it, it is in nobody's way.
	defer func() { _ = c.EraseSlot(context.WithoutCancel(ctx), slot) }()
	if cached, err := c.complete(ctx, slot, first); err != nil || cached != 0 {
		return unknown, nil, passing(err)
	}
	cached, err := c.complete(ctx, slot, second)
	switch {
	case err != nil:
		return unknown, nil, passing(err)
	case cached == 0:
		rule := boundary.CheckpointRule{}.WithDefaults()
		return boundary.Geometry{Kind: boundary.Points}, &rule, nil
	case cached == probeHead:
		return boundary.Geometry{Kind: boundary.AnyToken}, nil, nil
	case cached >= len(second)-1:
		return boundary.Geometry{Kind: boundary.AnyToken, Shift: true, MinChunk: 1}, nil, nil
	}
	return unknown, nil, nil
}

// passing returns the errors that end the making of a profile; a server that refuses a probe is one whose shape stays unknown.
func passing(err error) error {
	if errors.Is(err, boundary.ErrUnsupported) || errors.Is(err, boundary.ErrInvalidRequest) {
		return nil
	}
	return err
}

// emptySlot returns a slot that holds nothing while none is working: the one of the options, or any. It is -1 where there is none, or nobody can know.
func (c *Client) emptySlot(ctx context.Context) (int, error) {
	slots, err := c.Slots(ctx)
	if err != nil {
		return -1, passing(err)
	}
	found := -1
	for _, s := range slots {
		if s.Processing {
			return -1, nil
		}
		if found < 0 && s.PromptTokens == 0 && (c.opts.Slot == nil || *c.opts.Slot == s.ID) {
			found = s.ID
		}
	}
	return found, nil
}

// probeTokens returns n tokens of a text in which nothing repeats.
func (c *Client) probeTokens(ctx context.Context, n int) ([]int32, error) {
	var b strings.Builder
	for i := range n {
		b.WriteString(strconv.Itoa(i*7919%100_003) + " ")
	}
	ids, err := c.Tokens(ctx, b.String())
	if err != nil || len(ids) < n {
		return nil, passing(err)
	}
	return ids[:n], nil
}

// complete processes a prompt and returns how much of it was reused.
func (c *Client) complete(ctx context.Context, slot int, prompt []int32) (cached int, err error) {
	body, err := encode(struct {
		Prompt  []int32 `json:"prompt"`
		Predict int     `json:"n_predict"`
		Cache   bool    `json:"cache_prompt"`
		Slot    int     `json:"id_slot"`
		Reuse   int     `json:"n_cache_reuse"`
	}{prompt, 1, true, slot, probeChunk})
	if err != nil {
		return 0, err
	}
	var out struct {
		Timings struct {
			Cached int `json:"cache_n"`
		} `json:"timings"`
	}
	err = c.call(ctx, "/completion", body, &out)
	return out.Timings.Cached, err
}
