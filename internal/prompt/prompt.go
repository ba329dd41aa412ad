// Package prompt counts the prompt that a server makes of a chat: its tokens, and to which message and category each of them belongs.
package prompt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sakur4/boundary"
	"sakur4/internal/episode"
	"sakur4/internal/turn"
	"sakur4/receipt"
)

// Item is one message with the categories of its content.
type Item struct {
	Message turn.Message
	Pieces  []turn.Piece
}

// Count is what one message takes: its tokens and those of each category. A token belongs to the message and the category in which its
// first byte lies; what lies in no content is template overhead.
type Count struct {
	Tokens int
	Parts  [receipt.TemplateOverhead + 1]int
}

// State is a counted prompt. It is immutable; a longer one is made by [Counter.Count].
type State struct {
	// Counts has one element a message, in order.
	Counts []Count
	// IDs are the tokens of the messages, Gen those of the header of the reply.
	IDs, Gen []int32
	// Full says that the whole prompt was rendered for this count, not only what is new.
	Full bool
	// Estimated says that the template changes what messages say, so that it is not known which token belongs to which of them: each has a share by the length of what it
	// says. The total is exact all the same.
	Estimated bool
	sum       [receipt.TemplateOverhead + 1]int // of Counts
	items     int
	last      episode.Role
}

// Total returns the size of the prompt in tokens, the header of the reply included.
func (s *State) Total() int { return len(s.IDs) + len(s.Gen) }

// Prompt returns the tokens of the prompt as they are sent.
func (s *State) Prompt() []int32 {
	out := make([]int32, 0, s.Total())
	return append(append(out, s.IDs...), s.Gen...)
}

// Parts returns the tokens of each category over the whole prompt.
func (s *State) Parts() []receipt.Part {
	sum := s.sum
	sum[receipt.TemplateOverhead] += len(s.Gen)
	return receipt.Parts(func(c receipt.Category) int { return sum[c] })
}

// Counter counts prompts on one backend. It is not safe for concurrent use.
type Counter struct {
	b        boundary.Backend
	span     boundary.Spanner
	eager    Eager // nil where the backend is none
	controls []string
	tools    json.RawMessage
	kwargs   json.RawMessage

	toolsText string           // what the tool list adds to the text
	toolsFor  string           // the head that toolsText was found with
	base      map[class]string // texts of the short chats in front of new messages
	shapes    map[string]shape // of new messages, by their names
	gens      map[episode.Role][]int32
	verified  map[class]bool
	met, odd  int  // texts that were rendered as they were foreseen, and otherwise
	failed    bool // counting the new messages alone went wrong once: count in full
}

// shape is how new messages are rendered whose roles and fields are these.
type shape struct {
	// skeleton is their text with a mark in each field.
	skeleton string
	// alone says that their text is the same without a short chat in front of them, behind before: then the server has less to render.
	alone  bool
	before string
}

// class says after what the new messages stand.
type class int

const (
	afterUser      class = iota + 1 // new messages begin with an assistant turn
	afterAssistant                  // … with a user turn
)

// New returns a counter for chats with that tool list on a backend. controls are the texts of its control tokens.
func New(b boundary.Backend, controls []string, tools, kwargs json.RawMessage) *Counter {
	c := &Counter{b: b, controls: controls, tools: tools, kwargs: kwargs, base: map[class]string{}, shapes: map[string]shape{},
		gens: map[episode.Role][]int32{}, verified: map[class]bool{}}
	c.span, _ = b.(boundary.Spanner)
	c.eager, _ = b.(Eager)
	return c
}

// Count counts the chat of items. Where prev is the count of its first messages, only the new ones are rendered and counted, once that has
// been seen to agree with a full count. keep is the number of messages of prev that are unchanged; prev may be nil.
func (c *Counter) Count(ctx context.Context, prev *State, keep int, items []Item) (*State, error) {
	if prev != nil && keep == prev.items && keep == len(items) {
		return prev, nil
	}
	can := prev != nil && keep == prev.items && keep < len(items) && !c.failed
	var k class
	if can {
		switch items[keep].Message.Role {
		case episode.Assistant:
			k = afterUser
		case episode.User:
			k = afterAssistant
		default:
			can = false
		}
	}
	if can && c.verified[k] {
		s, ok, err := c.extend(ctx, prev, items[keep:], k)
		if err != nil || ok {
			return s, err
		}
		can = false
	}
	full, err := c.full(ctx, items)
	if err != nil || !can {
		return full, err
	}
	s, ok, err := c.extend(ctx, prev, items[keep:], k)
	if err != nil {
		return nil, err
	}
	if ok && slices.Equal(s.IDs, full.IDs) && slices.Equal(s.Gen, full.Gen) {
		c.verified[k] = true
	}
	return full, nil
}

// Distrust makes every later count a full one: the server counted otherwise than we did.
func (c *Counter) Distrust() { c.failed = true }

func (c *Counter) render(ctx context.Context, items []Item, tools json.RawMessage, gen bool) (string, error) {
	return c.renderJSON(ctx, encode(items), tools, gen)
}

func (c *Counter) renderJSON(ctx context.Context, messages, tools json.RawMessage, gen bool) (string, error) {
	return c.b.Render(ctx, boundary.RenderRequest{Messages: messages, Tools: tools, GenerationPrompt: gen, TemplateKwargs: c.kwargs})
}

// encode returns the messages in OpenAI form.
func encode(items []Item) json.RawMessage {
	ms := make([]turn.Message, len(items))
	bytes := 0
	for i, it := range items {
		ms[i] = it.Message
		bytes += 128 + len(it.Message.Content) + len(it.Message.Reasoning)
		for _, call := range it.Message.Calls {
			bytes += 128 + len(call.Arguments)
		}
	}
	return turn.AppendArray(make([]byte, 0, bytes+bytes/16), ms)
}

// full renders and counts the whole prompt.
func (c *Counter) full(ctx context.Context, items []Item) (*State, error) {
	messages := encode(items)
	text, err := c.renderJSON(ctx, messages, c.tools, false)
	if err != nil {
		return nil, err
	}
	withGen, err := c.renderJSON(ctx, messages, c.tools, true)
	if err != nil {
		return nil, err
	}
	skeleton, err := c.render(ctx, marked(items), c.tools, false)
	if err != nil {
		return nil, err
	}
	if err := c.findTools(ctx, items); err != nil {
		return nil, err
	}
	s := &State{Full: true, items: len(items), last: items[len(items)-1].Message.Role}
	gen, isPrefix := strings.CutPrefix(withGen, text)
	if !isPrefix || (gen != "" && !c.startsWithControl(gen)) {
		text, gen = withGen, ""
	}
	ids, ends, err := c.spans(ctx, text)
	if err != nil {
		return nil, err
	}
	s.IDs = ids
	p := layout(text, skeleton, items, c.controls, c.toolsText)
	s.Counts, s.Estimated = assign(ends, p, len(items)), p.estimated
	s.add(s.Counts)
	if gen != "" {
		if s.Gen, err = c.b.Tokens(ctx, gen); err != nil {
			return nil, err
		}
	}
	c.gens[s.last] = s.Gen
	return s, nil
}

// extend counts new messages behind a short chat that ends as prev does. ok is false where the template does not let the text be parted there.
func (c *Counter) extend(ctx context.Context, prev *State, add []Item, k class) (s *State, ok bool, err error) {
	front := []Item{{Message: turn.Message{Role: episode.User, Content: "a"}}}
	if k == afterAssistant {
		front = append(front, Item{Message: turn.Message{Role: episode.Assistant, Content: "b"}})
	}
	base, known := c.base[k]
	if !known {
		if base, err = c.render(ctx, front, c.tools, false); err != nil {
			return nil, false, err
		}
		c.base[k] = base
	}
	name := shapeOf(add)
	sh, seen := c.shapes[name]
	foreseen, wait := c.foresee(ctx, sh.skeleton, add)
	var text string
	if sh.alone && foreseen != "" {
		text, err = c.render(ctx, add, c.tools, false)
		if ok = err == nil && text == sh.before+foreseen; ok {
			text = foreseen
		} else if err == nil { // from now on as any other
			sh.alone = false
			c.shapes[name] = sh
		}
	}
	if !ok && err == nil {
		text, err = c.render(ctx, append(slices.Clone(front), add...), c.tools, false)
	}
	ids, ends, early := wait()
	if err != nil {
		return nil, false, err
	}
	if !ok {
		text, ok = strings.CutPrefix(text, base)
	}
	if !ok || !c.startsWithControl(text) {
		return nil, false, nil
	}
	last := add[len(add)-1].Message.Role
	gen, known := c.gens[last]
	if !known {
		return nil, false, nil
	}
	if !seen {
		if sh.skeleton, err = c.render(ctx, append(slices.Clone(front), marked(add)...), c.tools, false); err != nil {
			return nil, false, err
		}
		if sh.skeleton, ok = strings.CutPrefix(sh.skeleton, base); !ok {
			return nil, false, nil
		}
		if text, err := c.render(ctx, marked(add), c.tools, false); err == nil { // a template may insist on what is in front
			sh.before, sh.alone = strings.CutSuffix(text, sh.skeleton)
		}
		if len(c.shapes) < 256 {
			c.shapes[name] = sh
		}
	}
	if foreseen == text && len(ids) == len(ends) && !errors.Is(early, boundary.ErrUnsupported) {
		c.met++
		err = early
	} else {
		if foreseen != "" {
			c.odd++
		}
		ids, ends, err = c.spans(ctx, text)
	}
	if err != nil {
		return nil, false, err
	}
	p := layout(text, sh.skeleton, add, c.controls, "")
	counts := assign(ends, p, len(add))
	// Appending may write behind the elements of prev, which it does not look at: only the newest state of a session is ever extended.
	s = &State{Counts: append(prev.Counts, counts...), IDs: append(prev.IDs, ids...), Gen: gen, sum: prev.sum, items: prev.items + len(add), last: last,
		Estimated: prev.Estimated || p.estimated}
	s.add(counts)
	return s, true, nil
}

// Eager is a backend that tokenizes beside its caller's next question. It begins at once; wait, which must be called, returns what
// [boundary.Spanner] says.
type Eager interface {
	SpansAhead(ctx context.Context, text string) (wait func() (ids []int32, ends []int, err error))
}

// foresee returns the text that the messages will presumably be rendered as, and has it tokenized while they are being rendered: two questions to a server take the
// time of one. What wait returns is of use if the server then renders that very text. The text is "" where nothing is foreseen.
func (c *Counter) foresee(ctx context.Context, skeleton string, add []Item) (text string, wait func() (ids []int32, ends []int, err error)) {
	const patience = 3 // wrong texts more than right ones until we leave it
	if skeleton == "" || c.eager == nil || c.odd >= c.met+patience {
		return "", func() ([]int32, []int, error) { return nil, nil, nil }
	}
	text = spell(skeleton, add)
	return text, c.eager.SpansAhead(ctx, text)
}

func (s *State) add(counts []Count) {
	for _, c := range counts {
		for i, n := range c.Parts {
			s.sum[i] += n
		}
	}
}

func (c *Counter) startsWithControl(text string) bool {
	for _, t := range c.controls {
		if strings.HasPrefix(text, t) {
			return true
		}
	}
	return false
}

// spans returns the tokens of text and where each ends. Without a backend that tells, the ends are spread evenly: totals stay exact,
// only the border between two categories may be off by a token.
func (c *Counter) spans(ctx context.Context, text string) ([]int32, []int, error) {
	if c.span != nil {
		ids, ends, err := c.span.TokenSpans(ctx, text)
		if err == nil && len(ids) == len(ends) {
			return ids, ends, nil
		}
		if err != nil && !errors.Is(err, boundary.ErrUnsupported) {
			return nil, nil, err
		}
	}
	ids, err := c.b.Tokens(ctx, text)
	if err != nil {
		return nil, nil, err
	}
	ends := make([]int, len(ids))
	for i := range ids {
		ends[i] = int(int64(len(text)) * int64(i+1) / int64(len(ids)))
	}
	return ids, ends, nil
}

// findTools finds the text that the tool list adds, with the chat's own head and a short user turn.
func (c *Counter) findTools(ctx context.Context, items []Item) error {
	if len(c.tools) == 0 {
		return nil
	}
	probe := []Item{{Message: turn.Message{Role: episode.User, Content: "a"}}}
	key := "\x00"
	if items[0].Message.Role == episode.System {
		probe = append([]Item{items[0]}, probe...)
		key = items[0].Message.Content
	}
	if c.toolsFor == key {
		return nil
	}
	with, err := c.render(ctx, probe, c.tools, false)
	if err != nil {
		return err
	}
	without, err := c.render(ctx, probe, nil, false)
	if err != nil {
		return err
	}
	c.toolsText, c.toolsFor = "", key
	if n := len(with) - len(without); n > 0 {
		at := 0
		for at < len(without) && with[at] == without[at] {
			at++
		}
		c.toolsText = with[at : at+n]
	}
	return nil
}

// shapeOf names the order of roles and fields of messages: messages of one shape have one skeleton.
func shapeOf(items []Item) string {
	var b strings.Builder
	for _, it := range items {
		m := it.Message
		fmt.Fprintf(&b, "%.1s%t%t%d;", m.Role, m.Content != "", m.Reasoning != "", len(m.Calls))
	}
	return b.String()
}

// Tokens returns the tokens of a text.
func (c *Counter) Tokens(ctx context.Context, text string) ([]int32, error) {
	return c.b.Tokens(ctx, text)
}
