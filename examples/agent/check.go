package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"sakur4"
	"sakur4/boundary"
	"sakur4/receipt"
)

// checker holds the package to its promises, by what was sent and what came back. A promise that was broken once stays broken.
type checker struct {
	eng *sakur4.Engine

	digests map[sakur4.EpisodeID]string
	order   []sakur4.EpisodeID

	last  []json.RawMessage // the messages of the last prompt
	reply int               // tokens of the last reply
	asked bool              // a request was measured before: what the slot holds is known

	broken map[string][]string // promise → how, in order
}

// The promises.
const (
	pinsVerbatim      = "pins_verbatim"
	byteIdentical     = "byte_identical"
	appendOnly        = "prompts_append_only"
	validChats        = "valid_chats"
	predictedMeasured = "predicted_equals_measured"
	staleCaught       = "stale_caught"
)

func newChecker(eng *sakur4.Engine) *checker {
	return &checker{eng: eng, digests: map[sakur4.EpisodeID]string{}, broken: map[string][]string{}}
}

func (c *checker) held(promise string) bool { return len(c.broken[promise]) == 0 }

func (c *checker) breaks(promise, format string, args ...any) {
	c.broken[promise] = append(c.broken[promise], fmt.Sprintf(format, args...))
}

// turnDigest is the digest of everything that a turn records.
func turnDigest(t sakur4.Turn) string {
	return textDigest(t.Role, t.Content, t.Reasoning, t.ToolCalls, t.ToolCallID)
}

func episodeDigest(e sakur4.Episode) string {
	return textDigest(e.Role, e.Content, e.Reasoning, e.ToolCalls, e.ToolCallID)
}

func textDigest(role sakur4.Role, content, reasoning string, calls []sakur4.ToolCall, callID string) string {
	h := sha256.New()
	part := func(s string) { fmt.Fprintf(h, "%d:%s", len(s), s) }
	part(string(role))
	part(content)
	part(reasoning)
	part(callID)
	for _, c := range calls {
		part(c.ID)
		part(c.Name)
		part(c.Arguments)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// committed keeps what was recorded.
func (c *checker) committed(id sakur4.EpisodeID, t sakur4.Turn) {
	c.digests[id] = turnDigest(t)
	c.order = append(c.order, id)
}

// readBack reads every recorded turn of this run again and compares it, wherever eviction has put it.
func (c *checker) readBack(ctx context.Context) error {
	for _, id := range c.order {
		e, err := c.eng.Episode(ctx, id)
		if err != nil {
			return err
		}
		if episodeDigest(e) != c.digests[id] {
			c.breaks(byteIdentical, "episode %s is not what was recorded", id)
		}
	}
	return nil
}

// checkPrompt checks one prompt before it is sent.
func (a *agent) checkPrompt(ctx context.Context, w *sakur4.Window, messages json.RawMessage) error {
	c := a.check
	var raw []json.RawMessage
	var chat []sent
	if err := json.Unmarshal(messages, &raw); err != nil {
		return err
	}
	if err := json.Unmarshal(messages, &chat); err != nil {
		return err
	}
	if err := validChat(chat); err != nil {
		c.breaks(validChats, "turn %d: %v", w.Receipt.Turn, err)
	}
	pins, err := a.ses.Pins(ctx)
	if err != nil {
		return err
	}
	for _, p := range pins {
		if !shown(chat, p.Text) {
			c.breaks(pinsVerbatim, "turn %d: pin %s is not in the prompt", w.Receipt.Turn, p.ID)
		}
	}
	a.sum.Pins = len(pins)
	return a.checkPrefix(ctx, w, raw)
}

func shown(chat []sent, text string) bool {
	for _, m := range chat {
		if strings.Contains(m.text(), text) {
			return true
		}
	}
	return false
}

// checkPrefix holds a prompt to the last one: its first messages are the last one's, byte for byte. After a compaction that counts up to the cut.
func (a *agent) checkPrefix(ctx context.Context, w *sakur4.Window, now []json.RawMessage) error {
	c := a.check
	last := c.last
	c.last = now
	same := 0
	for same < len(last) && same < len(now) && bytes.Equal(last[same], now[same]) {
		same++
	}
	if same == len(last) {
		return nil
	}
	if a.fold.closed && same >= a.fold.messages-1 {
		return nil // a closed fold is the one other place where a prompt may change: from where it was opened
	}
	if w.Plan == nil {
		c.breaks(appendOnly, "turn %d: message %d of %d was changed without a compaction", w.Receipt.Turn, same, len(last))
		return nil
	}
	// The first message that differs must reach beyond the cut: whatever lies before the cut is as it was. It is measured with what belongs to it,
	// because a server renders no chat that ends with calls, and goes on with one that ends with the assistant's words.
	end, err := a.size(ctx, last[:complete(last, same+1)])
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		c.breaks(appendOnly, "turn %d: not proven, the server does not measure: %v", w.Receipt.Turn, err)
	case end <= w.Plan.Cut.Cut:
		c.breaks(appendOnly, "turn %d: message %d ends at token %d and was changed, the cut is at %d", w.Receipt.Turn, same, end, w.Plan.Cut.Cut)
	}
	return nil
}

// complete returns the least length from n on at which the messages end with somebody waiting for a reply.
func complete(messages []json.RawMessage, n int) int {
	open := 0
	for i, raw := range messages {
		var m sent
		if json.Unmarshal(raw, &m) != nil {
			break
		}
		switch m.Role {
		case "assistant":
			open = len(m.Calls)
		case "tool":
			open--
		}
		if i+1 >= n && open <= 0 && m.Role != "assistant" {
			return i + 1
		}
	}
	return len(messages)
}

// size counts messages with the server's own template and tokenizer.
func (a *agent) size(ctx context.Context, messages []json.RawMessage) (int, error) {
	list := append(append([]byte{'['}, bytes.Join(raws(messages), []byte(","))...), ']')
	text, err := a.eng.Backend().Render(ctx, boundary.RenderRequest{Messages: list, Tools: a.head.Tools})
	if err != nil {
		return 0, err
	}
	ids, err := a.eng.Backend().Tokens(ctx, text)
	return len(ids), err
}

func raws(in []json.RawMessage) [][]byte {
	out := make([][]byte, len(in))
	for i, m := range in {
		out[i] = m
	}
	return out
}

// measured compares the prediction of the reused prefix with what the server reports. They may differ by the last reply, which the server may hold
// and which the script replaces by its own words, and at a compaction by one token, which is always evaluated.
//
// The first request of a run is not compared: what the slot holds from before is not known. Nor is a count that was not reported.
func (c *checker) measured(r receipt.Receipt, reply int) {
	allowed := c.reply + 1
	if r.Compacted {
		allowed = 1
	}
	if diff := r.Cache.Predicted - r.Cache.Reused; c.asked && r.Cache.Measured && max(diff, -diff) > allowed {
		c.breaks(predictedMeasured, "turn %d: predicted %d, measured %d, allowed %d", r.Turn, r.Cache.Predicted, r.Cache.Reused, allowed)
	}
	c.asked, c.reply = true, reply
}
