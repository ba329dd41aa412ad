package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"sakur4"
)

// resultShare is the part of the window above which a result is cut to head and tail, as the engine does it.
const resultShare = 8

// baseline is what the policies that people use have in common: a history, a head, and a way to compact.
type baseline struct {
	srv             server
	system          sakur4.Message
	hints           sakur4.Hints
	window          int
	trigger, target int
	history         history
	// kept are the atoms of the prompt, of which the first is the task. taken is how many of the history's atoms were taken into it.
	kept  []*atom
	taken int
	index int
	// last is the size of the last prompt in tokens.
	last int
	// compact takes something out of kept, or changes it. n is the size of the prompt that reached the trigger.
	compact func(ctx context.Context, n int) error
	// side is the request for a summary, where one was made.
	side []sakur4.Message
	// gone is what summaries stand for.
	gone []*atom
}

func newBaseline(ctx context.Context, cfg config, srv server) (*baseline, error) {
	p, err := srv.backend().Profile(ctx)
	if err != nil {
		return nil, err
	}
	text := system
	if cfg.pin != "" {
		text += "\n" + cfg.pin + "\n"
	}
	b := &baseline{srv: srv, system: sakur4.Message{Role: "system", Content: text}, window: cfg.window, trigger: cfg.at(cfg.trigger), target: cfg.at(cfg.target),
		hints: sakur4.Hints{CachePrompt: true, IDSlot: p.Slot}}
	if p.Template.NoSystemRole {
		b.system.Role = "" // see messages
	}
	if p.Template.PreservesReasoning {
		b.hints.TemplateKwargs = p.Template.TemplateKwargs
	}
	b.history = history{control: p.Template.ControlTexts, reasoning: p.Template.PreservesReasoning}
	return b, nil
}

func (b *baseline) add(ctx context.Context, t turn) error {
	err := b.history.add(b.index, t.Turn, func(content string) (string, error) { return b.cut(ctx, content) })
	b.index++
	return err
}

// cut shortens a result that takes more than its share of the window to its first and last lines.
func (b *baseline) cut(ctx context.Context, content string) (string, error) {
	most := b.window / resultShare
	if len(content) <= most {
		return content, nil
	}
	tokens, err := b.srv.backend().Tokens(ctx, content)
	if err != nil || len(tokens) <= most {
		return content, err
	}
	half := len(content) * most / len(tokens) / 2
	head, tail := strings.ToValidUTF8(content[:half], ""), strings.ToValidUTF8(content[len(content)-half:], "")
	if i := strings.LastIndexByte(head, '\n'); i > half*3/4 {
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < half/4 {
		tail = tail[i+1:]
	}
	return head + "\n[… the middle of this result is left out …]\n" + tail, nil
}

func (b *baseline) next(ctx context.Context) (prompt, error) {
	b.history.closeCalls()
	for _, a := range b.history.atoms[b.taken:] {
		if err := b.weigh(ctx, a); err != nil {
			return prompt{}, err
		}
	}
	b.kept = append(b.kept, b.history.atoms[b.taken:]...)
	b.taken = len(b.history.atoms)
	n, err := b.count(ctx, b.kept)
	if err != nil {
		return prompt{}, err
	}
	p := prompt{hints: b.hints, fresh: n - b.last}
	if n >= b.trigger {
		before := b.messages(b.kept)
		if err := b.compact(ctx, n); err != nil {
			return prompt{}, err
		}
		p.messages = b.messages(b.kept)
		if p.compacted = !sameMessages(before, p.messages); p.compacted {
			if n, err = b.count(ctx, b.kept); err != nil {
				return prompt{}, err
			}
		}
		p.hints = b.hints
		b.hints.NCacheReuse = 0
		p.side, b.side = b.side, nil
	} else {
		p.messages = b.messages(b.kept)
	}
	b.last = n
	for _, a := range b.kept {
		for _, v := range a.verbatim {
			p.verbatim += v
		}
	}
	return p, nil
}

// weigh counts the recorded text in the messages of an atom.
func (b *baseline) weigh(ctx context.Context, a *atom) error {
	a.verbatim = make([]int, len(a.messages))
	for i, m := range a.messages {
		texts := []string{m.Content, m.ReasoningContent}
		if m.Content == interruptedText {
			texts[0] = ""
		}
		for _, c := range m.ToolCalls {
			texts = append(texts, c.Name, c.Arguments)
		}
		for _, text := range texts {
			if text == "" {
				continue
			}
			tokens, err := b.srv.backend().Tokens(ctx, text)
			if err != nil {
				return err
			}
			a.verbatim[i] += len(tokens)
		}
	}
	return nil
}

// messages returns the prompt that keeps these atoms. A template without a system role gets the head in front of the first user message.
func (b *baseline) messages(atoms []*atom) []sakur4.Message {
	messages := chat(b.system, atoms)
	if b.system.Role != "" {
		return messages
	}
	messages = messages[1:]
	for i, m := range messages {
		if m.Role == "user" {
			messages[i].Content = b.system.Content + "\n" + m.Content
			break
		}
	}
	return messages
}

// count returns the size of the prompt that keeps these atoms, in tokens.
func (b *baseline) count(ctx context.Context, atoms []*atom) (int, error) {
	tokens, err := b.srv.prompt(ctx, b.messages(atoms), b.hints.TemplateKwargs)
	return len(tokens), err
}

// least returns the smallest n up to most with which the prompt that make returns has at most limit tokens; most if there is none. A larger n makes a
// smaller prompt.
func (b *baseline) least(ctx context.Context, most, limit int, make func(n int) []*atom) (int, error) {
	low, high := 0, most
	for low < high {
		n := (low + high) / 2
		size, err := b.count(ctx, make(n))
		if err != nil {
			return 0, err
		}
		if size <= limit {
			high = n
		} else {
			low = n + 1
		}
	}
	return low, nil
}

// head is how many of the kept atoms are never taken out: the task, where a user began.
func (b *baseline) head() int {
	if len(b.kept) > 0 && b.kept[0].user {
		return 1
	}
	return 0
}

// without returns the kept atoms without the n oldest behind the head. The newest atom always stays.
func (b *baseline) without(n int) []*atom {
	h := b.head()
	return append(slices.Clone(b.kept[:h]), b.kept[h+n:]...)
}

// droppable is how many atoms can be dropped.
func (b *baseline) droppable() int { return max(len(b.kept)-b.head()-1, 0) }

func (b *baseline) dropTo(ctx context.Context, limit int) error {
	n, err := b.least(ctx, b.droppable(), limit, b.without)
	if err == nil {
		b.kept = b.without(n)
	}
	return err
}

// dropOldest drops just what brings the prompt below the trigger.
func (b *baseline) dropOldest(ctx context.Context, _ int) error { return b.dropTo(ctx, b.trigger-1) }

// truncate drops the oldest atoms down to the target.
func (b *baseline) truncate(ctx context.Context, _ int) error { return b.dropTo(ctx, b.target) }

func (b *baseline) observe(context.Context, prompt, cost) error { return nil }

func (b *baseline) recall(context.Context, string) ([]string, error) { return nil, nil }

func (b *baseline) close() error { return nil }

func sameMessages(a, b []sakur4.Message) bool {
	return slices.EqualFunc(a, b, func(a, b sakur4.Message) bool {
		x, errX := json.Marshal(a)
		y, errY := json.Marshal(b)
		return errX == nil && errY == nil && string(x) == string(y)
	})
}
