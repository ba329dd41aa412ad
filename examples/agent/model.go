package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"sakur4"
	"sakur4/boundary"
)

// The limits on a model that asks for the same again and again.
const (
	maxRepeats = 3 // identical calls that are carried out
	endRepeats = 6 // identical calls after which the loop ends
)

// The ways in which a loop ends without an answer. The session stays valid: another task can follow.
var (
	errTurnLimit   = errors.New("turn limit reached")
	errRepeats     = errors.New("the model repeats the same call")
	errSaidNothing = errors.New("the model said nothing")
	errInterrupted = errors.New("interrupted")
)

// toolLoop is one task of a conversation: replies and calls until the model answers without a call.
type toolLoop struct {
	a *agent
	// last is the newest call, times how often it was made in a row.
	last  string
	times int
}

// answer works on what waits in the session. Its errors leave a session that goes on with the next task, or with the next run.
func (a *agent) answer(ctx context.Context) error {
	loop := toolLoop{a: a}
	for range a.cfg.turns {
		done, err := loop.turn(ctx)
		if done || err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %d turns", errTurnLimit, a.cfg.turns)
}

// turn makes one turn; done says that the model has answered.
func (l *toolLoop) turn(ctx context.Context) (done bool, err error) {
	a := l.a
	reply, err := a.ask(ctx, a.cfg.maxTokens, a.stream)
	if err != nil {
		if ctx.Err() == nil {
			return false, err
		}
		return false, a.interrupted(context.WithoutCancel(ctx), reply)
	}
	if strings.TrimSpace(reply.Content) == "" && len(reply.ToolCalls) == 0 {
		return false, errSaidNothing
	}
	t := sakur4.Turn{Role: sakur4.RoleAssistant, Content: reply.Content, Reasoning: reply.Reasoning}
	if c, is := a.writtenCall(reply); is {
		t.Content, reply.ToolCalls = "", []boundary.ChatToolCall{c}
	}
	for i, c := range reply.ToolCalls {
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d", i) // some servers give none; they may repeat over a session
		}
		t.ToolCalls = append(t.ToolCalls, sakur4.ToolCall(c))
	}
	if _, err := a.commit(context.WithoutCancel(ctx), t); err != nil {
		return false, err
	}
	if len(t.ToolCalls) == 0 {
		return true, nil
	}
	for _, c := range t.ToolCalls {
		l.count(c)
	}
	_, err = a.answerCalls(ctx, t.ToolCalls, l.call)
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return false, errInterrupted
	case err != nil:
		return false, err
	case l.times >= endRepeats:
		return false, fmt.Errorf("%w: %s, %d times", errRepeats, t.ToolCalls[len(t.ToolCalls)-1].Name, l.times)
	}
	return false, nil
}

// writtenCall reads a reply that is nothing but a call written out as JSON, {"name": …, "arguments": {…}}: what models do whose template or server
// knows no calls, or whose reply a response_format forces into that shape.
func (a *agent) writtenCall(reply boundary.ChatReply) (boundary.ChatToolCall, bool) {
	if len(reply.ToolCalls) > 0 {
		return boundary.ChatToolCall{}, false
	}
	m, err := object(json.RawMessage(reply.Content))
	if err != nil || len(m) != 2 {
		return boundary.ChatToolCall{}, false
	}
	var name string
	if json.Unmarshal(m["name"], &name) != nil || a.tool(name) == nil {
		return boundary.ChatToolCall{}, false
	}
	if _, err := object(m["arguments"]); err != nil {
		return boundary.ChatToolCall{}, false
	}
	return boundary.ChatToolCall{Name: name, Arguments: string(m["arguments"])}, true
}

// count counts how often the same call came in a row.
func (l *toolLoop) count(c sakur4.ToolCall) {
	key := c.Name + "\x00" + c.Arguments
	if key != l.last {
		l.last, l.times = key, 0
	}
	l.times++
}

// call carries a call out, unless it was made too often.
func (l *toolLoop) call(ctx context.Context, c sakur4.ToolCall) string {
	if ctx.Err() != nil {
		return "error: the user interrupted before this call was made"
	}
	if l.times > maxRepeats && l.last == c.Name+"\x00"+c.Arguments {
		return fmt.Sprintf("error: not run: this very call was made %d times; do something else or answer", l.times)
	}
	return l.a.call(ctx, c)
}

// interrupted records what had been streamed when the user broke in: the words as far as they came, without calls, whose arguments may be cut off.
func (a *agent) interrupted(ctx context.Context, reply boundary.ChatReply) error {
	if strings.TrimSpace(reply.Content) == "" {
		return errInterrupted // nothing was said: the session waits for the same reply
	}
	if _, err := a.commit(ctx, sakur4.Turn{Role: sakur4.RoleAssistant, Content: reply.Content, Reasoning: reply.Reasoning}); err != nil {
		return err
	}
	return errInterrupted
}

// stream shows a piece of the reply.
func (a *agent) stream(d boundary.ChatDelta) {
	if !a.cfg.json {
		io.WriteString(a.out, d.Content)
	}
	if a.cfg.seen != nil {
		a.cfg.seen("delta", d.Content)
	}
}

// endStream ends the line of a streamed reply and names its calls.
func (a *agent) endStream(reply boundary.ChatReply) {
	if a.cfg.json {
		return
	}
	if reply.Content != "" && !strings.HasSuffix(reply.Content, "\n") {
		fmt.Fprintln(a.out)
	}
	for _, c := range reply.ToolCalls {
		fmt.Fprintf(a.out, "→ %s %s\n", c.Name, clip(c.Arguments, 200))
	}
}
