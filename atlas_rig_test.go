package sakur4_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sakur4"
	"sakur4/symbolic"
)

// workshop is a trial in a folder of files.
type workshop struct {
	*trial
	dir string
}

func newWorkshop(t testing.TB, o *sakur4.Options) *workshop {
	t.Helper()
	if o == nil {
		o = &sakur4.Options{}
	}
	if o.ProjectRoot == "" {
		o.ProjectRoot = t.TempDir()
	}
	return &workshop{newTrial(t, storePath(t), o), o.ProjectRoot}
}

func (w *workshop) write(name, content string) {
	w.t.Helper()
	p := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workshop) remove(name string) {
	w.t.Helper()
	if err := os.RemoveAll(filepath.Join(w.dir, name)); err != nil {
		w.t.Fatal(err)
	}
}

// open records a read of a file as it is now.
func (w *workshop) open(name string) sakur4.Committed {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return w.call("read_file", `{"path":`+quoted(name)+`}`, string(b))
}

// call has the model call a tool, and records its result.
func (w *workshop) call(tool, args, result string) sakur4.Committed {
	w.t.Helper()
	c := w.newCall(tool, args)
	w.say("", c)
	return w.result(c.ID, result)
}

func (w *workshop) newCall(tool, args string) sakur4.ToolCall {
	w.calls++
	return sakur4.ToolCall{ID: "call_" + strings.Repeat("i", w.calls), Name: tool, Arguments: args}
}

// symbols extracts the Go symbols of a recorded read.
func (w *workshop) symbols(c sakur4.Committed) []symbolic.Fact {
	w.t.Helper()
	facts, err := w.eng.Extract(w.t.Context(), c.Episode, symbolic.CodeSymbols("go"))
	if err != nil {
		w.t.Fatalf("Extract(%s) = %v", c.Episode, err)
	}
	return facts
}

// symbol returns the fact about the named symbol of a file that is read now.
func (w *workshop) symbol(file, name string) sakur4.FactID {
	w.t.Helper()
	facts := w.symbols(w.open(file))
	for _, f := range facts {
		if strings.HasSuffix(f.QualifiedName(), ":"+name) {
			return sakur4.FactID(f.ID())
		}
	}
	w.t.Fatalf("no symbol %q in %s: %v", name, file, facts)
	return ""
}

func (w *workshop) interpret(a sakur4.AnchorRef, text string) string {
	w.t.Helper()
	en, err := w.s.Interpret(w.t.Context(), a, text)
	if err != nil {
		w.t.Fatalf("Interpret(%v, %q) = %v", a, text, err)
	}
	return en.ID
}

// recall returns the hits for a text.
func (w *workshop) recall(text string) []sakur4.Hit {
	w.t.Helper()
	hits, err := w.eng.Recall(w.t.Context(), sakur4.Query{Text: text, K: 20})
	if err != nil {
		w.t.Fatalf("Recall(%q) = %v", text, err)
	}
	return hits.Items
}

// entry returns the hit with that id.
func (w *workshop) entry(text, id string) sakur4.Hit {
	w.t.Helper()
	hits := w.recall(text)
	for _, h := range hits {
		if h.ID == id {
			return h
		}
	}
	w.t.Fatalf("Recall(%q) = %+v, want %s in it", text, hits, id)
	return sakur4.Hit{}
}

func (w *workshop) staleness() sakur4.StalenessReport {
	w.t.Helper()
	r, err := w.eng.Staleness(w.t.Context(), 0)
	if err != nil {
		w.t.Fatalf("Staleness() = %v", err)
	}
	return r
}

func quoted(s string) string { return `"` + filepath.ToSlash(s) + `"` }
