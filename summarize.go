package sakur4

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sakur4/boundary"
	"sakur4/internal/rendering"
	"sakur4/internal/turn"
)

const (
	// summaryTimeout bounds one request for a summary.
	summaryTimeout = 2 * time.Minute
	// maxSummarised is how much of a text a model is shown, in bytes.
	maxSummarised = 48 << 10
)

// ChatSummarizer returns a [Summarizer] that asks a chat server, such as the client of package llamacpp. The request carries what the request to summarise
// does, in front the system text, tools and messages of the session as they were sent last, so that the server has them in its cache, and the
// instruction as the last message. A reply that calls a tool is an error.
func ChatSummarizer(c boundary.Chatter) Summarizer { return chatSummarizer{c} }

type chatSummarizer struct{ chat boundary.Chatter }

// Summarize sends the request.
func (s chatSummarizer) Summarize(ctx context.Context, req SummaryRequest) (string, error) {
	messages := append(slices.Clone(req.Messages), Message{Role: string(RoleUser), Content: req.Instruction})
	fields, err := json.Marshal(req.Hints)
	if err != nil {
		return "", fmt.Errorf("sakur4: summary: %w", err)
	}
	reply, err := s.chat.Chat(ctx, boundary.ChatRequest{Messages: MarshalMessages(messages), Tools: req.Tools, Fields: fields, MaxTokens: req.MaxTokens}, nil)
	switch {
	case err != nil:
		return "", fmt.Errorf("sakur4: summary: %w", err)
	case len(reply.ToolCalls) > 0:
		return "", errors.New("sakur4: summary: the model called a tool")
	case reply.FinishReason == "length":
		return "", fmt.Errorf("sakur4: summary: not finished within %d tokens", req.MaxTokens)
	}
	return reply.Content, nil
}

// summaryRequest asks for a summary of a text. In front stands the session's prompt where there is one and both fit the window.
func (e *Engine) summaryRequest(ctx context.Context, p *promotion, budget int) (SummaryRequest, error) {
	text := turn.Sent(p.text)
	if len(text) > maxSummarised {
		text = turn.Sent(strings.ToValidUTF8(text[:maxSummarised], "")) + "\n…"
	}
	// The words are fewer than the tokens, so that the reply is not cut off.
	ask := fmt.Sprintf("Write a note of at most %d words about the following %s. Say what it is, what was found or decided in it, and the names and numbers "+
		"that matter. Use only what it says. Answer with the note alone and call no tool.\n\n", budget/2, p.what)
	req := SummaryRequest{MaxTokens: budget, Hints: Hints{CachePrompt: true}}
	s := e.Session(p.session)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, profile, _ := e.server(ctx)
	escaped, _ := turn.NewEscaper(turn.Controls(profile.Template.ControlTexts)).Escape(text)
	req.Instruction = ask + escaped
	sent, err := s.sent(ctx, profile)
	if err != nil || sent == nil {
		return req, err
	}
	need := e.counter.Count(req.Instruction) + budget + e.counter.Count(string(sent.Tools))
	for _, m := range sent.Messages {
		need += e.counter.Count(m.Content)
	}
	if _, limit := e.window(profile); need <= limit {
		req.Messages, req.Tools, req.Hints = sent.Messages, sent.Tools, sent.Hints
	}
	return req, nil
}

// sent returns the session's prompt as it was sent last, with the reply where it was text: somebody else may speak next. It is nil where nothing was
// sent, or where what was sent is no chat any more since a compaction. The caller holds mu.
func (s *Session) sent(ctx context.Context, profile boundary.Profile) (*SummaryRequest, error) {
	srv := rendering.Server{Profile: profile}
	srv.Window, srv.Limit = s.e.window(profile)
	l, _, err := s.load(ctx, nil, srv) // a prompt of its own: it is cut below
	if err != nil {
		return nil, err
	}
	chat, tools, ok := l.prompt.Sent()
	if !ok {
		return nil, nil
	}
	out := &SummaryRequest{Tools: tools, Hints: hints(l.prompt)}
	out.Hints.NCacheReuse = 0 // what was to be moved has been
	for _, m := range chat {
		out.Messages = append(out.Messages, outer(m))
	}
	return out, nil
}
