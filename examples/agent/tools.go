package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"sakur4"
)

// tool is one thing that the model may do.
type tool struct {
	name, description string
	// params is the JSON schema's properties, required the names that must be there.
	params   string
	required string
	run      func(ctx context.Context, args json.RawMessage) (string, error)
}

// toolset returns the agent's tools in the order in which the model sees them, which never changes: another order would be another prompt.
func (a *agent) toolset() []tool {
	const path = `"path":{"type":"string","description":"relative to the root"}`
	ts := []tool{
		{"list_files", "List a folder.", `{` + path + `}`, `[]`, a.listFiles},
		{"read_file", "Read lines of a file.", `{` + path + `,"offset":{"type":"integer","description":"first line, from 1"},"limit":{"type":"integer","description":"lines, at most 2000"}}`,
			`["path"]`, a.readFile},
		{"grep", "Find lines that match a regular expression (RE2) in the files below a path.", `{"pattern":{"type":"string"},` + path + `}`, `["pattern"]`, a.grep},
		{"memory_recall", "Find earlier turns and facts by their words, also those that left the prompt. Any interpretation whose source has since changed is returned with " +
			"stale=true and the source's CURRENT value attached — trust current_value, not text.", `{"query":{"type":"string"},"k":{"type":"integer"}}`, `["query"]`, a.memoryRecall},
		{"memory_pin", "Pin a rule of the user's: it then stands word for word in every prompt.",
			`{"text":{"type":"string"},"kind":{"type":"string","enum":["constraint","instruction","preference"]}}`, `["text"]`, a.memoryPin},
		{"memory_episode", "Return one earlier turn whole, by its id.", `{"id":{"type":"string"}}`, `["id"]`, a.memoryEpisode},
		{"memory_fold", "Open a fold: a pocket for a task whose steps need not stay in the prompt.",
			`{"description":{"type":"string"},"goal":{"type":"string"}}`, `["description"]`, a.memoryFold},
		{"memory_unfold", "Close a fold: its turns leave the prompt, and the result stands for them.",
			`{"id":{"type":"string"},"result":{"type":"string"}}`, `["id","result"]`, a.memoryUnfold},
		{"memory_recall_fold", "Return every turn of a fold, word for word.", `{"id":{"type":"string"}}`, `["id"]`, a.memoryRecallFold},
		{"memory_interpret", "Store what a fact (sym_…) or a turn (ep_…) means, in your words. It is found by memory_recall, with a warning once its source has changed.",
			`{"anchor":{"type":"string","description":"id of the fact or turn"},"text":{"type":"string"}}`, `["anchor","text"]`, a.memoryInterpret},
		{"memory_staleness", "List interpretations whose source has changed since they were written, with what the source says now.", `{"limit":{"type":"integer"}}`, `[]`,
			a.memoryStaleness},
		{"code_query_symbol", "Return a function, type or other declaration of the code by its name, as its file has it at this moment: signature, place, text, and the id (sym_…) to anchor " +
			"an interpretation to. A longer name such as package.Type.Method tells symbols of one name apart.", `{"name":{"type":"string"}}`, `["name"]`, a.codeQuerySymbol},
		{"code_impact_of_change", "Before you change a declaration: list what calls, implements or names it, and what calls that, with their signatures of now. What is marked STALE was edited " +
			"since it was first seen to use it. exact asks the type checker of Go, which takes seconds.",
			`{"name":{"type":"string"},"depth":{"type":"integer","description":"steps, 2 by default"},"exact":{"type":"boolean"}}`, `["name"]`, a.codeImpact},
		{"code_get_repo_map", "Show the declarations that matter most in the code, the first ones those that most of it refers to.",
			`{"budget":{"type":"integer","description":"tokens"},"focus":{"type":"array","items":{"type":"string"},"description":"paths and names that the work is about"},` +
				`"names_only":{"type":"boolean"}}`, `[]`, a.codeMap},
		{"context_receipt", "Say where the tokens of the last prompt went.", `{}`, `[]`, a.contextReceipt},
		{"context_plan_eviction", "Say what a compaction would take out of the prompt now. Changes nothing.", `{}`, `[]`, a.contextPlan},
		{"sakur4_status", "Count what is stored.", `{}`, `[]`, a.status},
		{"sakur4_dream", "While nobody waits: write new interpretations for stale ones and for turns that have none.", `{"limit":{"type":"integer"}}`, `[]`, a.dream},
	}
	if a.cfg.allowExec {
		ts = append(ts, tool{"run_command", "Run a shell command in the root.", `{"command":{"type":"string"}}`, `["command"]`, a.runCommand})
	}
	return ts
}

// toolList returns the tools as the server wants them.
func toolList(ts []tool) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, t := range ts {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"type":"function","function":{"name":%s,"description":%s,"parameters":{"type":"object","properties":%s,"required":%s}}}`,
			quote(t.name), quote(t.description), t.params, t.required)
	}
	b.WriteByte(']')
	return b.Bytes()
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string always marshals
	return string(b)
}

// tool returns the tool of that name, nil if there is none. Servers refuse dots in names; models that know the dotted ones write them all the same.
func (a *agent) tool(name string) *tool {
	name = strings.ReplaceAll(name, ".", "_")
	for i := range a.tools {
		if a.tools[i].name == name {
			return &a.tools[i]
		}
	}
	return nil
}

// call runs one tool. An error is a result: the model reads it and goes on.
func (a *agent) call(ctx context.Context, c sakur4.ToolCall) string {
	t := a.tool(c.Name)
	if t == nil {
		return fmt.Sprintf("error: there is no tool %q", c.Name)
	}
	args := json.RawMessage(c.Arguments)
	if strings.TrimSpace(c.Arguments) == "" {
		args = json.RawMessage("{}")
	}
	out, err := t.run(ctx, args)
	switch {
	case err != nil:
		return "error: " + err.Error()
	case out == "":
		return "(empty)"
	}
	return out
}

// answerCalls runs the calls of an assistant turn side by side and records their results in the calls' order. What an interrupt stops is recorded
// as such, so that the session goes on with a complete turn.
func (a *agent) answerCalls(ctx context.Context, calls []sakur4.ToolCall, run func(context.Context, sakur4.ToolCall) string) ([]sakur4.Committed, error) {
	results := make([]string, len(calls))
	var wg sync.WaitGroup
	for i, c := range calls {
		wg.Go(func() { results[i] = run(ctx, c) })
	}
	wg.Wait()
	var done []sakur4.Committed
	for i, c := range calls {
		got, err := a.commit(context.WithoutCancel(ctx), sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: c.ID, ToolName: c.Name, Content: results[i]})
		if err != nil {
			return done, err
		}
		done = append(done, got)
	}
	return done, ctx.Err()
}

// decode reads a tool's arguments. Unknown ones are an error that the model can read.
func decode(args json.RawMessage, into any) error {
	d := json.NewDecoder(bytes.NewReader(args))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	if d.More() {
		return errors.New("arguments: more than one JSON value")
	}
	return nil
}
