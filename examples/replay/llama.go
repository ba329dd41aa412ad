package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"sakur4"
	"sakur4/boundary"
	"sakur4/boundary/llamacpp"
)

// llama is a llama.cpp server, with the model of its cache beside it.
type llama struct {
	client *llamacpp.Client
	url    string
	key    string
	slot   slot
	// mark is the control token that opens a message, "" if it is not known. Text is cut in front of it: the tokens of a piece do not depend on the pieces
	// around it, and most pieces of a prompt stood in the one before.
	mark   string
	pieces map[string][]int32
}

func openLlama(ctx context.Context, cfg config) (*llama, error) {
	l := &llama{url: strings.TrimRight(cfg.llama, "/"), key: os.Getenv("SAKUR4_LLAMA_KEY")}
	number := 0
	opts := &llamacpp.Options{APIKey: l.key, Slot: &number}
	if cfg.rule != (boundary.CheckpointRule{}) {
		opts.Rule = &cfg.rule
	}
	var err error
	if l.client, err = llamacpp.New(l.url, opts); err != nil {
		return nil, err
	}
	p, err := l.client.Profile(ctx)
	if err != nil {
		return nil, err
	}
	if p.Window > 0 && p.Window < cfg.window {
		return nil, fmt.Errorf("the server's context of %d tokens is smaller than -window %d", p.Window, cfg.window)
	}
	if p.Geometry.Kind == boundary.Unknown {
		// Its model file cannot be read. Moving is asked for by the prompts of one policy alone, and only where the engine believes in it.
		p.Geometry.Shift, p.Geometry.MinChunk = true, 1
	}
	l.pieces = map[string][]int32{}
	for _, c := range p.Template.ControlTexts {
		if strings.HasPrefix(p.Template.UserHeader, c) && len(c) > len(l.mark) {
			l.mark = c
		}
	}
	l.slot, err = newSlot(ctx, l.client, p)
	return l, err
}

func (l *llama) backend() boundary.Backend { return l.client }

func (l *llama) prompt(ctx context.Context, messages []sakur4.Message, kwargs json.RawMessage) ([]int32, error) {
	text, err := renderPrompt(ctx, l.client, messages, kwargs)
	if err != nil {
		return nil, err
	}
	var tokens []int32
	for text != "" {
		piece := text
		if l.mark != "" {
			if i := strings.Index(text[1:], l.mark); i >= 0 {
				piece = text[:i+1]
			}
		}
		text = text[len(piece):]
		ids, known := l.pieces[piece]
		if !known {
			if ids, err = l.client.Tokens(ctx, piece); err != nil {
				return nil, err
			}
			l.pieces[strings.Clone(piece)] = ids
		}
		tokens = append(tokens, ids...)
	}
	return tokens, nil
}

func (l *llama) send(ctx context.Context, messages []sakur4.Message, hints sakur4.Hints, first bool) (cost, error) {
	prompt, err := l.prompt(ctx, messages, hints.TemplateKwargs)
	if err != nil {
		return cost{}, err
	}
	hints.CachePrompt = !first
	fields, err := json.Marshal(hints)
	if err != nil {
		return cost{}, err
	}
	fields = append(fields[:len(fields)-1], `,"temperature":0}`...)
	reply, err := l.client.Chat(ctx, boundary.ChatRequest{Messages: sakur4.MarshalMessages(messages), Fields: fields, MaxTokens: 1}, nil)
	switch {
	case err != nil:
		return cost{}, err
	case reply.CachedTokens == nil:
		return cost{}, errors.New("the server does not report how much of a prompt it reused")
	case reply.PromptTokens != len(prompt):
		return cost{}, fmt.Errorf("the server counts %d tokens in a prompt that renders to %d", reply.PromptTokens, len(prompt))
	}
	c := cost{prompt: len(prompt), cached: *reply.CachedTokens, millis: reply.PromptMillis}
	c.predicted = l.slot.process(prompt, hints.NCacheReuse, first)
	l.slot.cache.Observe(c.predicted, c.cached)
	return c, nil
}

func (l *llama) close() error { return nil }

// counters are sums in tokens. A server prints its own with six digits: from a million on they are known to the next unit.
type counters struct{ processed, cached, unit int }

// since returns what was counted after before.
func (c counters) since(before counters) counters {
	return counters{c.processed - before.processed, c.cached - before.cached, max(c.unit, before.unit)}
}

// agree reports whether two sums are the same, as far as they are known.
func (c counters) agree(o counters) bool {
	slack := max(c.unit, o.unit)
	if slack <= 1 {
		slack = 0
	}
	return max(c.processed-o.processed, o.processed-c.processed) <= slack && max(c.cached-o.cached, o.cached-c.cached) <= slack
}

// maxMetrics bounds the answer in bytes.
const maxMetrics = 1 << 20

// counters reads /metrics; nil where the server was started without.
func (l *llama) counters(ctx context.Context) (_ *counters, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.url+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	if l.key != "" {
		req.Header.Set("Authorization", "Bearer "+l.key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode != http.StatusOK {
		return nil, nil
	}
	return parseCounters(io.LimitReader(resp.Body, maxMetrics))
}

// parseCounters reads the two sums; nil where they are not both there.
func parseCounters(r io.Reader) (*counters, error) {
	var c counters
	found := 0
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		name, value, ok := strings.Cut(sc.Text(), " ")
		if !ok {
			continue
		}
		var to *int
		switch name {
		case "llamacpp:prompt_tokens_total":
			to = &c.processed
		case "llamacpp:prompt_tokens_cached_total":
			to = &c.cached
		default:
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || !(v >= 0 && v <= 1<<53) {
			return nil, fmt.Errorf("/metrics: %s %q is no count", name, value)
		}
		*to = int(v)
		c.unit = max(c.unit, printedUnit(value))
		found++
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("/metrics: %w", err)
	}
	if found < 2 {
		return nil, nil
	}
	return &c, nil
}

// printedUnit returns the unit of the last digit of a printed number: 10 for 1.23456e+06.
func printedUnit(value string) int {
	mantissa, exponent, ok := strings.Cut(strings.ToLower(strings.TrimSpace(value)), "e")
	if !ok {
		return 1
	}
	n, err := strconv.Atoi(exponent)
	const digits = 6 // what a printer of floating-point numbers gives by default; zeros at the end are left out
	if err != nil || len(mantissa) > digits+1 || n < digits || n > 15 {
		return 1
	}
	unit := 1
	for range n - digits + 1 {
		unit *= 10
	}
	return unit
}
