package main

import (
	"encoding/json"
	"slices"
	"testing"

	"sakur4"
	"sakur4/boundary"
	"sakur4/receipt"
)

// TestCheckerFinds breaks each promise on purpose: a checker that cannot fail proves nothing.
func TestCheckerFinds(t *testing.T) {
	t.Parallel()
	type prompts struct{ first, second []sakur4.Message }
	for _, c := range []struct {
		name    string
		change  func(p *prompts)
		promise string // "" for none
	}{
		{"nothing", func(*prompts) {}, ""},
		{"changed message", func(p *prompts) { p.second[1].Content += "!" }, appendOnly},
		{"shorter prompt", func(p *prompts) { p.second = p.second[:1] }, appendOnly},
		{"other escapes", func(p *prompts) { p.second[0].Content += "\u200b" }, appendOnly},
		{"lost pin", func(p *prompts) {
			for _, list := range [][]sakur4.Message{p.first, p.second} {
				list[0].Content = "no pin"
			}
		}, pinsVerbatim},
		{"orphan result", func(p *prompts) { p.second[len(p.second)-1].ToolCallID = "other" }, validChats},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := opened(t, tree(t, 1))
			ctx := t.Context()
			if _, err := a.ses.Pin(ctx, "Never sing.", sakur4.PinConstraint); err != nil {
				t.Fatal(err)
			}
			window := func(turns ...sakur4.Turn) *sakur4.Window {
				t.Helper()
				for _, turn := range turns {
					if _, err := a.commit(ctx, turn); err != nil {
						t.Fatal(err)
					}
				}
				w, err := a.ses.Window(ctx, a.head)
				if err != nil {
					t.Fatal(err)
				}
				return w
			}
			w1 := window(sakur4.Turn{Role: sakur4.RoleUser, Content: "Look."})
			w2 := window(sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: "1", Name: "list_files", Arguments: "{}"}}},
				sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: "1", Content: "nothing"})
			p := prompts{slices.Clone(w1.Messages), slices.Clone(w2.Messages)}
			c.change(&p)
			for i, list := range [][]sakur4.Message{p.first, p.second} {
				if err := a.checkPrompt(ctx, []*sakur4.Window{w1, w2}[i], sakur4.MarshalMessages(list)); err != nil {
					t.Fatal(err)
				}
			}
			if c.promise == "" && len(a.check.broken) > 0 || c.promise != "" && a.check.held(c.promise) {
				t.Errorf("broken = %v, want %q", a.check.broken, c.promise)
			}
		})
	}
}

// TestCheckerCut shows that a compaction excuses changes behind its cut alone.
func TestCheckerCut(t *testing.T) {
	t.Parallel()
	a := opened(t, tree(t, 1))
	list := []json.RawMessage{json.RawMessage(`{"role":"user","content":"one"}`), json.RawMessage(`{"role":"assistant","content":"two"}`), json.RawMessage(`{"role":"user","content":"three"}`)}
	end, err := a.size(t.Context(), list[:1])
	if err != nil {
		t.Fatal(err)
	}
	changed := slices.Clone(list)
	changed[0] = json.RawMessage(`{"role":"user","content":"other"}`)
	for _, c := range []struct {
		cut  int
		want bool
	}{{0, true}, {end - 1, true}, {end, false}, {end + 5, false}} {
		a.check = newChecker(a.eng)
		a.check.last = list
		if err := a.checkPrefix(t.Context(), &sakur4.Window{Plan: &sakur4.Plan{Cut: boundary.Plan{Cut: c.cut}}}, changed); err != nil {
			t.Fatal(err)
		}
		if got := a.check.held(appendOnly); got != c.want {
			t.Errorf("first message (%d tokens) changed, cut at %d: held = %v, want %v", end, c.cut, got, c.want)
		}
	}
}

func TestCheckerMeasured(t *testing.T) {
	t.Parallel()
	r := func(predicted, reused int, compacted, measured bool) receipt.Receipt {
		return receipt.Receipt{Compacted: compacted, Cache: receipt.Cache{Predicted: predicted, Reused: reused, Measured: measured}}
	}
	for _, c := range []struct {
		name string
		r    receipt.Receipt
		want bool
	}{
		{"equal", r(100, 100, false, true), true},
		{"within the reply", r(100, 111, false, true), true},
		{"below by the reply", r(111, 100, false, true), true},
		{"beyond the reply", r(100, 112, false, true), false},
		{"far below", r(100, 0, false, true), false},
		{"compaction, one off", r(100, 99, true, true), true},
		{"compaction, two off", r(100, 98, true, true), false},
		{"not reported", r(100, 0, false, false), true},
	} {
		k := newChecker(nil)
		k.measured(r(0, 500, false, true), 10) // the first request is not compared
		k.measured(c.r, 0)
		if got := k.held(predictedMeasured); got != c.want {
			t.Errorf("%s: held = %v, want %v", c.name, got, c.want)
		}
	}
}

func TestCheckerReadsBack(t *testing.T) {
	t.Parallel()
	a := opened(t, tree(t, 1))
	c, err := a.commit(t.Context(), sakur4.Turn{Role: sakur4.RoleUser, Content: "bytes \x00\xff"})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.check.readBack(t.Context()); err != nil || !a.check.held(byteIdentical) {
		t.Fatalf("readBack = %v, broken %v; want nothing", err, a.check.broken)
	}
	a.check.committed(c.Episode, sakur4.Turn{Role: sakur4.RoleUser, Content: "bytes \x00\xfe"})
	if err := a.check.readBack(t.Context()); err != nil || a.check.held(byteIdentical) {
		t.Errorf("readBack of other bytes = %v, broken %v; want it broken", err, a.check.broken)
	}
}
