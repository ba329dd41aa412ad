package llamacpp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"sakur4/boundary"
)

// Chat sends one request (/v1/chat/completions). The messages and tools are sent byte for byte; the request's fields follow in their order. Of two
// values for one key the first wins, in this order: messages, tools, what the client needs to stream, [boundary.ChatRequest.Fields], MaxTokens,
// [Options.Slot] with cache_prompt, [Options.Model].
//
// With a non-nil progress the reply is streamed and each piece is passed on as it arrives, in the caller's goroutine. A cancelled ctx ends the
// request and returns what has arrived so far with the error; so does an error in the middle of a stream.
//
// A request that names n_cache_reuse and is refused is sent once more without: a server that cannot shift may say so, and no turn is lost by it.
func (c *Client) Chat(ctx context.Context, req boundary.ChatRequest, progress func(boundary.ChatDelta)) (boundary.ChatReply, error) {
	reply, err := c.chat(ctx, req, progress)
	if !errors.Is(err, boundary.ErrInvalidRequest) && !errors.Is(err, boundary.ErrUnsupported) || ctx.Err() != nil {
		return reply, err
	}
	plain, asked, ok := withoutShift(req.Fields)
	if !ok {
		return reply, err
	}
	req.Fields = plain
	again, bad := c.chat(ctx, req, progress)
	if bad != nil {
		return reply, err // it was not the shift
	}
	again.ShiftRefused = asked
	return again, nil
}

// withoutShift returns the fields without n_cache_reuse, and whether it asked for a shift: 0 asks for none. ok says that it was there.
func withoutShift(raw json.RawMessage) (_ json.RawMessage, asked, ok bool) {
	const key = "n_cache_reuse"
	var all fields
	if len(raw) == 0 || all.merge(raw) != nil || !all.seen[key] {
		return raw, false, false
	}
	plain := fields{seen: map[string]bool{key: true}}
	if plain.merge(raw) != nil {
		return raw, false, false
	}
	var named struct {
		Reuse json.RawMessage `json:"n_cache_reuse"`
	}
	_ = json.Unmarshal(raw, &named) // it is an object: merge has read it
	return plain.body(), string(named.Reuse) != "0", true
}

func (c *Client) chat(ctx context.Context, req boundary.ChatRequest, progress func(boundary.ChatDelta)) (boundary.ChatReply, error) {
	body, err := c.chatBody(req, progress != nil)
	if err != nil {
		return boundary.ChatReply{}, err
	}
	const path = "/v1/chat/completions"
	if progress != nil {
		resp, err := c.send(ctx, path, body)
		if err != nil {
			return boundary.ChatReply{}, err
		}
		defer resp.Body.Close()
		return c.readStream(ctx, resp.Body, path, progress)
	}
	var out completion
	if err := c.call(ctx, path, body, &out); err != nil {
		return boundary.ChatReply{}, err
	}
	if len(out.Choices) == 0 {
		return boundary.ChatReply{}, fmt.Errorf("llamacpp: %s: no choices in the answer: %w", path, boundary.ErrUnavailable)
	}
	m := out.Choices[0].Message
	reply := boundary.ChatReply{Content: m.Content, Reasoning: m.Reasoning}
	for _, call := range m.ToolCalls {
		reply.ToolCalls = append(reply.ToolCalls, boundary.ChatToolCall{
			ID: call.ID, Name: call.Function.Name, Arguments: argumentText(call.Function.Arguments),
		})
	}
	out.finish(&reply)
	return reply, nil
}

func (c *Client) chatBody(req boundary.ChatRequest, stream bool) ([]byte, error) {
	var f fields
	f.add("messages", req.Messages)
	f.add("tools", req.Tools)
	if stream {
		f.add("stream", json.RawMessage("true"))
		f.add("stream_options", json.RawMessage(`{"include_usage":true}`))
		f.add("return_progress", json.RawMessage("true"))
	} else {
		f.add("stream", json.RawMessage("false"))
	}
	if err := f.merge(req.Fields); err != nil {
		return nil, err
	}
	if req.MaxTokens > 0 {
		f.add("max_tokens", json.RawMessage(strconv.Itoa(req.MaxTokens)))
	}
	if c.opts.Slot != nil {
		f.add("id_slot", json.RawMessage(strconv.Itoa(*c.opts.Slot)))
		f.add("cache_prompt", json.RawMessage("true"))
	}
	f.addText("model", c.opts.Model)
	return f.body(), nil
}

// completion is an answer or one chunk of a streamed one.
type completion struct {
	Choices []struct {
		Finish  *string `json:"finish_reason"`
		Index   int     `json:"index"`
		Message message `json:"message"`
		Delta   message `json:"delta"`
	} `json:"choices"`
	Model string `json:"model"`
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Details    *struct {
			Cached *int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
	Timings *struct {
		CacheN      *int    `json:"cache_n"`
		PromptN     int     `json:"prompt_n"`
		PromptMs    float64 `json:"prompt_ms"`
		PredictedN  int     `json:"predicted_n"`
		PredictedMs float64 `json:"predicted_ms"`
	} `json:"timings"`
	Progress *struct {
		Total int `json:"total"`
		Cache int `json:"cache"`
	} `json:"prompt_progress"`
	Error json.RawMessage `json:"error"`
}

type message struct {
	Content   string     `json:"content"`
	Reasoning string     `json:"reasoning_content"`
	ToolCalls []toolCall `json:"tool_calls"`
}

type toolCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// argumentText returns a call's arguments as text: a string's value, or the bytes of an object that a server did not wrap into a string.
func argumentText(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// finish takes over the counts, the reason and the model. What a chunk does not carry stays as it was.
func (a *completion) finish(r *boundary.ChatReply) {
	if len(a.Choices) > 0 && a.Choices[0].Finish != nil {
		r.FinishReason = *a.Choices[0].Finish
	}
	if a.Model != "" {
		r.Model = a.Model
	}
	if u := a.Usage; u != nil {
		r.PromptTokens, r.CompletionTokens = u.Prompt, u.Completion
		if u.Details != nil && u.Details.Cached != nil {
			n := *u.Details.Cached
			r.CachedTokens = &n
		}
	}
	if t := a.Timings; t != nil && t.CacheN != nil {
		// The timings are the server's own measure; the usage object is made for other servers' clients.
		n := *t.CacheN
		r.CachedTokens = &n
		r.PromptMillis = t.PromptMs
		if r.PromptTokens == 0 {
			r.PromptTokens = n + t.PromptN
		}
		if r.CompletionTokens == 0 {
			r.CompletionTokens = t.PredictedN
		}
	}
}
