package sakur4_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"sakur4"
	"sakur4/internal/storetest"
)

// TestLaw01ChangedBytesAreAnError: what is on the disk is what was committed, or reading it fails with the episode's id.
func TestLaw01ChangedBytesAreAnError(t *testing.T) {
	t.Parallel()
	for _, change := range []string{"content = x'21'", "reasoning = x'21'", "calls = replace(calls, 'main.go', 'evil.go')", "tool_name = 'x'"} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			path := storePath(t)
			eng, err := sakur4.Open(t.Context(), path, fixed(4096))
			if err != nil {
				t.Fatal(err)
			}
			defer eng.Close()
			d := trialOn(t, eng, "main")
			d.user("Go on.")
			c := d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, Reasoning: "why", Content: "text", ToolCalls: []sakur4.ToolCall{{ID: "1", Name: "read", Arguments: `{"path":"main.go"}`}}})
			raw := storetest.Raw(t, path)
			if err := raw.Exec(`DROP TRIGGER episodic_stream_no_update; UPDATE episodic_stream SET ` + change + ` WHERE role = 'assistant'`); err != nil {
				t.Fatal(err)
			}
			named := func(err error) bool {
				return errors.Is(err, sakur4.ErrCorrupt) && strings.Contains(err.Error(), string(c.Episode))
			}
			if e, err := eng.Episode(t.Context(), c.Episode); !named(err) {
				t.Errorf("Episode(%s) = %+v, %v, want %v that names it", c.Episode, e, err, sakur4.ErrCorrupt)
			}
			var last error
			for _, err := range eng.Episodes(t.Context(), sakur4.EpisodeFilter{}) {
				last = err
			}
			if !named(last) {
				t.Errorf("Episodes() ended with %v, want %v that names %s", last, sakur4.ErrCorrupt, c.Episode)
			}
			if report, err := eng.Verify(t.Context()); !named(err) && !strings.Contains(strings.Join(report.Problems, ";"), string(c.Episode)) {
				t.Errorf("Verify() = %v, %v, want %v that names %s", report, err, sakur4.ErrCorrupt, c.Episode)
			}
		})
	}
}

// TestLaw05ChangedDecisionsAreAnError: a reopened session renders what was sent, or says which row is not what was written.
func TestLaw05ChangedDecisionsAreAnError(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ change, names string }{
		{`UPDATE render_decision SET body = CAST(replace(CAST(body AS TEXT), '"seq"', '"Seq"') AS BLOB) WHERE ord = 0`, "decisions 0 to "},
		{`UPDATE render_decision SET body = CAST(replace(CAST(body AS TEXT), '7:trimmed', '4:full') AS BLOB)`, "of session main"},
		{`DELETE FROM render_decision WHERE ord = 0`, "decision"},
		{`DELETE FROM render_decision WHERE ord = (SELECT max(ord) FROM render_decision)`, "decisions are left"},
		{`UPDATE render_state SET body = replace(body, 'careful', 'careless')`, "render state of session main"},
		{`UPDATE receipt SET body = '{}'`, "receipt of window win_"},
	} {
		t.Run(test.change, func(t *testing.T) {
			t.Parallel()
			path := storePath(t)
			d := newTrial(t, path, fixed(4096))
			d.variety()
			if err := d.eng.Close(); err != nil {
				t.Fatal(err)
			}
			if err := storetest.Raw(t, path).Exec(test.change); err != nil {
				t.Fatal(err)
			}
			eng := openEngine(t, path, fixed(4096))
			if w, err := eng.Session("main").Window(t.Context(), d.head); !errors.Is(err, sakur4.ErrCorrupt) || !strings.Contains(err.Error(), test.names) {
				t.Errorf("Window() = %v, %v, want %v that names %q", w, err, sakur4.ErrCorrupt, test.names)
			}
			if strings.Contains(test.change, "max(ord)") {
				return // what is left is whole; only the session's state knows that there was more
			}
			if report, err := eng.Verify(t.Context()); !errors.Is(err, sakur4.ErrCorrupt) || !strings.Contains(strings.Join(report.Problems, ";"), test.names) {
				t.Errorf("Verify() = %+v, %v, want a problem that names %q", report, err, test.names)
			}
		})
	}
}

// TestLaw02ChangedFactsAreAnError: each column that a parser gave a fact is compared with what the parser reads in the episode now.
func TestLaw02ChangedFactsAreAnError(t *testing.T) {
	t.Parallel()
	for _, change := range []string{"value = x'3234'", "ast_hash = zeroblob(32)", "byte_offset = byte_offset + 1", "line = line + 1", "source = 'csv'", "qualified_name = qualified_name || 'x'"} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			path := storePath(t)
			d := newTrial(t, path, fixed(4096))
			d.user("Ask.")
			d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: "1", Name: "fetch", Arguments: "{}"}}})
			got := d.commit(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: "1", Content: `{"answer": 42}`})
			if len(got.Facts) != 1 {
				t.Fatalf("Commit() read %d facts, want 1", len(got.Facts))
			}
			if _, err := d.eng.Verify(t.Context()); err != nil {
				t.Fatalf("Verify() before the change = %v", err)
			}
			if err := storetest.Raw(t, path).Exec(`UPDATE symbolic_fact SET ` + change); err != nil {
				t.Fatal(err)
			}
			report, err := d.eng.Verify(t.Context())
			if !errors.Is(err, sakur4.ErrCorrupt) || !strings.Contains(strings.Join(report.Problems, ";"), got.Facts[0].FactID) {
				t.Errorf("Verify() = %+v, %v, want a problem that names %s", report, err, got.Facts[0].FactID)
			}
		})
	}
}

// TestLaw10DamagedFactsThatWait: what a parser read in one result can be damaged before it is in the ledger. Whoever asks for facts is told, and where; sessions go on.
func TestLaw10DamagedFactsThatWait(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	d := newTrial(t, path, fixed(2048))
	d.user("Do it.")
	named := string(d.say("", sakur4.ToolCall{ID: "1", Name: "bash", Arguments: `{"command":"make"}`}).Episode)
	if err := storetest.Raw(t, path).Exec(`INSERT INTO fact_queue (seq, facts, seal) SELECT seq, x'01', 0 FROM episodic_stream WHERE role = 'assistant'`); err != nil {
		t.Fatal(err)
	}
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, sakur4.ErrCorrupt) || !strings.Contains(err.Error(), named) {
			t.Errorf("%s = %v, want %v that names %s", what, err, sakur4.ErrCorrupt, named)
		}
	}
	for _, err := range d.eng.Facts(t.Context(), sakur4.FactFilter{}) {
		refused("Facts()", err)
	}
	_, err := d.eng.Status(t.Context())
	refused("Status()", err)
	d.result("1", "failed\nexit status 2\n")
	d.window()
	d.say("Look at main.go and `parse`.")
	d.work(20, 600)
	if _, err := d.compact(800); err != nil {
		t.Errorf("Compact() = %v", err)
	}
	d.user("And internal/store/queue.go?")
	d.window()
	if _, err := d.eng.Session("main").Plan(t.Context(), d.head); err != nil {
		t.Errorf("Plan() = %v", err)
	}
	report, err := d.eng.Verify(t.Context())
	if !errors.Is(err, sakur4.ErrCorrupt) || !strings.Contains(strings.Join(report.Problems, ";"), "facts of "+named) {
		t.Errorf("Verify() = %+v, %v, want a problem that names %s", report, err, named)
	}
	refused("Close()", d.eng.Close())
}

// TestTimesFarOutside: a turn says when it happened or is refused; a filter may name any time.
func TestTimesFarOutside(t *testing.T) {
	t.Parallel()
	d := newTrial(t, storePath(t), fixed(4096))
	early, late := time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, at := range []time.Time{early, late} {
		d.refuse(sakur4.Turn{Role: sakur4.RoleUser, Content: "Go on.", At: at}, sakur4.ErrInvalidTurn)
	}
	d.user("The lighthouse.")
	n := 0
	for _, err := range d.eng.Episodes(t.Context(), sakur4.EpisodeFilter{Since: early, Until: late}) {
		if err != nil {
			t.Fatalf("Episodes(since %v, until %v) = %v", early, late, err)
		}
		n++
	}
	hits, err := d.eng.Recall(t.Context(), sakur4.Query{Text: "lighthouse", Since: early, Until: late})
	if n != 1 || err != nil || len(hits.Items) != 1 {
		t.Errorf("between the years 1000 and 9999: %d episodes, %d hits, %v, want 1 and 1", n, len(hits.Items), err)
	}
}
