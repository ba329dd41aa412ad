package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"sakur4"
	"sakur4/evict"
	"sakur4/receipt"
)

// system begins the head of every prompt.
const system = "You are a careful engineer. Use the tools, and say what you found.\n"

// engine is this module as a policy.
type engine struct {
	eng *sakur4.Engine
	ses *sakur4.Session
	// meter counts the tokens of the recorded turns as for every other policy. Nothing of it is sent.
	meter *baseline
}

func openEngine(ctx context.Context, cfg config, srv server, shift bool) (_ *engine, err error) {
	meter, err := newBaseline(ctx, cfg, srv)
	if err != nil {
		return nil, err
	}
	meter.compact = meter.truncate
	eng, err := sakur4.Open(ctx, ":memory:", &sakur4.Options{Project: "replay", Backend: srv.backend(), Window: cfg.window, KVShift: shift,
		Policy: &evict.Policy{Trigger: cfg.trigger, Target: cfg.target}, Now: clock(), NewID: ids()})
	if err != nil {
		return nil, err
	}
	e := &engine{eng: eng, ses: eng.Session("replay"), meter: meter}
	if cfg.pin != "" {
		if _, err := e.ses.Pin(ctx, cfg.pin, sakur4.PinConstraint); err != nil {
			return nil, errors.Join(err, eng.Close())
		}
	}
	return e, nil
}

// clock returns a clock that moves one second a look, so that runs are equal.
func clock() func() time.Time {
	var mu sync.Mutex // guards now
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}
}

// ids returns the same sequence of ids in every run: they stand in stubs, where their digits decide the number of tokens.
func ids() func() uint64 {
	var mu sync.Mutex // guards r
	r := rand.NewPCG(1, 2)
	return func() uint64 {
		mu.Lock()
		defer mu.Unlock()
		return r.Uint64()
	}
}

func (e *engine) add(ctx context.Context, t turn) error {
	if err := e.meter.add(ctx, t); err != nil {
		return err
	}
	if _, err := e.ses.Commit(ctx, t.Turn); err != nil {
		return err
	}
	for _, rule := range t.rules {
		if _, err := e.ses.Pin(ctx, rule, sakur4.PinConstraint); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) next(ctx context.Context) (prompt, error) {
	w, err := e.ses.Window(ctx, sakur4.Head{System: system})
	if errors.Is(err, sakur4.ErrPending) {
		// The recorded agent went on without these results.
		w, err = e.ses.Window(ctx, sakur4.Head{System: system, CloseOpenCalls: true})
	}
	if err != nil {
		return prompt{}, err
	}
	recorded, err := e.meter.next(ctx)
	if err != nil {
		return prompt{}, err
	}
	return prompt{messages: w.Messages, hints: w.Hints, id: w.ID, compacted: w.Plan != nil, fresh: recorded.fresh,
		verbatim: w.Receipt.Tokens(receipt.RawHistory)}, nil
}

func (e *engine) observe(ctx context.Context, p prompt, c cost) error {
	_, err := e.ses.Observe(ctx, sakur4.Usage{Window: p.id, PromptTokens: c.prompt, CachedTokens: &c.cached, CompletionTokens: 1, PromptMillis: c.millis})
	return err
}

// receipts adds up what the session's receipts say, and how many of them predicted what was measured.
func (e *engine) receipts(ctx context.Context) (sum counters, all, right int, err error) {
	sum.unit = 1
	for r, err := range e.ses.Receipts(ctx) {
		if err != nil {
			return counters{}, 0, 0, err
		}
		sum.processed += r.Cache.Prefilled
		sum.cached += r.Cache.Reused
		all++
		if r.Cache.Measured && r.Cache.Reused == r.Cache.Predicted && r.Cache.Drift == 0 {
			right++
		}
	}
	return sum, all, right, nil
}

// recalled is how many hits are looked at.
const recalled = 5

func (e *engine) recall(ctx context.Context, words string) ([]string, error) {
	hits, err := e.eng.Recall(ctx, sakur4.Query{Text: words, K: recalled, Session: e.ses.ID()})
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, h := range hits.Items {
		texts = append(texts, h.Text)
	}
	return texts, nil
}

func (e *engine) close() error { return e.eng.Close() }
