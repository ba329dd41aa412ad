package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"sakur4"
	"sakur4/boundary"
	"sakur4/boundary/llamacpp"
)

// agent is one run over one session.
type agent struct {
	cfg config
	streams
	eng   *sakur4.Engine
	ses   *sakur4.Session
	chat  boundary.Chatter
	root  *os.Root
	tools []tool
	head  sakur4.Head
	check *checker
	sum   summary
	fold  folding
}

// system begins the head of every prompt. Like what follows it, it holds nothing that changes.
const system = "You are a careful engineer working in one folder. Use the tools to look before you answer, and say what you found.\n"

// open opens the store, the root and the server.
func open(ctx context.Context, cfg config, std streams) (_ *agent, err error) {
	a := &agent{cfg: cfg, streams: std}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	if a.root, err = os.OpenRoot(cfg.root); err != nil {
		return nil, err
	}
	client, err := server(ctx, &a.cfg)
	if err != nil {
		return nil, err
	}
	opts := &sakur4.Options{ProjectRoot: cfg.root, Window: a.cfg.window, KVShift: cfg.kvShift}
	if client != nil {
		opts.Backend = client
		if cfg.summarize {
			opts.Summarizer = sakur4.ChatSummarizer(client)
		}
	}
	if cfg.db == memoryDB {
		opts.NewID = ids(cfg.seed) // the same run gives the same prompts, to the token
	}
	if a.eng, err = sakur4.Open(ctx, cfg.db, opts); err != nil {
		return nil, err
	}
	chat, ok := a.eng.Backend().(boundary.Chatter)
	if !ok {
		return nil, errors.New("the backend cannot answer chats")
	}
	a.chat = chat
	id := cfg.session
	if id == "" {
		if id, err = latest(ctx, a.eng); err != nil {
			return nil, err
		}
	}
	a.ses = a.eng.Session(id)
	a.tools = a.toolset()
	// Calls that a killed process left open are closed with the first prompt.
	a.head = sakur4.Head{System: system + sakur4.Preamble(), Tools: toolList(a.tools), CloseOpenCalls: true}
	a.check = newChecker(a.eng)
	a.sum.Session = id
	return a, nil
}

// ids returns a sequence of ids that the seed decides. A store that outlives the run needs other ones.
func ids(seed uint64) func() uint64 {
	var mu sync.Mutex // guards r
	r := rand.NewPCG(seed, 0)
	return func() uint64 {
		mu.Lock()
		defer mu.Unlock()
		return r.Uint64()
	}
}

// close closes what open has opened.
func (a *agent) close() error {
	var errs []error
	if a.eng != nil {
		errs = append(errs, a.eng.Close())
	}
	if a.root != nil {
		errs = append(errs, a.root.Close())
	}
	return errors.Join(errs...)
}

// server returns the client of the server to use, nil for the embedded simulator, and settles the policy and the window.
func server(ctx context.Context, cfg *config) (*llamacpp.Client, error) {
	url, named := cfg.url()
	var client *llamacpp.Client
	if named || cfg.task != "" || cfg.policy == policyModel {
		opts := &llamacpp.Options{APIKey: os.Getenv("SAKUR4_LLAMA_KEY")}
		if cfg.slot >= 0 {
			opts.Slot = &cfg.slot
		}
		if cfg.rule != (boundary.CheckpointRule{}) {
			opts.Rule = &cfg.rule
		}
		c, err := llamacpp.New(url, opts)
		if err != nil {
			return nil, err
		}
		// Anything may listen on the usual port: only what says that it is a llama.cpp server is used unasked.
		if named || answers(ctx, c) {
			client = c
		}
	}
	if cfg.policy == "" {
		cfg.policy = policyScripted
		if client != nil && cfg.task != "" {
			cfg.policy = policyModel
		}
	}
	if client == nil {
		if cfg.policy == policyModel {
			return nil, fmt.Errorf("-policy model needs a server and none answers at %s: start llama-server, or name one with -llama", url)
		}
		if cfg.window == 0 {
			cfg.window = embeddedWindow
		}
	}
	if cfg.turns == 0 {
		cfg.turns = scriptedTurns
		if cfg.policy == policyModel {
			cfg.turns = modelTurns
		}
	}
	return client, nil
}

// probeTimeout bounds the look for a server that was not named.
const probeTimeout = 2 * time.Second

func answers(ctx context.Context, c *llamacpp.Client) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	props, err := c.Props(ctx)
	return err == nil && props.Build != ""
}

// latest returns the session with the newest turn, or the name of a first one.
func latest(ctx context.Context, eng *sakur4.Engine) (string, error) {
	for s, err := range eng.Sessions(ctx) {
		if err != nil {
			return "", err
		}
		return s.ID, nil
	}
	return "agent", nil
}

// commit records a turn and keeps its digest, to compare with what the store gives back at the end.
func (a *agent) commit(ctx context.Context, t sakur4.Turn) (sakur4.Committed, error) {
	c, err := a.ses.Commit(ctx, t)
	if err != nil {
		return c, err
	}
	a.check.committed(c.Episode, t)
	if a.cfg.seen != nil {
		a.cfg.seen("ack", string(c.Episode)+" "+turnDigest(t))
	}
	return c, nil
}

// ask makes one turn: the next prompt, the reply to it, and what the server measured. After an error the reply is what had arrived.
func (a *agent) ask(ctx context.Context, maxTokens int, progress func(boundary.ChatDelta)) (boundary.ChatReply, error) {
	w, err := a.ses.Window(ctx, a.head)
	if err != nil {
		return boundary.ChatReply{}, err
	}
	a.head.CloseOpenCalls = false
	// The bytes that are sent are the bytes that were counted.
	messages := sakur4.MarshalMessages(w.Messages)
	if a.cfg.seen != nil {
		a.cfg.seen("window", string(messages))
	}
	if err := a.checkPrompt(ctx, w, messages); err != nil {
		return boundary.ChatReply{}, err
	}
	fields, err := a.fields(w.Hints)
	if err != nil {
		return boundary.ChatReply{}, err
	}
	reply, err := a.chat.Chat(ctx, boundary.ChatRequest{Messages: messages, Tools: a.head.Tools, Fields: fields, MaxTokens: maxTokens}, progress)
	if progress != nil {
		a.endStream(reply)
	}
	if err != nil {
		return reply, err
	}
	r, err := a.ses.Observe(ctx, sakur4.Usage{Window: w.ID, PromptTokens: reply.PromptTokens, CachedTokens: reply.CachedTokens, ShiftRefused: reply.ShiftRefused,
		CompletionTokens: reply.CompletionTokens, PromptMillis: reply.PromptMillis, Model: reply.Model})
	if err != nil {
		return reply, err
	}
	a.check.measured(r, reply.CompletionTokens)
	return reply, a.turnDone(w, r, reply)
}

// fields returns the request's further fields: the prompt's hints, then the operator's, then the seed. The first of a name wins.
func (a *agent) fields(h sakur4.Hints) (json.RawMessage, error) {
	hints, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	return merge(hints, a.cfg.fields, json.RawMessage(fmt.Sprintf(`{"seed":%d}`, a.cfg.seed)))
}

// object reads a JSON object.
func object(raw json.RawMessage) (map[string]json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	if m == nil {
		return nil, errors.New("not a JSON object")
	}
	return m, nil
}

// merge joins JSON objects, keys in alphabetical order. Of two values for one key the first wins.
func merge(objects ...json.RawMessage) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	for _, raw := range objects {
		if len(raw) == 0 {
			continue
		}
		m, err := object(raw)
		if err != nil {
			return nil, err
		}
		for k, v := range m {
			if _, there := all[k]; !there {
				all[k] = v
			}
		}
	}
	return json.Marshal(all)
}
