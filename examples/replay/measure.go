package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"sakur4"
)

// result is what one policy did with one session. The fields are those of the package comment.
type result struct {
	Policy          string  `json:"policy"`
	File            string  `json:"file"`
	Window          int     `json:"window"`
	NewTokens       int     `json:"new_tokens"`
	PromptTokens    int     `json:"prompt_tokens"`
	PrefilledTokens int     `json:"prefilled_tokens"`
	PrefillRatio    float64 `json:"prefill_ratio"`
	// CompactionReuse is nil where nothing was compacted.
	CompactionReuse *float64 `json:"compaction_reuse"`
	Compactions     int      `json:"compactions"`
	VerbatimShare   float64  `json:"verbatim_share"`
	WorkingSetHit   float64  `json:"working_set_hit"`
	RecallHit       float64  `json:"recall_hit"`
	PinsVerbatim    float64  `json:"pins_verbatim"`
	InvalidChats    int      `json:"invalid_chats"`
	Seconds         float64  `json:"seconds"`

	// steps are the prompts, for the picture; eitherHit is the share of names that is in the prompt or recalled.
	steps     []step
	eitherHit float64
}

// step is one prompt, in tokens.
type step struct {
	prompt, cached int
	compacted      bool
}

// replay is one run of one policy over one session.
type replay struct {
	cfg     config
	session *session
	srv     server
	policy  policy
	now     func() time.Time
	result  result

	// requests are all that were sent, side requests included; differences are those whose reuse was not as modelled.
	requests    int
	differences []string
	cached      int

	sent  map[string]bool            // messages that have been sent, as JSON
	names map[string]map[string]bool // of a message, by its JSON
	rules []string                   // stated so far

	prompts, reused, sentBefore             int
	verbatim                                float64
	used, hit, recalled, either, due, stood int
	elapsed                                 time.Duration
}

func newReplay(cfg config, name string, s *session, srv server, p policy, now func() time.Time) *replay {
	r := &replay{cfg: cfg, session: s, srv: srv, policy: p, now: now, sent: map[string]bool{}, names: map[string]map[string]bool{},
		result: result{Policy: name, File: s.file, Window: cfg.window}}
	if cfg.pin != "" {
		r.rules = append(r.rules, cfg.pin)
	}
	return r
}

// all replays the session.
func (r *replay) all(ctx context.Context) error {
	for i, t := range r.session.turns {
		if t.asked {
			if err := r.ask(ctx, t); err != nil {
				return fmt.Errorf("turn %d: %w", i+1, err)
			}
		}
		start := r.now()
		if err := r.policy.add(ctx, t); err != nil {
			return fmt.Errorf("turn %d: %w", i+1, err)
		}
		r.elapsed += r.now().Sub(start)
		r.rules = append(r.rules, t.rules...)
	}
	r.finish()
	return nil
}

// ask sends the prompt that a turn answers, and measures both.
func (r *replay) ask(ctx context.Context, answer turn) error {
	start := r.now()
	p, err := r.policy.next(ctx)
	if err != nil {
		return err
	}
	if len(p.side) > 0 {
		// The request for a summary is one more prompt on the same slot, and no prompt of the session: nothing but its cost is counted.
		hints := p.hints
		hints.NCacheReuse = 0
		if _, err := r.send(ctx, p.side, hints); err != nil {
			return fmt.Errorf("summary: %w", err)
		}
	}
	c, err := r.send(ctx, p.messages, p.hints)
	if err != nil {
		return err
	}
	if err := r.policy.observe(ctx, p, c); err != nil {
		return err
	}
	r.elapsed += r.now().Sub(start)

	keys, err := keysOf(p.messages)
	if err != nil {
		return err
	}
	if p.compacted {
		before, err := r.before(ctx, p, keys)
		if err != nil {
			return err
		}
		r.result.Compactions++
		r.reused += c.cached
		r.sentBefore += max(before, c.cached)
	}
	for _, k := range keys {
		r.sent[k] = true
	}
	r.prompts++
	r.result.NewTokens += p.fresh
	r.verbatim += float64(p.verbatim) / float64(r.cfg.window)
	r.result.steps = append(r.result.steps, step{c.prompt, c.cached, p.compacted})
	if err := validChat(p.messages); err != nil {
		r.result.InvalidChats++
	}
	r.pins(p.messages)
	return r.hits(ctx, p.messages, keys, answer)
}

// send sends a prompt and adds up its cost.
func (r *replay) send(ctx context.Context, messages []sakur4.Message, hints sakur4.Hints) (cost, error) {
	c, err := r.srv.send(ctx, messages, hints, r.requests == 0)
	if err != nil {
		return c, err
	}
	r.requests++
	if c.predicted != c.cached {
		r.differences = append(r.differences, fmt.Sprintf("request %d of %d tokens: %d reused, the model says %d", r.requests, c.prompt, c.cached, c.predicted))
	}
	r.result.PromptTokens += c.prompt
	r.result.PrefilledTokens += c.prompt - c.cached
	r.cached += c.cached
	return c, nil
}

// keysOf returns each message as JSON.
func keysOf(messages []sakur4.Message) ([]string, error) {
	keys := make([]string, len(messages))
	for i, m := range messages {
		b, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		keys[i] = string(b)
	}
	return keys, nil
}

// before returns how many tokens of a compacted prompt stood in earlier prompts in the same message: the messages at its end that are new are taken
// off, and of those further in front that are new the contents.
func (r *replay) before(ctx context.Context, p prompt, keys []string) (int, error) {
	end := len(keys)
	// A fixed reply between two new turns has been sent before, elsewhere. What was sent last was something to be answered, never a reply.
	for end > 0 && (!r.sent[keys[end-1]] || p.messages[end-1].Role == "assistant") {
		end--
	}
	if end == 0 {
		return 0, nil
	}
	messages := slices.Clone(p.messages[:end])
	const mark = "x"
	marks := 0
	for i, k := range keys[:end] {
		if m := &messages[i]; !r.sent[k] && m.Content != "" {
			m.Content = mark
			marks++
		}
	}
	tokens, err := r.srv.prompt(ctx, messages, p.hints.TemplateKwargs)
	return len(tokens) - marks, err
}

// pins looks for the rules in the prompt.
func (r *replay) pins(messages []sakur4.Message) {
	for _, rule := range r.rules {
		r.due++
		if slices.ContainsFunc(messages, func(m sakur4.Message) bool { return strings.Contains(m.Content, rule) }) {
			r.stood++
		}
	}
}

// hits looks for the names that the answer uses in the prompt, and in what is recalled with its words.
func (r *replay) hits(ctx context.Context, messages []sakur4.Message, keys []string, answer turn) error {
	if len(answer.used) == 0 {
		return nil
	}
	texts, err := r.policy.recall(ctx, words(answer.Turn))
	if err != nil {
		return fmt.Errorf("recall: %w", err)
	}
	var found []string
	for _, text := range texts {
		found = names(found, text)
	}
	slices.Sort(found)
	for i, k := range keys {
		if r.names[k] == nil {
			set := map[string]bool{}
			for _, name := range namesOf(messages[i].Content, messages[i].ToolCalls) {
				set[name] = true
			}
			r.names[k] = set
		}
	}
	for _, name := range answer.used {
		in := slices.ContainsFunc(keys, func(k string) bool { return r.names[k][name] })
		_, back := slices.BinarySearch(found, name)
		r.used++
		if in {
			r.hit++
		}
		if back {
			r.recalled++
		}
		if in || back {
			r.either++
		}
	}
	return nil
}

// mostWords bounds a query in bytes: the arguments of an edit hold whole files.
const mostWords = 1000

// words are an assistant's own words: its text, or the arguments of its calls where it wrote none.
func words(t sakur4.Turn) string {
	text := strings.TrimSpace(t.Content)
	if text == "" {
		for _, c := range t.ToolCalls {
			text += strings.Join(sortedTexts(c.Arguments), " ") + " "
		}
	}
	if len(text) > mostWords {
		text = strings.ToValidUTF8(text[:mostWords], "")
	}
	return text
}

func sortedTexts(arguments string) []string {
	texts := argumentTexts(arguments)
	slices.Sort(texts)
	return texts
}

// finish works out the shares.
func (r *replay) finish() {
	s := &r.result
	s.PrefillRatio = ratio(s.PrefilledTokens, s.NewTokens)
	if s.Compactions > 0 {
		v := ratio(r.reused, r.sentBefore)
		s.CompactionReuse = &v
	}
	s.VerbatimShare = round(r.verbatim / float64(max(r.prompts, 1)))
	s.WorkingSetHit, s.RecallHit, s.eitherHit = ratio(r.hit, r.used), ratio(r.recalled, r.used), ratio(r.either, r.used)
	s.PinsVerbatim = 1
	if r.due > 0 {
		s.PinsVerbatim = ratio(r.stood, r.due)
	}
	s.Seconds = math.Round(r.elapsed.Seconds()*1000) / 1000
}

// ratio returns a ÷ b to four places, 0 where there is nothing to divide by.
func ratio(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return round(float64(a) / float64(b))
}

func round(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// The sums that must agree to the token.
var (
	errCounters = errors.New("the server's own counters differ from the sums of its replies")
	errReceipts = errors.New("the receipts differ from the sums of the replies")
)

// checkSums compares the sums of the replies with the receipts, and with what the server counted itself; either is nil where there is none. With a server
// it says what it compared.
func (r *replay) checkSums(diagnostics io.Writer, receipts, server *counters) error {
	replies := counters{r.result.PrefilledTokens, r.cached, 1}
	for _, c := range []struct {
		what string
		sum  *counters
		err  error
	}{{"receipts", receipts, errReceipts}, {"server's own counters", server, errCounters}} {
		if c.sum == nil {
			continue
		}
		if r.cfg.llama != "" {
			known := ""
			if c.sum.unit > 1 {
				known = fmt.Sprintf(" (printed to the next %d)", c.sum.unit)
			}
			fmt.Fprintf(diagnostics, "replay: %s on %s: %s: %d tokens processed, %d reused%s; replies: %d, %d\n", r.result.Policy, r.session.file, c.what,
				c.sum.processed, c.sum.cached, known, replies.processed, replies.cached)
		}
		if !c.sum.agree(replies) {
			return c.err
		}
	}
	return nil
}
