package sakur4

import (
	"context"
	"fmt"
	"slices"

	"sakur4/boundary"
	"sakur4/internal/embedded"
	"sakur4/internal/store"
	"sakur4/internal/tokens"
	"sakur4/receipt"
)

// HostedProvider describes a hosted provider for [Hosted].
type HostedProvider struct {
	// Name and Model stand in receipts; an empty Name is "hosted".
	Name, Model string
	// Window is the model's context in tokens; 0 leaves it to [Options.Window], else [DefaultWindow].
	Window int
	// Geometry is the shape of the provider's prompt cache, such as [boundary.OpenAI] or [boundary.Anthropic]; the zero value is unknown.
	Geometry boundary.Geometry
	// Tokenizer estimates sizes; nil is o200k_base.
	Tokenizer Tokenizer
}

// Hosted returns a backend for a provider that neither renders nor tokenizes for its clients: prompts are rendered with a simple template and counted
// here, so that sizes are estimates, and receipts say so. Leave a little more of [Options.Reserve] than the reply needs. The agent sends the messages
// with the provider's own client, sets cache breakpoints at [Window.Marks] where the provider has them, and tells [Session.Observe] what was reported:
//
//   - Usage.PromptTokens is the whole prompt in the provider's tokens, cached part included.
//   - Usage.CachedTokens is nil where the provider reported no cached count; a nil and a 0 mean different things.
//   - Usage.CacheWriteTokens is what was written to the cache, nil where that is not reported.
//
// What is measured is compared with what was predicted in proportion to the two counts. Each receipt's trend says by the provider's numbers alone whether
// the prefix held: an inversion, where the cached count falls while the prompt grows, betrays that something in front was changed or has expired.
//
// The error is [ErrUnsupported] where a number of p makes no sense.
func Hosted(p HostedProvider) (Backend, error) {
	g := p.Geometry
	if p.Window < 0 || !sensible(g) {
		return nil, fmt.Errorf("%w: provider with a window of %d tokens and the geometry %+v", ErrUnsupported, p.Window, g)
	}
	if p.Name == "" {
		p.Name = "hosted"
	}
	if p.Tokenizer == nil {
		p.Tokenizer = tokens.O200k()
	}
	return &hosted{p: p, local: embedded.New(embedded.Config{Window: p.Window, Tokenizer: p.Tokenizer})}, nil
}

// sensible reports whether a cache can have the shape g.
func sensible(g boundary.Geometry) bool {
	return g.Kind >= boundary.Unknown && g.Kind <= boundary.Marked && slices.IsSorted(g.Points) && g.Min >= 0 && g.Block >= 0 && (g.Block > 0 || g.Kind != boundary.Blocks) &&
		g.Marks >= 0 && g.Marks <= boundary.MaxMarks
}

// hosted is the backend of [Hosted].
type hosted struct {
	p     HostedProvider
	local *embedded.Server // renders and counts, and never chats
}

var (
	_ boundary.Backend = (*hosted)(nil)
	_ boundary.Spanner = (*hosted)(nil)
)

// Profile returns what was given of the provider, with the local template.
func (h *hosted) Profile(ctx context.Context) (boundary.Profile, error) {
	local, err := h.local.Profile(ctx)
	if err != nil {
		return boundary.Profile{}, err
	}
	local.Template.PreservesReasoning = false
	return boundary.Profile{Window: h.p.Window, Geometry: h.p.Geometry, Tokenizer: h.p.Tokenizer.Name(), Estimated: true, Name: h.p.Name, Model: h.p.Model,
		Template: local.Template}, nil
}

// Render renders with the local template.
func (h *hosted) Render(ctx context.Context, req boundary.RenderRequest) (string, error) {
	return h.local.Render(ctx, req)
}

// Tokens counts with the local vocabulary.
func (h *hosted) Tokens(ctx context.Context, text string) ([]int32, error) {
	return h.local.Tokens(ctx, text)
}

// TokenSpans counts with the local vocabulary.
func (h *hosted) TokenSpans(ctx context.Context, text string) ([]int32, []int, error) {
	return h.local.TokenSpans(ctx, text)
}

// trend compares what was reported of a prompt with what was reported of the one before. restored says that the server's slot was set back in between.
func (s *Session) trend(r *store.Reader, now *receipt.Receipt, u Usage, restored bool) error {
	row, err := r.ReceiptBefore(s.e.project, s.id, now.Turn)
	if err != nil {
		return notFoundIsNone(err)
	}
	before, err := decodeReceipt(row)
	if err != nil || before.Usage == nil {
		return err
	}
	was := boundary.Reported{Prompt: before.Usage.PromptTokens, Cached: before.Usage.CachedTokens}
	is := boundary.Reported{Prompt: u.PromptTokens, Cached: u.CachedTokens}
	rewritten := restored || now.Compacted || now.Generation != before.Receipt.Generation
	now.Cache.Trend = boundary.TrendOf(was, is, rewritten)
	if now.Cache.Trend == boundary.TrendInversion && now.Cache.Estimated && now.Cache.Cause == "" {
		now.Cache.Cause = fmt.Sprintf("cached tokens fell from %d to %d while the prompt grew from %d to %d: its prefix was changed, or has left the cache",
			*was.Cached, *is.Cached, was.Prompt, is.Prompt)
	}
	return nil
}
