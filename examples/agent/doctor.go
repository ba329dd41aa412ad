package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"sakur4"
	"sakur4/boundary"
	"sakur4/boundary/llamacpp"
)

// finding is one line of the doctor: what was looked at, how it is, and what to do where it is not well.
type finding struct {
	Part   string `json:"part"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
}

// doctor looks at everything that a run needs, and goes on after a problem.
func doctor(ctx context.Context, cfg config, std streams) error {
	// What is not named is looked for where it usually is.
	if cfg.policy == "" {
		cfg.policy = policyModel
	}
	var found []finding
	ok := func(part, format string, args ...any) {
		found = append(found, finding{Part: part, OK: true, Detail: fmt.Sprintf(format, args...)})
	}
	problem := func(part, remedy, format string, args ...any) {
		found = append(found, finding{Part: part, Detail: fmt.Sprintf(format, args...), Remedy: remedy})
	}
	if url, named := cfg.url(); !named {
		if c, err := llamacpp.New(url, nil); err != nil || !answers(ctx, c) {
			cfg.policy = policyScripted
			ok("server", "none was named and none answers at %s: the embedded simulator is used; start llama-server or pass -llama for a real one", url)
		}
	}
	a, err := open(ctx, cfg, std)
	switch {
	case errors.Is(err, sakur4.ErrWrongKey), errors.Is(err, sakur4.ErrCorrupt), errors.Is(err, sakur4.ErrUnsupported):
		problem("store", "pass another file with -db; agent verify lists the damage", "%v", err)
	case errors.Is(err, sakur4.ErrLocked):
		problem("store", "end the process that holds it", "%v", err)
	case err != nil:
		problem("store", "check -db, -root and -llama", "%v", err)
	default:
		if r, err := a.eng.Verify(ctx); err != nil {
			problem("store", "restore a backup; agent verify lists the damage", "%s: %v", cfg.db, err)
		} else {
			ok("store", "%s: %d episodes and %d facts, all of them well", cfg.db, r.Episodes, r.Facts)
		}
		a.examine(ctx, ok, problem)
		err = a.close()
	}
	problems := 0
	for _, f := range found {
		if !f.OK {
			problems++
		}
		if cfg.json {
			if err := writeJSON(std.out, f); err != nil {
				return err
			}
			continue
		}
		mark, remedy := "ok     ", ""
		if !f.OK {
			mark, remedy = "problem", "\n         remedy: "+f.Remedy
		}
		if _, err := fmt.Fprintf(std.out, "%s  %-9s %s%s\n", mark, f.Part, f.Detail, remedy); err != nil {
			return err
		}
	}
	if problems > 0 {
		return fmt.Errorf("%d problems", problems)
	}
	return err
}

// examine looks at the server.
func (a *agent) examine(ctx context.Context, ok func(part, format string, args ...any), problem func(part, remedy, format string, args ...any)) {
	p, err := a.eng.Backend().Profile(ctx)
	if err != nil {
		remedy := "start llama-server, or name it with -llama"
		switch {
		case errors.Is(err, boundary.ErrLoading):
			remedy = "wait until the model is loaded"
		case errors.Is(err, boundary.ErrUnauthorized):
			remedy = "set SAKUR4_LLAMA_KEY"
		}
		problem("backend", remedy, "%v", err)
		return
	}
	ok("backend", "%s %s, model %s, %d tokens a slot, %d slots", p.Name, or(p.Build, "of unknown build"), or(p.Model, "unknown"), p.Window, p.Slots)

	switch {
	case p.Template.Digest == "" && p.Template.UserHeader == "":
		problem("template", "start llama-server with --jinja and a model that has a chat template", "nothing is known of the chat template")
	case p.Template.NoTools:
		problem("template", "pass a template that lists tools with --chat-template-file", "the chat template renders no tools: the model cannot know them")
	case p.Template.NoSystemRole:
		ok("template", "renders tools; it knows no system role, the head goes into the first user turn")
	default:
		ok("template", "renders tools and a system message")
	}

	a.examineCounts(ctx, p, ok, problem)

	switch p.Geometry.Kind {
	case boundary.Unknown:
		problem("geometry", "run the agent beside the server, so that it can read the model file; or pass -checkpoint-spacing, -checkpoints and -ubatch as the server has them",
			"unknown: every token is taken for a rewind point until measurements say otherwise")
	case boundary.Points:
		r := boundary.CheckpointRule{}
		if p.Rule != nil {
			r = *p.Rule
		}
		r = r.WithDefaults()
		ok("geometry", "rewinds to checkpoints: at most %d, %d tokens apart, batches of %d, attention window %d; pass -checkpoints, -checkpoint-spacing and -ubatch "+
			"if the server was started with others", r.Max, r.Spacing, r.Ubatch, r.Window)
	default:
		ok("geometry", "%v", p.Geometry.Kind)
	}
}

// examineCounts compares our count of one small prompt with the server's.
func (a *agent) examineCounts(ctx context.Context, p boundary.Profile, ok func(part, format string, args ...any), problem func(part, remedy, format string, args ...any)) {
	if p.Tokenizer == "" {
		problem("tokenizer", "update llama-server: /tokenize and /apply-template are needed for exact counts", "the server cannot tokenize; prompts are counted locally")
		return
	}
	messages := sakur4.MarshalMessages([]sakur4.Message{{Role: "user", Content: "Say yes."}})
	text, err := a.eng.Backend().Render(ctx, boundary.RenderRequest{Messages: messages, Tools: a.head.Tools, GenerationPrompt: true})
	var ids []int32
	if err == nil {
		ids, err = a.eng.Backend().Tokens(ctx, text)
	}
	var reply boundary.ChatReply
	if err == nil {
		slot, free := a.freeSlot(ctx)
		if !free {
			// The smallest request would take a slot from a session, which would then be processed again as a whole.
			ok("tokenizer", "%s; %d tokens of a small prompt, not compared with a reply: every slot holds a prompt", p.Tokenizer, len(ids))
			return
		}
		reply, err = a.chat.Chat(ctx, boundary.ChatRequest{Messages: messages, Tools: a.head.Tools, Fields: slot, MaxTokens: 1}, nil)
	}
	switch {
	case err != nil:
		problem("tokenizer", "look into the server's log", "a small prompt: %v", err)
	case reply.PromptTokens == 0:
		problem("tokenizer", "update llama-server", "the server reports no count of its prompts, so ours cannot be checked")
	case reply.PromptTokens != len(ids):
		problem("tokenizer", "report this: the server renders a chat otherwise than /apply-template says", "we count %d tokens, the server %d", len(ids), reply.PromptTokens)
	case reply.CachedTokens == nil:
		problem("tokenizer", "update llama-server", "%s; counts agree, but the server reports no cached tokens", p.Tokenizer)
	default:
		ok("tokenizer", "%s; both count %d tokens of a small prompt", p.Tokenizer, len(ids))
	}
}

// freeSlot returns the request field that names a slot which holds nothing. A server that tells nothing of its slots is left to choose.
func (a *agent) freeSlot(ctx context.Context) (field json.RawMessage, free bool) {
	client, is := a.chat.(*llamacpp.Client)
	if !is {
		return nil, true
	}
	slots, err := client.Slots(ctx)
	if err != nil {
		return nil, true
	}
	for _, s := range slots {
		if s.PromptTokens == 0 && !s.Processing {
			return json.RawMessage(fmt.Sprintf(`{"id_slot":%d}`, s.ID)), true
		}
	}
	return nil, false
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
