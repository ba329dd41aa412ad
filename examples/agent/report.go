package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"sakur4"
	"sakur4/boundary"
	"sakur4/evict"
	"sakur4/receipt"
)

// summary is what a run did and which promises held. Token counts are the server's.
type summary struct {
	Backend     string `json:"backend"`
	Session     string `json:"session"`
	Turns       int    `json:"turns"`
	Compactions int    `json:"compactions"`
	Episodes    int    `json:"episodes"`
	Facts       int    `json:"facts"`
	Prompt      int    `json:"prompt_tokens"`
	Cached      int    `json:"cached_tokens"`
	Prefilled   int    `json:"prefilled_tokens"`
	// New is what has never stood in a prompt before: prefilled tokens beyond it were paid for again.
	New           int  `json:"new_tokens"`
	Pins          int  `json:"pins"`
	PinsVerbatim  bool `json:"pins_verbatim"`
	ByteIdentical bool `json:"byte_identical"`
	AppendOnly    bool `json:"prompts_append_only"`
	ValidChats    bool `json:"valid_chats"`
	Predicted     bool `json:"predicted_equals_measured"`
	// Folds is how many folds were closed, FoldReuse the least share of a prompt at a fold's opening that the server reused after it was closed.
	Folds     int     `json:"folds"`
	FoldReuse float64 `json:"fold_reuse"`
	// StaleCaught counts the outdated summaries that were caught and whose current value was used, on a copy of a file; StaleSource is that file,
	// StaleText what the summary said, and StaleCurrent what its source says now: of a function, its signature.
	StaleCaught  int    `json:"stale_caught"`
	StaleSource  string `json:"stale_source,omitempty"`
	StaleText    string `json:"stale_text,omitempty"`
	StaleCurrent string `json:"stale_current,omitempty"`
	// MaxShare is the largest prompt ÷ the window, DriftMax the largest difference between the server's count and ours.
	MaxShare float64 `json:"max_window_share"`
	DriftMax int     `json:"count_drift_max"`
	// Broken says how a promise was broken, the first few times.
	Broken []string `json:"broken,omitempty"`
}

// turnLine is one turn in JSON. What the server did not report is null.
type turnLine struct {
	Turn      int       `json:"turn"`
	Used      int       `json:"used"`
	Window    int       `json:"window"`
	New       int       `json:"new"`
	Predicted int       `json:"predicted"`
	Cached    *int      `json:"cached"`
	Prompt    *int      `json:"prompt"`
	Drift     *int      `json:"drift"`
	Reply     int       `json:"reply"`
	Status    string    `json:"status"`
	Cause     string    `json:"cause,omitempty"`
	Compacted bool      `json:"compacted"`
	Plan      *planLine `json:"plan,omitempty"`
	Notes     []string  `json:"notes,omitempty"`
	// What the model said and called; the script's replies are not shown.
	Said  string   `json:"said,omitempty"`
	Calls []string `json:"calls,omitempty"`
}

// planLine is a compaction in JSON.
type planLine struct {
	Before  int    `json:"before"`
	After   int    `json:"after"`
	Target  int    `json:"target"`
	Cut     int    `json:"cut"`
	Verdict string `json:"verdict"`
	Steps   int    `json:"steps"`
	Floor   string `json:"floor,omitempty"`
	Reason  string `json:"reason"`
}

// turnDone reports a turn and adds its numbers up.
func (a *agent) turnDone(w *sakur4.Window, r receipt.Receipt, reply boundary.ChatReply) error {
	s := &a.sum
	s.Turns++
	s.Backend = r.Backend
	s.New += w.Receipt.New
	a.answered(r)
	a.fold.prompted(r)
	if w.Plan != nil {
		s.Compactions++
	}
	line := turnLine{Turn: r.Turn, Used: r.Used, Window: r.Window, New: w.Receipt.New, Predicted: r.Cache.Predicted, Reply: reply.CompletionTokens,
		Status: r.Cache.Status.String(), Cause: r.Cache.Cause, Compacted: w.Plan != nil, Notes: r.Notes}
	largest := r.Used
	if r.Cache.Prompt > 0 {
		line.Prompt, line.Drift = &r.Cache.Prompt, &r.Cache.Drift
		s.Prompt += r.Cache.Prompt
		s.DriftMax = max(s.DriftMax, r.Cache.Drift, -r.Cache.Drift)
		largest = r.Cache.Prompt
	}
	if r.Cache.Measured {
		line.Cached = &r.Cache.Reused
		s.Cached += r.Cache.Reused
		s.Prefilled += r.Cache.Prefilled
	}
	if r.Window > 0 {
		s.MaxShare = max(s.MaxShare, float64(largest)/float64(r.Window))
	}
	if a.cfg.policy == policyModel {
		line.Said = reply.Content
		for _, c := range reply.ToolCalls {
			line.Calls = append(line.Calls, c.Name+" "+c.Arguments)
		}
	}
	if a.cfg.json {
		if p := w.Plan; p != nil {
			line.Plan = &planLine{p.Before, p.After, p.Target, p.Cut.Cut, p.Cut.Verdict.String(), len(p.Steps), p.Floor, p.Reason}
		}
		return writeJSON(a.out, line)
	}
	if w.Plan == nil {
		_, err := fmt.Fprintln(a.out, r.Line())
		return err
	}
	_, err := fmt.Fprintf(a.out, "\n%s\n%s\n\n", r, planText(w.Plan))
	return err
}

// planText says what a compaction takes out, rung by rung.
func planText(p *sakur4.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  compaction: %d → %d tokens (target %d), %v", p.Before, p.After, p.Target, p.Pressure)
	if p.Floor != "" {
		fmt.Fprintf(&b, ", stopped by: %s", p.Floor)
	}
	for t := evict.Masked; t <= evict.Dropped; t++ {
		n, tokens := 0, 0
		for _, s := range p.Steps {
			if s.To == t {
				n++
				tokens += s.Tokens
			}
		}
		if n > 0 {
			fmt.Fprintf(&b, "\n  → %v: %d episodes, %d tokens", t, n, tokens)
		}
	}
	fmt.Fprintf(&b, "\n  cut: %s", p.Cut.Reason)
	if p.Reason != "" {
		fmt.Fprintf(&b, "\n  why: %s", p.Reason)
	}
	return b.String()
}

// maxBroken bounds the examples in a summary.
const maxBroken = 8

// summarize makes the last checks and writes what was proven. held says that every promise was kept.
func (a *agent) summarize(ctx context.Context) (held bool, err error) {
	if err := a.check.readBack(ctx); err != nil {
		return false, err
	}
	st, err := a.eng.Status(ctx)
	if err != nil {
		return false, err
	}
	s := &a.sum
	s.Episodes, s.Facts = st.Own.Episodes, st.Own.Facts
	if s.Backend == "" {
		s.Backend = st.Backend
	}
	promises := []struct {
		name string
		held *bool
		says string
	}{
		{pinsVerbatim, &s.PinsVerbatim, fmt.Sprintf("%d pins stood word for word in every prompt", s.Pins)},
		{byteIdentical, &s.ByteIdentical, fmt.Sprintf("%d recorded turns came back byte for byte, evicted ones too", len(a.check.order))},
		{appendOnly, &s.AppendOnly, "every prompt began with the messages of the last one, compactions up to their cut"},
		{validChats, &s.ValidChats, "every prompt was a valid chat"},
		{predictedMeasured, &s.Predicted, "the reused prefix was as predicted on every turn"},
	}
	held = s.DriftMax == 0
	if !held {
		s.Broken = append(s.Broken, fmt.Sprintf("counts: the server counted up to %d tokens otherwise", s.DriftMax))
	}
	held = held && a.check.held(staleCaught)
	for _, how := range a.check.broken[staleCaught] {
		s.Broken = append(s.Broken, staleCaught+": "+how)
	}
	for _, p := range promises {
		*p.held = a.check.held(p.name)
		held = held && *p.held
		for _, how := range a.check.broken[p.name] {
			if len(s.Broken) < maxBroken {
				s.Broken = append(s.Broken, p.name+": "+how)
			}
		}
	}
	if a.cfg.json {
		return held, writeJSON(a.out, struct {
			Summary *summary `json:"summary"`
		}{s})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s, session %s: %d turns, %d compactions, %d episodes, %d facts\n", s.Backend, s.Session, s.Turns, s.Compactions, s.Episodes, s.Facts)
	fmt.Fprintf(&b, "  %d prompt tokens: %d reused, %d prefilled, of which %d were new; largest prompt %.0f %% of the window\n", s.Prompt, s.Cached, s.Prefilled,
		min(s.New, s.Prefilled), s.MaxShare*100)
	if s.Folds > 0 {
		fmt.Fprintf(&b, "  %d folds were opened and closed; after each at least %.1f %% of the prompt before its opening was reused\n", s.Folds, s.FoldReuse*100)
	}
	if s.StaleCaught > 0 {
		fmt.Fprintf(&b, "  a summary of %s was caught when a copy of it changed, and the current value used in its place:\n    [STALE] %q\n    now: %q\n", s.StaleSource, s.StaleText, s.StaleCurrent)
	}
	fmt.Fprintf(&b, "proven in this run:\n")
	for _, p := range promises {
		mark := "  yes  "
		if !*p.held {
			mark = "  NO   "
		}
		b.WriteString(mark + p.says + "\n")
	}
	fmt.Fprintf(&b, "%s%s\n", map[bool]string{true: "  yes  ", false: "  NO   "}[s.DriftMax == 0], "the server counted every prompt as we did, to the token")
	for _, how := range s.Broken {
		fmt.Fprintf(&b, "  broken: %s\n", how)
	}
	_, err = io.WriteString(a.out, b.String())
	return held, err
}

func writeJSON(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(slices.Clip(b), '\n'))
	return err
}
