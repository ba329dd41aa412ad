package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"sakur4/boundary"
)

// The policies: who decides what the assistant says.
const (
	policyScripted = "scripted"
	policyModel    = "model"
)

// The defaults of flags.
const (
	memoryDB       = ":memory:"
	defaultURL     = "http://127.0.0.1:8080"
	embeddedWindow = 8192 // small, so that a short run compacts several times
	scriptedTurns  = 48
	modelTurns     = 100
	scriptedReply  = 16 // tokens: the words of the reply are ignored
)

// usage stands in front of the flags.
const usage = `Usage of agent: agent [flags], or agent COMMAND [flags] [words], with the flags in front of the words
  agent                  explores the current folder; works on -task, or talks, where a model is there
  agent doctor           says what works, and what to do about what does not
  agent dream | index    write interpretations, or the project's source code, into the store -db
  agent status | verify | receipt | plan | episodes | sessions | pins | evictions | folds | staleness | recall WORDS
  agent symbol NAME | impact NAME | map
                         look into the store -db
  agent COMMAND -h       tells the flags of a command
Flags:
`

// config is what the flags say.
type config struct {
	llama, db, session, root, task, policy          string
	window, turns, slot, maxTokens                  int
	seed                                            uint64
	json, allowExec, kvShift, all, force, summarize bool
	limit, depth, budget                            int
	exclude, focus                                  []string
	generated, goTypes, names                       bool
	rule                                            boundary.CheckpointRule
	fields                                          json.RawMessage
	words                                           string // what follows the flags

	// seen is told of every recorded turn ("ack"), every prompt ("window") and every piece of a reply ("delta"); nil outside tests.
	seen func(kind, text string)
}

// parseFlags reads the flags of a command; "" is the agent itself.
func parseFlags(command string, args []string, errs io.Writer) (config, error) {
	var c config
	name := strings.TrimSpace("agent " + command)
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(errs)
	if command == "" {
		f.Usage = func() {
			fmt.Fprint(errs, usage)
			f.PrintDefaults()
		}
	}
	f.StringVar(&c.llama, "llama", "", "`URL` of a llama.cpp server (default $SAKUR4_LLAMA_URL, else "+defaultURL+" if a model is wanted and one answers, else the embedded simulator)")
	f.StringVar(&c.db, "db", memoryDB, "`file` of the store")
	f.StringVar(&c.session, "session", "", "`id` of the session (default: the project's latest)")
	f.StringVar(&c.root, "root", ".", "`folder` of the project; the tools see nothing else")
	f.StringVar(&c.task, "task", "", "what to do (with a server: implies -policy model)")
	f.StringVar(&c.policy, "policy", "", "scripted or model: who decides (default: scripted)")
	f.IntVar(&c.window, "window", 0, "context in `tokens` (default: the server's; 8192 on the simulator)")
	f.BoolVar(&c.kvShift, "kvshift", false, "let the server move what a compaction keeps instead of computing it again (approximate)")
	f.IntVar(&c.turns, "turns", 0, "most `turns` of this run, in a conversation of each task (default 48 scripted, 100 with a model)")
	f.IntVar(&c.slot, "slot", 0, "the server's slot `number` to use; -1 leaves it to the server")
	f.IntVar(&c.maxTokens, "max-tokens", 0, "most `tokens` of a reply (default 16 scripted; with a model what the window leaves)")
	f.Uint64Var(&c.seed, "seed", 0, "`seed` of the script's order and of the server's sampling")
	f.BoolVar(&c.json, "json", false, "write one JSON object a line")
	f.BoolVar(&c.allowExec, "allow-exec", false, "let the model run commands; they are not confined to the root")
	f.IntVar(&c.rule.Spacing, "checkpoint-spacing", 0, "the server's -cms in `tokens`, which it does not tell")
	f.IntVar(&c.rule.Max, "checkpoints", 0, "the server's -ctxcp, a `number`")
	f.IntVar(&c.rule.Ubatch, "ubatch", 0, "the server's -ub in `tokens`")
	fields := f.String("fields", "", "further request fields, a JSON `object`")
	if command == "receipt" || command == "episodes" {
		f.BoolVar(&c.all, "all", false, "all of the session's receipts, or the episodes of all sessions with their whole text")
	}
	if command == "staleness" || command == "dream" {
		f.IntVar(&c.limit, "limit", 0, "most `entries` to list or to write (default: all)")
	}
	if command == "dream" {
		f.BoolVar(&c.force, "force", false, "also while the server is busy, or where nobody knows")
		f.BoolVar(&c.summarize, "summarize", false, "let the server's model write (needs -llama; default: sentences of the turns themselves)")
	}
	if command == "index" {
		f.BoolVar(&c.all, "full", false, "read every file, whatever its size and time say")
		f.BoolVar(&c.generated, "generated", false, "read generated files too")
		f.Func("exclude", "`pattern` of files to leave out, as in a .gitignore; may be repeated", func(s string) error {
			c.exclude = append(c.exclude, s)
			return nil
		})
	}
	if command == "impact" {
		f.IntVar(&c.depth, "depth", 0, "how many `steps` to walk (default 2)")
		f.IntVar(&c.limit, "limit", 0, "most `dependents` to list (default 200)")
		f.BoolVar(&c.goTypes, "go-types", false, "ask the type checker of Go, which takes seconds")
	}
	if command == "map" {
		f.IntVar(&c.budget, "budget", 0, "most `tokens` of the map (default 1024)")
		f.BoolVar(&c.names, "names", false, "names only, as symbol and impact understand them")
		f.Func("focus", "`path` of a file or folder, or name of a symbol, that the work is about; may be repeated", func(s string) error {
			c.focus = append(c.focus, s)
			return nil
		})
	}
	if err := f.Parse(args); err != nil {
		return c, err
	}
	c.words = strings.Join(f.Args(), " ")
	c.fields = json.RawMessage(*fields)
	return c, c.validate(command)
}

// validate returns all that is wrong in one error.
func (c *config) validate(command string) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.policy != "" && c.policy != policyScripted && c.policy != policyModel {
		bad("-policy %q is neither %s nor %s", c.policy, policyScripted, policyModel)
	}
	if c.limit < 0 || c.depth < 0 || c.budget < 0 || c.window < 0 || c.turns < 0 || c.maxTokens < 0 || c.rule.Spacing < 0 || c.rule.Max < 0 || c.rule.Ubatch < 0 {
		bad("counts must not be negative")
	}
	if len(c.fields) > 0 {
		if _, err := object(c.fields); err != nil {
			bad("-fields: %w", err)
		}
	}
	switch asked := map[string]string{"recall": "the words to look for", "symbol": "the name of a symbol", "impact": "the name of a symbol"}[command]; {
	case asked != "" && c.words == "":
		bad("%s needs %s", command, asked)
	case asked == "" && c.words != "":
		bad("unexpected argument %q: agent -h tells the commands, which stand in front of the flags", c.words)
	}
	if _, named := c.url(); c.summarize && !named {
		bad("-summarize needs a server: name it with -llama")
	}
	if command != "" && command != "doctor" && c.db == memoryDB {
		bad("%s looks into a store: name its file with -db, in front of other words", command)
	}
	return errors.Join(errs...)
}

// url returns the server to use and whether it was named: then it is an error if it does not answer.
func (c *config) url() (url string, named bool) {
	if c.llama != "" {
		return c.llama, true
	}
	if env := os.Getenv("SAKUR4_LLAMA_URL"); env != "" {
		return env, true
	}
	return defaultURL, false
}
