package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/signal"
	"path"
	"regexp"

	"sakur4"
	"sakur4/evict"
)

// The script's own words.
const (
	scriptRule = "Never change a file of this folder; only read."
	scriptTask = "Explore this folder and find out what it holds."
	nextTask   = "Part %d: go on with the files that you have not looked at closely."
)

// The shape of the script.
const (
	maxSources = 400     // files that are explored
	maxSource  = 1 << 20 // bytes of one
	readLines  = 40      // lines of one read
	taskSteps  = 12      // turns after which the task ends and the next one begins
)

// explorer is the scripted policy: what it does depends on the files, the seed and the number of turns of the session alone.
type explorer struct {
	a       *agent
	sources []source
	step    int
	reads   int
	// fact is the newest fact that a read gave, "" for none so far.
	fact sakur4.FactID
	// seen are the newest results of reads, for the one that is read again.
	seen []seenRead
}

// source is a file to explore.
type source struct {
	path  string
	lines int
	words []string
}

type seenRead struct {
	args   string
	result sakur4.EpisodeID
}

// explore runs the scripted policy. It sends every prompt to the server like any agent and ignores the words of the reply.
func (a *agent) explore(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	x := &explorer{a: a}
	if err := x.look(ctx); err != nil {
		return err
	}
	if err := x.begin(ctx); err != nil {
		return err
	}
	for range a.cfg.turns {
		if err := x.turn(ctx); err != nil {
			if ctx.Err() != nil {
				// What the server was saying is dropped; the session waits for the same reply.
				return errors.New("interrupted; the session can be resumed")
			}
			return err
		}
	}
	return a.catchStale(ctx, x.sources)
}

// look finds the files.
func (x *explorer) look(ctx context.Context) error {
	err := x.a.walk(ctx, ".", func(p string) error {
		if len(x.sources) == maxSources {
			return fs.SkipAll
		}
		b, err := x.a.content(p)
		if err != nil || len(b) == 0 || len(b) > maxSource || !isText(b) {
			return nil
		}
		x.sources = append(x.sources, source{p, bytes.Count(b, []byte("\n")) + 1, words(string(b), 64)})
		return nil
	})
	if err != nil {
		return err
	}
	if len(x.sources) == 0 {
		return fmt.Errorf("there is no text file to explore below %s: name another folder with -root", x.a.cfg.root)
	}
	if x.a.cfg.seed != 0 {
		r := rand.New(rand.NewPCG(x.a.cfg.seed, 0))
		r.Shuffle(len(x.sources), func(i, j int) { x.sources[i], x.sources[j] = x.sources[j], x.sources[i] })
	}
	return nil
}

// begin starts a session with a pin and a task, or finds out how far an earlier run came.
func (x *explorer) begin(ctx context.Context) error {
	a := x.a
	last := sakur4.Role("")
	for e, err := range a.eng.Episodes(ctx, sakur4.EpisodeFilter{Session: a.ses.ID()}) {
		if err != nil {
			return err
		}
		last = e.Role
		if e.Role == sakur4.RoleAssistant {
			x.step++
		}
		if len(e.ToolCalls) == 0 {
			continue
		}
		for _, c := range e.ToolCalls {
			if c.Name == "read_file" {
				x.reads++
			}
		}
	}
	for f, err := range a.ses.Folds(ctx) {
		if err != nil {
			return err
		}
		if f.Summary == "" {
			a.fold.open = f.ID
		}
	}
	task := a.cfg.task
	if last == "" {
		if _, err := a.ses.Pin(ctx, scriptRule, sakur4.PinConstraint); err != nil {
			return err
		}
		if task == "" {
			task = scriptTask
		}
	}
	if task == "" {
		return nil
	}
	_, err := a.commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: task})
	return err
}

// turn asks for a reply, and says its own words in its place.
func (x *explorer) turn(ctx context.Context) error {
	a := x.a
	maxTokens := a.cfg.maxTokens
	if maxTokens == 0 {
		maxTokens = scriptedReply
	}
	_, err := a.ask(ctx, maxTokens, nil)
	if errors.Is(err, sakur4.ErrNoTurn) {
		// The assistant spoke last: the task is done, here comes the next.
		part := fmt.Sprintf(nextTask, x.step/taskSteps+1)
		if _, err := a.commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: part}); err != nil {
			return err
		}
		_, err = a.ask(ctx, maxTokens, nil)
	}
	if err != nil {
		return err
	}
	step := x.step
	x.step++
	// The last turn of a task says what was found.
	if step%taskSteps == taskSteps-1 {
		text := fmt.Sprintf("Done with part %d: %d files are known, %d were read.", step/taskSteps+1, len(x.sources), min(x.reads, len(x.sources)))
		_, err := a.commit(ctx, sakur4.Turn{Role: sakur4.RoleAssistant, Content: text})
		return err
	}
	return x.act(ctx, step)
}

// act makes the calls of one step and records what they gave.
func (x *explorer) act(ctx context.Context, step int) error {
	a := x.a
	text, calls, corrects, err := x.next(ctx, step)
	if err != nil {
		return err
	}
	if _, err := a.commit(ctx, sakur4.Turn{Role: sakur4.RoleAssistant, Content: text, ToolCalls: calls}); err != nil {
		return err
	}
	for _, c := range calls {
		got, err := a.commit(ctx, sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: c.ID, ToolName: c.Name, Content: a.call(ctx, c), Corrects: corrects})
		if err != nil {
			return err
		}
		if n := len(got.Facts); n > 0 && c.Name == "read_file" {
			x.fact = sakur4.FactID(got.Facts[n-1].FactID)
		}
		if c.Name == "read_file" {
			x.seen = append(x.seen, seenRead{c.Arguments, got.Episode})
		}
	}
	return nil
}

// next says what a step does.
func (x *explorer) next(ctx context.Context, step int) (text string, calls []sakur4.ToolCall, corrects sakur4.EpisodeID, err error) {
	add := func(name string, args any) {
		b, _ := json.Marshal(args) // maps of strings and numbers always marshal
		calls = append(calls, sakur4.ToolCall{ID: fmt.Sprintf("call_%d_%d", step, len(calls)), Name: name, Arguments: string(b)})
	}
	src := x.sources[x.reads%len(x.sources)]
	say := func(format string, args ...any) { text = fmt.Sprintf(format, args...) }
	switch {
	case step%16 == 10 && x.a.fold.open == "":
		say("A task for itself: the beginnings of the next files.")
		add("memory_fold", map[string]string{"description": "the beginnings of the next files", "goal": "what they are about"})
		return text, calls, "", nil
	case step%16 == 14 && x.fact != "":
		say("That is worth a note.")
		add("memory_interpret", map[string]string{"anchor": string(x.fact), "text": fmt.Sprintf("Seen after %d reads; nothing depends on it so far.", x.reads)})
		return text, calls, "", nil
	case step%16 == 12 && x.a.fold.open != "":
		say("That task is done.")
		add("memory_unfold", map[string]any{"id": x.a.fold.open, "result": fmt.Sprintf("%d reads so far, the last of %s", x.reads, src.path)})
		return text, calls, "", nil
	}
	switch step % 8 {
	case 0:
		say("I look at the folder of %s and at its beginning.", src.path)
		add("list_files", map[string]string{"path": path.Dir(src.path)})
		add("read_file", x.read())
	case 2:
		word := pick(src.words, step)
		say("Where else does %q stand?", word)
		add("grep", map[string]string{"pattern": regexp.QuoteMeta(word)})
	case 3:
		say("Two more at once.")
		add("read_file", x.read())
		add("read_file", x.read())
	case 4:
		query, err := x.evicted(ctx, step)
		if err != nil {
			return "", nil, "", err
		}
		say("What was it about %s?", query)
		add("memory_recall", map[string]any{"query": query, "k": 3})
	case 6:
		if n := len(x.seen); n > 1 {
			again := x.seen[n/2]
			corrects = again.result
			x.seen = append(x.seen[:n/2:n/2], x.seen[n/2+1:]...)
			say("I read this again, in place of %s.", corrects)
			calls = append(calls, sakur4.ToolCall{ID: fmt.Sprintf("call_%d_0", step), Name: "read_file", Arguments: again.args})
			break
		}
		fallthrough
	case 1, 5:
		say("Now %s.", src.path)
		add("read_file", x.read())
	case 7:
		own := []string{"context_receipt", "context_plan_eviction", "memory_staleness", "sakur4_status", "sakur4_dream"}
		say("How full is the prompt?")
		add(own[step/8%len(own)], map[string]string{})
	}
	return text, calls, corrects, nil
}

// read returns the arguments of the next read: file after file, and then the next lines of each.
func (x *explorer) read() map[string]any {
	n := x.reads
	x.reads++
	s := x.sources[n%len(x.sources)]
	offset := n / len(x.sources) * readLines % s.lines
	return map[string]any{"path": s.path, "offset": offset + 1, "limit": readLines}
}

// evicted returns words of something that has left the prompt, so that the recall proves something.
func (x *explorer) evicted(ctx context.Context, step int) (string, error) {
	var gone []sakur4.EpisodeID
	for e, err := range x.a.ses.Evictions(ctx) {
		if err != nil {
			return "", err
		}
		if e.To >= evict.Archived {
			gone = append(gone, e.Episode)
		}
	}
	found := x.sources[step%len(x.sources)].words
	if len(gone) > 0 {
		e, err := x.a.eng.Episode(ctx, gone[step*7%len(gone)])
		if err != nil {
			return "", err
		}
		if w := words(episodeText(e), 64); len(w) > 0 {
			found = w
		}
	}
	return pick(found, step) + " " + pick(found, step*3+1), nil
}

var wordShape = regexp.MustCompile(`[A-Za-z][A-Za-z0-9_]{4,23}`)

// words returns the first distinct words of a text, at most n.
func words(text string, n int) []string {
	known := map[string]bool{}
	var out []string
	for _, w := range wordShape.FindAllString(text, 8*n) {
		if !known[w] && len(out) < n {
			known[w] = true
			out = append(out, w)
		}
	}
	return out
}

func pick(list []string, i int) string {
	if len(list) == 0 {
		return "file"
	}
	return list[i%len(list)]
}
