package embedded

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"sakur4/boundary"
	"sakur4/internal/digest"
)

// chatFields are the request fields that the simulation knows; others are ignored, as a server ignores them.
type chatFields struct {
	IDSlot      *int      `json:"id_slot"`
	CachePrompt *bool     `json:"cache_prompt"`
	NCacheReuse int       `json:"n_cache_reuse"`
	MaxTokens   int       `json:"max_tokens"`
	Scripted    *scripted `json:"scripted_reply"`
}

// scripted is the reply that a request asks for.
type scripted struct {
	Content   string `json:"content"`
	Reasoning string `json:"reasoning_content"`
	ToolCalls []struct {
		ID        string `json:"id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"tool_calls"`
}

// Chat answers one request, with the count of reused tokens that a real server would report. A history that a strict template refuses is
// [boundary.ErrInvalidRequest], a prompt that does not fit a [*boundary.ContextError].
func (s *Server) Chat(ctx context.Context, req boundary.ChatRequest, progress func(boundary.ChatDelta)) (boundary.ChatReply, error) {
	if err := ctx.Err(); err != nil {
		return boundary.ChatReply{}, err
	}
	var f chatFields
	if len(req.Fields) > 0 {
		if err := json.Unmarshal(req.Fields, &f); err != nil {
			return boundary.ChatReply{}, refuse("fields: %v", err)
		}
	}
	if f.MaxTokens <= 0 {
		f.MaxTokens = req.MaxTokens
	}
	if err := Validate(req.Messages); err != nil {
		return boundary.ChatReply{}, err
	}
	text, err := render(req.Messages, req.Tools, true)
	if err != nil {
		return boundary.ChatReply{}, err
	}
	prompt := s.vocab.encode(text)
	if len(prompt) >= s.profile.Window {
		return boundary.ChatReply{}, fmt.Errorf("embedded: %w", &boundary.ContextError{Prompt: len(prompt), Window: s.profile.Window})
	}
	reply, body := compose(f.Scripted, text)
	generated := s.vocab.encode(body)
	limit := s.profile.Window - len(prompt)
	if f.MaxTokens > 0 {
		limit = min(limit, f.MaxTokens)
	}
	if len(generated) > limit {
		s.cut(&reply, body, limit)
		generated = generated[:limit]
	}
	cached, err := s.process(f, prompt, generated)
	if err != nil {
		return boundary.ChatReply{}, err
	}
	reply.PromptTokens, reply.CachedTokens, reply.CompletionTokens, reply.Model = len(prompt), &cached, len(generated), s.profile.Model
	if progress == nil {
		return reply, nil
	}
	progress(boundary.ChatDelta{PromptCached: cached, PromptTotal: len(prompt)})
	return stream(ctx, reply, progress)
}

// process moves the cache of the request's slot on and returns how much of the prompt was reused.
func (s *Server) process(f chatFields, prompt, generated []int32) (int, error) {
	users := boundary.UserStarts(prompt, s.vocab.encode(userHeader))
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.pick(prompt)
	if f.IDSlot != nil && *f.IDSlot >= 0 {
		if id = *f.IDSlot; id >= len(s.slots) {
			return 0, refuse("no slot %d", id)
		}
	}
	sl := &s.slots[id]
	if f.CachePrompt != nil && !*f.CachePrompt {
		sl.cache.Reset()
	}
	cached := sl.cache.Predict(prompt, f.NCacheReuse).Reused
	sl.cache.Accept(prompt, users, f.NCacheReuse)
	// The last token is sampled and not evaluated.
	held := generated[:max(len(generated)-1, 0)]
	sl.cache.Generated(held)
	s.clock++
	sl.prompt, sl.reply, sl.used = prompt, held, s.clock
	return cached, nil
}

// pick chooses a slot as the server does for a request that names none: the one that shares the most with the prompt if that is more than a tenth of
// it, else the one that was used the longest ago.
func (s *Server) pick(prompt []int32) int {
	best, share := -1, len(prompt)/10
	for i := range s.slots {
		if n := s.slots[i].cache.Predict(prompt, 0).Common; n > share {
			best, share = i, n
		}
	}
	if best >= 0 {
		return best
	}
	best = 0
	for i := range s.slots {
		if s.slots[i].used < s.slots[best].used {
			best = i
		}
	}
	return best
}

// compose builds the reply and the text that the model would have generated for it.
func compose(script *scripted, prompt string) (boundary.ChatReply, string) {
	if script == nil {
		text := fmt.Sprintf("Understood (%s).", digest.Of(prompt).Short())
		return boundary.ChatReply{Content: text, FinishReason: "stop"}, text
	}
	reply := boundary.ChatReply{Content: script.Content, Reasoning: script.Reasoning, FinishReason: "stop"}
	m := message{Reasoning: script.Reasoning, text: script.Content}
	for i, c := range script.ToolCalls {
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%s_%d", digest.Of(prompt).Short(), i)
		}
		reply.ToolCalls = append(reply.ToolCalls, boundary.ChatToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
		reply.FinishReason = "tool_calls"
		m.ToolCalls = append(m.ToolCalls, struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		}{ID: c.ID})
		f := &m.ToolCalls[i].Function
		f.Name, f.Arguments = c.Name, c.Arguments
	}
	return reply, m.body()
}

// cut shortens a reply to limit tokens: what is left of the text becomes the content, and calls that are not complete are lost.
func (s *Server) cut(reply *boundary.ChatReply, body string, limit int) {
	_, ends := s.vocab.spans(body)
	kept := ""
	if limit > 0 {
		kept = strings.ToValidUTF8(body[:ends[limit-1]], "")
	}
	*reply = boundary.ChatReply{Content: kept, FinishReason: "length"}
}

// stream passes the reply on in pieces of a word. A cancelled ctx returns what was passed on.
func stream(ctx context.Context, reply boundary.ChatReply, progress func(boundary.ChatDelta)) (boundary.ChatReply, error) {
	var content, reasoning strings.Builder
	for _, word := range strings.SplitAfter(reply.Reasoning, " ") {
		if word != "" && ctx.Err() == nil {
			reasoning.WriteString(word)
			progress(boundary.ChatDelta{Reasoning: word})
		}
	}
	for _, word := range strings.SplitAfter(reply.Content, " ") {
		if word != "" && ctx.Err() == nil {
			content.WriteString(word)
			progress(boundary.ChatDelta{Content: word})
		}
	}
	if err := ctx.Err(); err != nil {
		reply.Content, reply.Reasoning, reply.ToolCalls, reply.FinishReason = content.String(), reasoning.String(), nil, ""
		return reply, err
	}
	return reply, nil
}
