package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sakur4"
	"sakur4/symbolic"
)

func (a *agent) memoryInterpret(ctx context.Context, args json.RawMessage) (string, error) {
	var in struct {
		Anchor string `json:"anchor"`
		Text   string `json:"text"`
	}
	if err := decode(args, &in); err != nil {
		return "", err
	}
	ref := sakur4.FactAnchor(sakur4.FactID(in.Anchor))
	if strings.HasPrefix(in.Anchor, "ep_") {
		ref = sakur4.EpisodeAnchor(sakur4.EpisodeID(in.Anchor))
	}
	en, err := a.ses.Interpret(ctx, ref, in.Text)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("stored as %s, about %s", en.ID, en.Anchored()), nil
}

// staleLimit is how many stale entries a model is shown.
const staleLimit = 8

func (a *agent) memoryStaleness(ctx context.Context, args json.RawMessage) (string, error) {
	var in struct {
		Limit int `json:"limit"`
	}
	if err := decode(args, &in); err != nil {
		return "", err
	}
	if in.Limit <= 0 {
		in.Limit = staleLimit
	}
	r, err := a.eng.Staleness(ctx, in.Limit)
	if err != nil {
		return "", err
	}
	return r.String(), nil
}

// dreamLimit is how many entries one call writes, so that nobody waits long.
const dreamLimit = 4

func (a *agent) dream(ctx context.Context, args json.RawMessage) (string, error) {
	var in struct {
		Limit int `json:"limit"`
	}
	if err := decode(args, &in); err != nil {
		return "", err
	}
	if in.Limit <= 0 {
		in.Limit = dreamLimit
	}
	r, err := a.eng.Dream(ctx, sakur4.DreamOptions{Limit: in.Limit})
	if err != nil {
		return "", err
	}
	return sakur4.Frame("dream", r.String()), nil
}

func (a *agent) showStaleness(ctx context.Context) error {
	r, err := a.eng.Staleness(ctx, a.cfg.limit)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d of %d interpretations are stale (%.0f %%), %d could not be checked, %d are about corrected turns", r.Stale, r.Entries, r.Rate*100,
		r.Unverified, r.Superseded)
	for _, it := range r.Items {
		text += fmt.Sprintf("\n  %s %s: %q", it.ID, it.Reason, clip(it.Text, previewBytes))
		if it.Current != "" {
			text += fmt.Sprintf("\n    now: %q", clip(it.Current, previewBytes))
		}
	}
	return a.say(r, "%s", text)
}

func (a *agent) runDream(ctx context.Context) error {
	r, err := a.eng.Dream(ctx, sakur4.DreamOptions{Force: a.cfg.force, Limit: a.cfg.limit})
	if err != nil && len(r.Items) == 0 {
		return err
	}
	return errors.Join(a.say(r, "%s", r), err)
}

// catchStale shows on a copy of one of the files that a summary is caught once its source has changed. The copy lives in a folder and a store of its own,
// so that neither the file nor the session is touched.
func (a *agent) catchStale(ctx context.Context, sources []source) error {
	name, content := a.copied(ctx, sources)
	text, current, err := stale(ctx, name, content)
	if err != nil {
		return err
	}
	if current == "" {
		a.check.breaks(staleCaught, "a summary of %s looked fresh after its source had changed", name)
		return nil
	}
	a.sum.StaleCaught++
	a.sum.StaleSource, a.sum.StaleText, a.sum.StaleCurrent = name, text, current
	return nil
}

// maxTried is how many files of a kind are tried for one whose copy can be changed.
const maxTried = 4

// copied chooses the file that is copied: Go source, else JSON, else a sample of our own.
func (a *agent) copied(ctx context.Context, sources []source) (name, content string) {
	for _, suffix := range []string{".go", ".json"} {
		tried := 0
		for _, s := range sources {
			if !strings.HasSuffix(s.path, suffix) || tried == maxTried {
				continue
			}
			tried++
			b, err := a.content(s.path)
			if err == nil && firstFact(ctx, s.path, string(b)).FactID != "" {
				return s.path, string(b)
			}
		}
	}
	return "sample.json", `{"retries": 3}`
}

// staleTrial is a project of one file.
type staleTrial struct {
	dir string
	eng *sakur4.Engine
	ses *sakur4.Session
}

func newStaleTrial(ctx context.Context) (t *staleTrial, err error) {
	t = &staleTrial{}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	if t.dir, err = os.MkdirTemp("", "agent-copy-"); err != nil {
		return t, err
	}
	if t.eng, err = sakur4.Open(ctx, memoryDB, &sakur4.Options{ProjectRoot: t.dir}); err != nil {
		return t, err
	}
	t.ses = t.eng.Session("copy")
	return t, nil
}

func (t *staleTrial) close() error {
	var errs []error
	if t.eng != nil {
		errs = append(errs, t.eng.Close())
	}
	if t.dir != "" {
		errs = append(errs, os.RemoveAll(t.dir))
	}
	return errors.Join(errs...)
}

// read writes the copy, records a read of it and returns a fact that a change can be made to.
func (t *staleTrial) read(ctx context.Context, name, content string) (symbolic.Row, error) {
	if err := os.WriteFile(filepath.Join(t.dir, name), []byte(content), 0o600); err != nil {
		return symbolic.Row{}, err
	}
	args, _ := json.Marshal(map[string]string{"path": name}) // a map of strings always marshals
	for _, turn := range []sakur4.Turn{
		{Role: sakur4.RoleUser, Content: "What does " + name + " say?"},
		{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: "r", Name: "read_file", Arguments: string(args)}}},
	} {
		if _, err := t.ses.Commit(ctx, turn); err != nil {
			return symbolic.Row{}, err
		}
	}
	c, err := t.ses.Commit(ctx, sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: "r", Content: content})
	if err != nil {
		return symbolic.Row{}, err
	}
	rows := c.Facts
	if strings.HasSuffix(name, ".go") {
		// The symbol that the index has of the file, and not what the tool returned.
		if _, err := t.eng.Index(ctx, sakur4.IndexOptions{}); err != nil {
			return symbolic.Row{}, err
		}
		for row, err := range t.eng.Facts(ctx, sakur4.FactFilter{FilePath: name, Kind: "function"}) {
			if err != nil {
				return symbolic.Row{}, err
			}
			rows = append(rows, row)
		}
	}
	for _, row := range rows {
		if changed(name, content, row) != "" {
			return row, nil
		}
	}
	return symbolic.Row{}, nil
}

// firstFact returns the first fact of a file that a change can be made to, the zero row if there is none.
func firstFact(ctx context.Context, name, content string) symbolic.Row {
	t, err := newStaleTrial(ctx)
	if err != nil {
		return symbolic.Row{}
	}
	row, err := t.read(ctx, filepath.Base(name), content)
	if errors.Join(err, t.close()) != nil {
		return symbolic.Row{}
	}
	return row
}

// changed returns the content with another value at the fact's place, "" where it is not plain how.
func changed(name, content string, row symbolic.Row) string {
	if row.Offset < 0 || row.Offset > len(content) {
		return ""
	}
	before, rest := content[:row.Offset], content[row.Offset:]
	switch {
	case strings.HasSuffix(name, ".go") && row.Kind == "function":
		if at := strings.IndexByte(rest, '('); at > 0 && strings.HasPrefix(rest, "func ") {
			return before + rest[:at+1] + "changed int, " + rest[at+1:]
		}
	case strings.HasSuffix(name, ".json") && row.Kind == "json_field" && strings.Trim(row.Value, "0123456789") == "" && strings.HasPrefix(rest, row.Value):
		return before + "4711" + rest[len(row.Value):]
	}
	return ""
}

// stale interprets a fact of the copy, changes the copy and asks the memory. It returns what the summary said and the value of now with which it came back, "" where
// it looked fresh. What is said afterwards is that value, and what the index has of a function is the same.
func stale(ctx context.Context, name, content string) (text, current string, err error) {
	t, err := newStaleTrial(ctx)
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	base := filepath.Base(name)
	row, err := t.read(ctx, base, content)
	if err != nil {
		return "", "", err
	}
	const summary = "Callers rely on this staying as it is."
	en, err := t.ses.Interpret(ctx, sakur4.FactAnchor(sakur4.FactID(row.FactID)), summary)
	if err != nil {
		return "", "", err
	}
	if err := os.WriteFile(filepath.Join(t.dir, base), []byte(changed(base, content, row)), 0o600); err != nil {
		return "", "", err
	}
	hits, err := t.eng.Recall(ctx, sakur4.Query{Text: summary})
	if err != nil {
		return "", "", err
	}
	for _, h := range hits.Items {
		if h.ID != en.ID || !h.Stale || h.Current == row.Value {
			continue
		}
		if row.Kind == "function" {
			s, err := t.eng.Symbol(ctx, base+":"+row.QualifiedName)
			if err != nil || s.Signature != h.Current {
				return "", "", err
			}
		}
		// What is said from here on is the value of now.
		_, err := t.ses.Commit(ctx, sakur4.Turn{Role: sakur4.RoleAssistant, Content: base + " says now: " + h.Current})
		return h.Text, h.Current, err
	}
	return "", "", nil
}
