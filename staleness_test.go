package sakur4_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4"
	"sakur4/evict"
	"sakur4/semantic"
	"sakur4/symbolic"
)

const poolSource = `package pool

// Pool runs jobs.
func Pool(n int) *Group { return start(n) }

func start(n int) *Group { return &Group{n} }

type Group struct{ n int }
`

// TestStalenessWithoutIndex interprets a function, edits its file and asks: no index in between, and no window in which the interpretation looks fresh.
func TestStalenessWithoutIndex(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		edit   func(*workshop)
		want   semantic.Freshness
		value  string // current, a part of it
		reason string
	}{
		{"untouched", func(*workshop) {}, semantic.Fresh, "", ""},
		{"comment and spacing", func(w *workshop) {
			w.write("pool.go", strings.Replace(poolSource, "// Pool runs jobs.\nfunc Pool(n int)", "// Pool is fast.\n\n\nfunc  Pool( n int )", 1))
		}, semantic.Fresh, "", ""},
		{"another function", func(w *workshop) { w.write("pool.go", strings.Replace(poolSource, "&Group{n}", "&Group{n+1}", 1)) }, semantic.Fresh, "", ""},
		{"moved within the file", func(w *workshop) {
			w.write("pool.go", strings.Replace(poolSource, "// Pool runs jobs.", "type Job func()\n", 1))
		}, semantic.Fresh, "", ""},
		{"signature", func(w *workshop) {
			w.write("pool.go", strings.Replace(poolSource, "Pool(n int)", "Pool(n, limit int)", 1))
		}, semantic.Stale, "func Pool(n, limit int) *Group", "changed since this summary was written — summary is not authoritative"},
		{"body", func(w *workshop) { w.write("pool.go", strings.Replace(poolSource, "start(n) }", "start(n+1) }", 1)) }, semantic.Stale,
			"func Pool(n int) *Group", "changed since this summary was written — summary is not authoritative"},
		{"syntax error elsewhere", func(w *workshop) { w.write("pool.go", poolSource+"\nfunc broken( {\n") }, semantic.Fresh, "", ""},
		{"function deleted", func(w *workshop) { w.write("pool.go", "package pool\n\nfunc start() {}\n") }, semantic.Gone, "", "the anchor no longer exists at all"},
		{"file deleted", func(w *workshop) { w.remove("pool.go") }, semantic.Gone, "", "the anchor no longer exists at all"},
		{"a folder in its place", func(w *workshop) { w.remove("pool.go"); w.write("pool.go/x", "") }, semantic.Unverified, "", "could not be checked"},
		{"edited and edited back", func(w *workshop) {
			w.write("pool.go", "package pool\n")
			w.staleness()
			w.write("pool.go", poolSource)
		}, semantic.Fresh, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkshop(t, nil)
			w.user("How does the pool start?")
			w.write("pool.go", poolSource)
			id := w.interpret(sakur4.FactAnchor(w.symbol("pool.go", "Pool")), "The pool waits for nobody.")
			fresh := w.entry("pool waits", id)
			if fresh.Stale || fresh.Unverified || fresh.Current != "" || fresh.Freshness != semantic.Fresh || fresh.Kind != sakur4.HitEntry {
				t.Fatalf("before the edit: %+v, want it fresh", fresh)
			}
			c.edit(w)
			got := w.entry("pool waits", id)
			if got.Freshness != c.want || got.Stale != c.want.Stale() || got.Unverified != (c.want == semantic.Unverified) {
				t.Errorf("Recall = %v, stale %t, unverified %t, want %v", got.Freshness, got.Stale, got.Unverified, c.want)
			}
			if (c.value == "") != (got.Current == "") || !strings.Contains(got.Current, c.value) {
				t.Errorf("Recall: current value %q, want %q", got.Current, c.value)
			}
			if c.reason != "" && !slices.ContainsFunc(got.Reasons, func(r string) bool { return strings.Contains(r, c.reason) }) {
				t.Errorf("Recall: reasons %q, want one with %q", got.Reasons, c.reason)
			}
			if want := semantic.Penalise(fresh.Score, c.want); got.Score != want {
				t.Errorf("Recall: score %v, was %v, want %v", got.Score, fresh.Score, want)
			}
			text := sakur4.Hits{Items: []sakur4.Hit{got}}.String()
			if strings.Contains(text, semantic.StaleHeading) != c.want.Stale() || strings.Contains(text, "UNVERIFIED SUMMARY") != got.Unverified ||
				!strings.Contains(text, c.value) {
				t.Errorf("Hits.String() of a %v entry:\n%s", c.want, text)
			}
			r := w.staleness()
			if listed := len(r.Items) == 1 && r.Items[0].ID == id && r.Items[0].Freshness == c.want && strings.Contains(r.Items[0].Current, c.value); listed == (c.want == semantic.Fresh) || r.Entries != 1 {
				t.Errorf("Staleness = %+v, want the entry in it: %t", r, c.want != semantic.Fresh)
			}
			if want := map[bool]float64{true: 1}[c.want.Stale()]; r.Rate != want {
				t.Errorf("Staleness: rate %v, want %v", r.Rate, want)
			}
		})
	}
}

// TestStalenessOfOtherSources: what is read from a file is checked in the file, whatever the parser; what a tool says is the ledger's.
func TestStalenessOfOtherSources(t *testing.T) {
	t.Parallel()
	factOf := func(w *workshop, c sakur4.Committed, end string) sakur4.FactID {
		w.t.Helper()
		for _, f := range c.Facts {
			if strings.HasSuffix(f.QualifiedName, end) {
				return sakur4.FactID(f.FactID)
			}
		}
		w.t.Fatalf("no fact %q: %+v", end, c.Facts)
		return ""
	}
	const table = "name,age\nada,36\nalan,41\ngrace,85\n"
	for _, c := range []struct {
		name   string
		anchor func(*workshop) sakur4.FactID
		edit   func(*workshop)
		want   semantic.Freshness
		value  string
	}{
		{"json file", func(w *workshop) sakur4.FactID {
			w.write("p.json", `{"version": "1.0", "n": 1}`)
			return factOf(w, w.open("p.json"), "/version")
		}, func(w *workshop) { w.write("p.json", `{"n": 2, "version": "1.1"}`) }, semantic.Stale, "1.1"},
		{"json file, another field", func(w *workshop) sakur4.FactID {
			w.write("p.json", `{"version": "1.0", "n": 1}`)
			return factOf(w, w.open("p.json"), "/version")
		}, func(w *workshop) { w.write("p.json", `{"n": 2, "version": "1.0"}`) }, semantic.Fresh, ""},
		{"json file, field gone", func(w *workshop) sakur4.FactID {
			w.write("p.json", `{"version": "1.0", "n": 1}`)
			return factOf(w, w.open("p.json"), "/version")
		}, func(w *workshop) { w.write("p.json", `[{"version": "1.0", "n": 1}]`) }, semantic.Gone, ""},
		{"json file, broken", func(w *workshop) sakur4.FactID {
			w.write("p.json", `{"version": "1.0", "n": 1}`)
			return factOf(w, w.open("p.json"), "/version")
		}, func(w *workshop) { w.write("p.json", `{"version": "1.0", "n": `) }, semantic.Unverified, ""},
		{"csv file", func(w *workshop) sakur4.FactID {
			w.write("t.csv", table)
			return factOf(w, w.open("t.csv"), ":age")
		}, func(w *workshop) { w.write("t.csv", table+"edsger,72\n") }, semantic.Stale, "4 rows"},
		{"csv file, some lines of it", func(w *workshop) sakur4.FactID {
			w.write("t.csv", table)
			return factOf(w, w.call("read_file", `{"path":"t.csv","limit":3}`, "name,age\nada,36\nalan,41\n"), ":age")
		}, func(w *workshop) { w.write("t.csv", table+"edsger,72\n") }, semantic.Fresh, ""},
		{"csv file, some lines of it, edited", func(w *workshop) sakur4.FactID {
			w.write("t.csv", table)
			return factOf(w, w.call("read_file", `{"path":"t.csv","limit":3}`, "name,age\nada,36\nalan,41\n"), ":age")
		}, func(w *workshop) { w.write("t.csv", strings.Replace(table, "36", "37", 1)) }, semantic.Stale, "37"},
		{"absolute path", func(w *workshop) sakur4.FactID {
			w.write("p.json", `{"version": "1.0", "n": 1}`)
			return factOf(w, w.call("read_file", `{"path":`+quoted(filepath.Join(w.dir, "p.json"))+`}`, `{"version": "1.0", "n": 1}`), "/version")
		}, func(w *workshop) { w.write("p.json", `{"version": "2.0"}`) }, semantic.Stale, "2.0"},
		{"outside of the root", func(w *workshop) sakur4.FactID {
			return factOf(w, w.call("read_file", `{"path":"../p.json"}`, `{"version": "1.0", "n": 1}`), "/version")
		}, func(*workshop) {}, semantic.Unverified, ""},
		{"link to the outside", func(w *workshop) sakur4.FactID {
			w.write("p.json", `{"version": "1.0", "n": 1}`)
			return factOf(w, w.open("p.json"), "/version")
		}, func(w *workshop) {
			out := filepath.Join(w.t.(*testing.T).TempDir(), "p.json")
			if err := os.WriteFile(out, []byte(`{"version": "1.0", "n": 1}`), 0o600); err != nil {
				w.t.Fatal(err)
			}
			w.remove("p.json")
			if err := os.Symlink(out, filepath.Join(w.dir, "p.json")); err != nil {
				w.t.Skip(err)
			}
		}, semantic.Unverified, ""},
		{"tool", func(w *workshop) sakur4.FactID {
			return factOf(w, w.call("get_status", `{"of":"build"}`, `{"state": "red", "n": 1}`), "/state")
		}, func(w *workshop) { w.call("get_status", `{"of":"build"}`, `{"state": "green", "n": 1}`) }, semantic.Stale, "green"},
		{"tool, another call", func(w *workshop) sakur4.FactID {
			return factOf(w, w.call("get_status", `{"of":"build"}`, `{"state": "red", "n": 1}`), "/state")
		}, func(w *workshop) { w.call("get_status", `{"of":"lint"}`, `{"state": "green", "n": 1}`) }, semantic.Fresh, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkshop(t, nil)
			w.user("What is it?")
			id := w.interpret(sakur4.FactAnchor(c.anchor(w)), "Marzipan holds the building together.")
			c.edit(w)
			got := w.entry("marzipan", id)
			if got.Freshness != c.want || (c.value == "") != (got.Current == "") || !strings.Contains(got.Current, c.value) {
				t.Errorf("Recall = %v, current %q, reasons %q; want %v, %q", got.Freshness, got.Current, got.Reasons, c.want, c.value)
			}
		})
	}
}

// TestStalenessOfACutSymbol: of a function that was read to its middle nothing can be said while that half stands, and it is stale once it does not.
func TestStalenessOfACutSymbol(t *testing.T) {
	t.Parallel()
	const long = "package p\n\nfunc Long() int {\n\ta := 1\n\tb := 2\n\treturn a + b\n}\n"
	w := newWorkshop(t, nil)
	w.user("Read.")
	w.write("p.go", long)
	facts := w.symbols(w.call("read_file", `{"path":"p.go","limit":4}`, "package p\n\nfunc Long() int {\n\ta := 1\n"))
	at := slices.IndexFunc(facts, func(f symbolic.Fact) bool { return strings.HasSuffix(f.QualifiedName(), ":Long") })
	if at < 0 {
		t.Skipf("a cut function gives no fact: %v", facts)
	}
	id := w.interpret(sakur4.FactAnchor(sakur4.FactID(facts[at].ID())), "Marzipan.")
	if got := w.entry("marzipan", id); got.Freshness != semantic.Unverified {
		t.Errorf("untouched: %v, want unverified", got.Freshness)
	}
	w.write("p.go", strings.Replace(long, "a := 1", "a := 3", 1))
	if got := w.entry("marzipan", id); got.Freshness != semantic.Stale {
		t.Errorf("edited: %v, want stale", got.Freshness)
	}
}

// TestStalenessOfNamedProject: a project without a folder has no files to look at, and another project's files are not looked at.
func TestStalenessOfNamedProject(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	w := &workshop{trial: newTrial(t, path, &sakur4.Options{Project: "named"})}
	w.user("Read.")
	c := w.call("read_file", `{"path":"go.mod.json"}`, `{"version": "1.0", "n": 1}`)
	id := w.interpret(sakur4.FactAnchor(sakur4.FactID(c.Facts[0].FactID)), "Marzipan.")
	if got := w.entry("marzipan", id); got.Freshness != semantic.Unverified {
		t.Errorf("Recall in a named project = %v, want unverified", got.Freshness)
	}
	other := openEngine(t, path, &sakur4.Options{ProjectRoot: t.TempDir()})
	hits, err := other.Recall(t.Context(), sakur4.Query{Text: "marzipan", Project: w.eng.Project()})
	if err != nil || len(hits.Items) != 1 || !hits.Items[0].Unverified {
		t.Errorf("Recall of another project = %+v, %v, want one unverified entry", hits, err)
	}
	if hits, err = other.Recall(t.Context(), sakur4.Query{Text: "marzipan"}); err != nil || len(hits.Items) != 0 {
		t.Errorf("Recall = %+v, %v, want nothing of another project", hits, err)
	}
	if r, err := other.Staleness(t.Context(), 0); err != nil || r.Entries != 0 {
		t.Errorf("Staleness = %+v, %v, want nothing of another project", r, err)
	}
}

// TestSupersededIsNotStale: an interpretation of a turn that was corrected is superseded, behind the turn that corrects it.
func TestSupersededIsNotStale(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	old := w.user("The deadline is on Tuesday.")
	id := w.interpret(sakur4.EpisodeAnchor(old.Episode), "The deadline, Tuesday, is near.")
	w.say("Noted.")
	next := w.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "No, the deadline is on Friday.", Corrects: old.Episode})
	got := w.entry("deadline tuesday", id)
	if got.Stale || got.Freshness != semantic.Fresh || !got.Superseded || got.Current != string(next.Episode) {
		t.Errorf("Recall = %+v, want it superseded by %s and not stale", got, next.Episode)
	}
	hits := w.recall("deadline tuesday")
	at := func(id string) int { return slices.IndexFunc(hits, func(h sakur4.Hit) bool { return h.ID == id }) }
	if at(string(next.Episode)) < 0 || at(string(next.Episode)) > at(id) || at(string(next.Episode)) > at(string(old.Episode)) {
		t.Errorf("Recall = %+v, want the correction in front of what it corrects", hits)
	}
	if r := w.staleness(); r.Stale != 0 || r.Superseded != 1 || len(r.Items) != 0 {
		t.Errorf("Staleness = %+v, want one superseded and none stale", r)
	}
}

// TestStalenessLimit: a limit bounds what is listed, not what is counted.
func TestStalenessLimit(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	w.user("Read.")
	w.write("pool.go", poolSource)
	id := sakur4.FactAnchor(w.symbol("pool.go", "Pool"))
	for range 5 {
		w.interpret(id, "It starts.")
	}
	w.interpret(sakur4.FactAnchor(w.symbol("pool.go", "start")), "It is small.")
	w.write("pool.go", strings.Replace(poolSource, "Pool(n int)", "Pool(n uint)", 1))
	r, err := w.eng.Staleness(t.Context(), 2)
	if err != nil || r.Entries != 6 || r.Stale != 5 || len(r.Items) != 2 || r.LeftOut != 3 || r.Rate != 5.0/6 {
		t.Errorf("Staleness(2) = %+v, %v, want 5 of 6 stale, 2 listed", r, err)
	}
	if len(r.Items) > 0 && (r.Items[0].File != "pool.go" || !strings.HasSuffix(r.Items[0].Name, ":Pool") || r.Items[0].Was != "func Pool(n int) *Group" ||
		r.Items[0].Current != "func Pool(n uint) *Group") {
		t.Errorf("Staleness: item %+v, want what changed", r.Items[0])
	}
	if text := r.String(); !strings.Contains(text, "5 of 6 interpretations are stale") || !strings.Contains(text, "3 more") {
		t.Errorf("StalenessReport.String() = %s", text)
	}
}

// TestFactsOfEditedFiles: a fact stays what was read, and says when its file has another value by now.
func TestFactsOfEditedFiles(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	w.user("Read.")
	w.write("pool.go", poolSource)
	id := w.symbol("pool.go", "Pool")
	if got := w.entry("pool", string(id)); got.Stale || got.Current != "" {
		t.Errorf("Recall of an unchanged fact = %+v, want it as it is", got)
	}
	w.write("pool.go", strings.Replace(poolSource, "Pool(n int)", "Pool(n uint)", 1))
	got := w.entry("pool", string(id))
	if !got.Stale || got.Current != "func Pool(n uint) *Group" || !strings.Contains(got.Text, "func Pool(n int)") {
		t.Errorf("Recall of a fact whose file changed = %+v, want its text and the current value", got)
	}
	if _, err := w.eng.Rederive(t.Context(), id); err != nil {
		t.Errorf("Rederive of a tool's fact = %v: its episode still says the same", err)
	}
}

// TestInterpretRefuses: each refusal stores nothing.
func TestInterpretRefuses(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	w := &workshop{trial: newTrial(t, path, &sakur4.Options{ProjectRoot: t.TempDir()})}
	other := &workshop{trial: newTrial(t, path, &sakur4.Options{ProjectRoot: t.TempDir()})}
	ep := w.user("Hello.")
	foreign := other.call("get_status", `{}`, `{"state": "red", "n": 1}`)
	good := sakur4.EpisodeAnchor(ep.Episode)
	for _, c := range []struct {
		name   string
		anchor sakur4.AnchorRef
		text   string
		want   error
	}{
		{"zero anchor", sakur4.AnchorRef{}, "x", sakur4.ErrAnchorMissing},
		{"no such fact", sakur4.FactAnchor("sym_0"), "x", sakur4.ErrAnchorMissing},
		{"no such episode", sakur4.EpisodeAnchor("ep_0"), "x", sakur4.ErrAnchorMissing},
		{"an episode named as a fact", sakur4.FactAnchor(sakur4.FactID(ep.Episode)), "x", sakur4.ErrAnchorMissing},
		{"another type", sakur4.AnchorRef{Type: "file", ID: string(ep.Episode)}, "x", sakur4.ErrAnchorMissing},
		{"another project's episode", sakur4.EpisodeAnchor(foreign.Episode), "x", sakur4.ErrAnchorMissing},
		{"another project's fact", sakur4.FactAnchor(sakur4.FactID(foreign.Facts[0].FactID)), "x", sakur4.ErrAnchorMissing},
		{"empty", good, "", sakur4.ErrInvalidEntry},
		{"blank", good, " \n\t", sakur4.ErrInvalidEntry},
		{"our own words", good, sakur4.Frame("recalled", "x"), sakur4.ErrInvalidEntry},
		{"our own words in the middle", good, "it said <sakur4:note kind=\"x\">", sakur4.ErrInvalidEntry},
		{"too long", good, strings.Repeat("x", sakur4.MaxEntryBytes+1), sakur4.ErrTooLarge},
	} {
		if en, err := w.s.Interpret(t.Context(), c.anchor, c.text); !errors.Is(err, c.want) || en != (semantic.Entry{}) {
			t.Errorf("%s: Interpret = %+v, %v, want %v", c.name, en, err, c.want)
		}
	}
	st, err := w.eng.Status(t.Context())
	if err != nil || st.Own.Entries != 0 || st.Store.Entries != 0 {
		t.Errorf("Status() = %+v, %v, want no entries after refusals", st, err)
	}
	for _, text := range []string{"<|im_start|>system", "a\x00b", "caf\xe9"} {
		en, err := w.s.Interpret(t.Context(), good, text)
		if err != nil || en.Origin != semantic.Interpreted || en.AnchorID != string(ep.Episode) || en.Session != w.s.ID() || en.Text != strings.ToValidUTF8(text, "\ufffd") {
			t.Errorf("Interpret(%q) = %+v, %v", text, en, err)
		}
	}
}

// TestStaleHitOnTheWire: the names of the fields that a model is told to look at.
func TestStaleHitOnTheWire(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	w.user("How does the pool start?")
	w.write("pool.go", poolSource)
	fact := w.symbol("pool.go", "Pool")
	id := w.interpret(sakur4.FactAnchor(fact), "The pool waits for nobody.")
	w.write("pool.go", strings.Replace(poolSource, "Pool(n int)", "Pool(n, limit int)", 1))
	body, err := json.Marshal(w.entry("pool waits", id))
	if err != nil {
		t.Fatal(err)
	}
	var hit map[string]any
	if err := json.Unmarshal(body, &hit); err != nil {
		t.Fatal(err)
	}
	value, _ := hit["current_value"].(string)
	reasons := fmt.Sprint(hit["reasons"])
	if hit["stale"] != true || hit["text"] != "The pool waits for nobody." || !strings.Contains(value, "Pool(n, limit int)") ||
		!strings.Contains(reasons, "anchor "+string(fact)+" changed since this summary was written — summary is not authoritative") {
		t.Errorf("a stale hit is %s, want text, stale, current_value and the reason", body)
	}
	if body, err = json.Marshal(w.staleness()); err != nil || !strings.Contains(string(body), `"stale":1`) || !strings.Contains(string(body), `"stale_rate":1`) {
		t.Errorf("a report of staleness is %s, %v, want the count and the rate", body, err)
	}
}

// TestEntriesKeepToTheirSession: an interpretation is found in the session in which it was written, and in all of the project.
func TestEntriesKeepToTheirSession(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	ep := w.user("Hello.")
	id := w.interpret(sakur4.EpisodeAnchor(ep.Episode), "The lighthouse keeper greets.")
	for session, want := range map[string]bool{"": true, w.s.ID(): true, "another": false} {
		hits, err := w.eng.Recall(t.Context(), sakur4.Query{Text: "lighthouse", Session: session})
		if found := slices.ContainsFunc(hits.Items, func(h sakur4.Hit) bool { return h.ID == id }); err != nil || found != want {
			t.Errorf("Recall(session %q) = %+v, %v, want the entry: %t", session, hits.Items, err, want)
		}
	}
}

// TestLooksChangeNothing: asking after staleness, also of what is stale, gone and unverified, leaves every row as it was.
func TestLooksChangeNothing(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	o := &sakur4.Options{ProjectRoot: t.TempDir()}
	w := &workshop{newTrial(t, path, o), o.ProjectRoot}
	w.user("Read.")
	for _, name := range []string{"a.go", "b.go", "c.go", "d.go"} {
		w.write(name, poolSource)
		w.interpret(sakur4.FactAnchor(w.symbol(name, "Pool")), "Pool of "+name)
	}
	w.write("b.go", strings.Replace(poolSource, "Pool(n int)", "Pool(n uint)", 1))
	w.write("c.go", "package pool\n")
	w.remove("d.go")
	w.write("d.go/x", "")
	w.recall("pool") // fills the index
	before := rows(t, path)
	for range 3 {
		w.recall("pool")
		if r := w.staleness(); r.Entries != 4 || r.Stale != 2 || r.Unverified != 1 {
			t.Errorf("Staleness = %+v, want 2 stale and 1 unverified of 4", r)
		}
		for _, err := range w.eng.Entries(t.Context(), sakur4.EntryFilter{All: true}) {
			if err != nil {
				t.Error(err)
			}
		}
	}
	if diff := cmp.Diff(before, rows(t, path)); diff != "" {
		t.Errorf("rows after looking (-want +got):\n%s", diff)
	}
}

// TestFileFacts: a fact that was read in a file itself is had again from the file as it is, and Verify tells what has moved on from damage.
func TestFileFacts(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	w.user("Read.")
	w.write("pool.go", longSource(1))
	w.symbols(w.open("pool.go"))
	w.dream(sakur4.DreamOptions{})
	w.write("pool.go", longSource(2))
	r := w.dream(sakur4.DreamOptions{})
	if r.Regenerated != 1 {
		t.Fatalf("Dream = %+v, want one regenerated from the file", r)
	}
	id := sakur4.FactID(r.Items[0].Anchor.ID)
	verify := func(rederived, drifted, gone, unverified int) {
		t.Helper()
		v, err := w.eng.Verify(t.Context())
		if err != nil || v.Rederived != rederived || v.Drifted != drifted || v.Gone != gone || v.Unverified != unverified {
			t.Errorf("Verify() = %+v, %v, want %d rederived, %d drifted, %d gone, %d unverified", v, err, rederived, drifted, gone, unverified)
		}
	}
	all := len(allFacts(t, w.eng))
	f, err := w.eng.Rederive(t.Context(), id)
	if err != nil || f.EpisodeID() != "" || f.FilePath() != "pool.go" || f.ID() != string(id) {
		t.Errorf("Rederive() = %v, %v, want the file's fact", f, err)
	}
	verify(all, 0, 0, 0)
	w.write("pool.go", strings.ReplaceAll(longSource(3), "queueLength int", "queueLength uint"))
	var stale *sakur4.StaleError
	if _, err := w.eng.Rederive(t.Context(), id); !errors.As(err, &stale) || !errors.Is(err, sakur4.ErrStale) || !strings.Contains(stale.Current, "queueLength uint") || stale.Gone {
		t.Errorf("Rederive() after an edit = %v, want a StaleError with the value of now", err)
	}
	verify(all-1, 1, 0, 0)
	w.remove("pool.go")
	if _, err := w.eng.Rederive(t.Context(), id); !errors.As(err, &stale) || !stale.Gone {
		t.Errorf("Rederive() of a deleted file = %v, want a StaleError that says gone", err)
	}
	verify(all-1, 0, 1, 0)
	w.write("pool.go/x", "")
	if _, err := w.eng.Rederive(t.Context(), id); !errors.Is(err, sakur4.ErrUnverified) {
		t.Errorf("Rederive() of what cannot be read = %v, want ErrUnverified", err)
	}
	verify(all-1, 0, 0, 1)
}

// TestInterpretedIsNotDropped: an interpretation depends on its turn, which is kept for it however full the window is.
func TestInterpretedIsNotDropped(t *testing.T) {
	t.Parallel()
	p := evict.Policy{AllowDrop: true}
	w := newWorkshop(t, &sakur4.Options{Window: 2048, Policy: &p})
	w.user("Go.")
	c := w.newCall("read", `{"path":"x"}`)
	w.commit(sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{c}, Droppable: true})
	old := w.commit(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: c.ID, Content: w.prose(400), Droppable: true})
	kept := w.say("Kumquats matter.")
	w.user("Go on.")
	id := w.interpret(sakur4.EpisodeAnchor(old.Episode), "Marzipan.")
	w.interpret(sakur4.EpisodeAnchor(kept.Episode), "Marzipan too.")
	// An entry depends on its anchor: what somebody has interpreted is not dropped.
	w.work(30, 600)
	if ep, err := w.eng.Episode(t.Context(), old.Episode); err != nil || ep.Tier == evict.Dropped {
		t.Errorf("Episode(%s) = tier %v, %v: it was dropped although it has an interpretation", old.Episode, ep.Tier, err)
	}
	if hits := w.recall("marzipan"); !slices.ContainsFunc(hits, func(h sakur4.Hit) bool { return h.ID == id }) {
		t.Errorf("Recall = %+v, want the interpretation", hits)
	}
}
