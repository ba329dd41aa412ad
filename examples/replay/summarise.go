package main

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"sakur4"
)

// summaryShare is the part of the window that a summary may take.
const summaryShare = 16

// instruction asks for a summary, at the end of the prompt that is summarised.
const instruction = "\n\nThe context is nearly full. Summarise the conversation so far for your own use: what the user asked for, what was done, which files matter and what is left to do. Call no tools."

// The shares of a summary in percent: what the user asked, and the names in use; the rest is what the assistant said.
const (
	askedShare = 25
	namesShare = 40
)

// summarise replaces the oldest atoms by an extracted summary.
func (b *baseline) summarise(ctx context.Context, _ int) error {
	asked := slices.Clone(b.messages(b.kept))
	asked[len(asked)-1].Content += instruction
	tokens, err := b.srv.prompt(ctx, asked, b.hints.TemplateKwargs)
	if err != nil {
		return err
	}
	if len(tokens)+b.window/summaryShare < b.window {
		b.side = asked // else there is no room for the request; a server would refuse it
	}
	var failed error
	with := func(n int) []*atom {
		h := b.head()
		s, err := b.extract(ctx, append(slices.Clone(b.gone), b.kept[h:h+n]...))
		if err != nil {
			failed = err
			return b.kept
		}
		return slices.Concat(b.kept[:h], []*atom{s}, b.kept[h+n:])
	}
	n, err := b.least(ctx, b.droppable(), b.target, with)
	if err != nil || n == 0 {
		b.side = nil
		return err
	}
	kept := with(n)
	b.gone = append(b.gone, b.kept[b.head():b.head()+n]...)
	b.kept = kept
	return failed
}

// extract returns the summary of the atoms. An older summary among them is skipped: what it was made of is there too.
func (b *baseline) extract(ctx context.Context, atoms []*atom) (*atom, error) {
	room := b.window / summaryShare
	perToken := 3 // bytes, a cautious guess: the loop below holds the bound
	for {
		text := "[summary of the conversation so far]\n" + extract(atoms, room*perToken)
		tokens, err := b.srv.backend().Tokens(ctx, text)
		if err != nil {
			return nil, err
		}
		if len(tokens) <= room || perToken == 1 {
			return &atom{user: true, summary: true, messages: []sakur4.Message{{Role: "user", Content: text}}, verbatim: []int{0}}, nil
		}
		perToken--
	}
}

// extract writes at most size bytes about the atoms: what users asked, oldest first; the names in use, the newest first; what the assistant said, the newest.
func extract(atoms []*atom, size int) string {
	var asked, said []string
	var used []string // names, the newest last, with repeats
	for _, a := range atoms {
		if a.summary {
			continue
		}
		for _, m := range a.messages {
			switch m.Role {
			case "user":
				asked = append(asked, "- "+line(m.Content, 300))
			case "assistant":
				if s := line(m.Content, 300); s != "" && s != noReplyText {
					said = append(said, "- "+s)
				}
			}
			used = append(used, namesOf(m.Content, m.ToolCalls)...)
		}
	}
	var b strings.Builder
	b.WriteString("The user asked:\n")
	budget := size * askedShare / 100
	for _, s := range asked {
		if budget -= len(s) + 1; budget < 0 {
			break
		}
		b.WriteString(s + "\n")
	}
	b.WriteString("Files and names:\n")
	budget = size * namesShare / 100
	seen := map[string]bool{}
	for _, s := range slices.Backward(used) {
		if seen[s] {
			continue
		}
		seen[s] = true
		if budget -= len(s) + 1; budget < 0 {
			break
		}
		b.WriteString(s + " ")
	}
	b.WriteString("\nDone so far, the newest last:\n")
	from := len(said)
	for budget = size - b.Len(); from > 0 && budget >= len(said[from-1])+1; from-- {
		budget -= len(said[from-1]) + 1
	}
	return b.String() + strings.Join(said[from:], "\n")
}

// line returns the first size bytes of a text as one line.
func line(s string, size int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= size {
		return s
	}
	for size > 0 && !utf8.RuneStart(s[size]) {
		size--
	}
	return s[:size] + "…"
}
