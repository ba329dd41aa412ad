package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// madeUp has two conversations in which the same words mean different turns.
const madeUp = `[
 {"sample_id": "a", "conversation": {
   "speaker_a": "Ina", "speaker_b": "Ole",
   "session_1_date_time": "9:05 am on 3 March, 2021",
   "session_1": [
     {"speaker": "Ina", "dia_id": "D1:1", "text": "I planted a quince tree."},
     {"speaker": "Ole", "dia_id": "D1:2", "text": "Lovely! Where did you buy it?"},
     {"speaker": "Ina", "dia_id": "D1:3", "text": "At the nursery by the bridge.", "blip_caption": "a greenhouse"}],
   "session_3_date_time": "some day",
   "session_3": [
     {"speaker": "Ole", "dia_id": "D3:1", "text": "The kayak leaks again."},
     {"speaker": "Ina", "dia_id": "D3:2", "text": "Then patch it."}]},
  "qa": [
   {"question": "Who has a leaking kayak?", "evidence": ["D3:01"], "category": 4},
   {"question": "What did Ina plant, and what does the picture of the greenhouse show?", "evidence": ["D1:1; D1:3"], "category": 1},
   {"question": "What colour is the zeppelin?", "evidence": ["D1:2"], "category": 4},
   {"question": "Nothing?", "evidence": ["D9:9", ""], "category": 4},
   {"question": "Nobody?", "evidence": [], "category": 5}]},
 {"sample_id": "b", "conversation": {
   "speaker_a": "Pia", "speaker_b": "Max",
   "session_1": [
     {"speaker": "Pia", "dia_id": "D1:1", "text": "My kayak is new."},
     {"speaker": "Max", "dia_id": "D1:2", "text": "Mine has a quince on it."}]},
  "qa": [{"question": "Whose kayak is new?", "evidence": ["D1:1"], "category": 4}]}
]`

func TestRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "made-up.json")
	if err := os.WriteFile(path, []byte(madeUp), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-in", path, "-json"}, &out, os.Stderr); err != nil {
		t.Fatalf("run() = %v", err)
	}
	var got Result
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("Unmarshal(%s) = %v", out.Bytes(), err)
	}
	want := Result{
		Overall: Scores{R5: 0.75, R10: 0.75, R20: 0.75, MRR: 0.75, N: 4},
		Categories: map[string]Scores{
			"1": {R5: 1, R10: 1, R20: 1, MRR: 1, N: 1},
			"4": {R5: 2. / 3, R10: 2. / 3, R20: 2. / 3, MRR: 2. / 3, N: 3},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("run(-json) (-want +got):\n%s", diff)
	}
	out.Reset()
	if err := run(t.Context(), []string{"-in", path}, &out, os.Stderr); err != nil {
		t.Fatalf("run() = %v", err)
	}
	if lines := strings.Split(out.String(), "\n"); len(lines) != 5 || !strings.HasPrefix(lines[3], "overall          4  0.750") {
		t.Errorf("run() printed\n%s", out.String())
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(path, []byte(`[{"conversation": {"session_1": 3}}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {"-in", path}, {"-in", path + "x"}, {"-in", path, "more"}} {
		if err := run(t.Context(), args, &bytes.Buffer{}, &bytes.Buffer{}); err == nil {
			t.Errorf("run(%q) succeeded", args)
		}
	}
}

func TestTally(t *testing.T) {
	t.Parallel()
	var sum tally
	sum.add([]int{6, 0, 12, 3})
	sum.add([]int{0})
	want := Scores{R5: 0.125, R10: 0.25, R20: 0.375, MRR: 1. / 6, N: 2}
	if diff := cmp.Diff(want, sum.scores(), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("scores() (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Scores{}, new(tally).scores()); diff != "" {
		t.Errorf("scores() of nothing (-want +got):\n%s", diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(madeUp))
	f.Add([]byte(`[{"qa": [{"evidence": ["D:11:26 D1:02"]}]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parse(data)
		if err != nil {
			return
		}
		for _, c := range list {
			for _, q := range c.questions {
				if len(q.evidence) == 0 {
					t.Errorf("parse(%s): question %q has no evidence", data, q.text)
				}
			}
		}
	})
}

func TestHelpIsNoError(t *testing.T) {
	t.Parallel()
	var out, diagnostics bytes.Buffer
	if err := run(t.Context(), []string{"-h"}, &out, &diagnostics); err != nil || !strings.Contains(diagnostics.String(), "-in") {
		t.Errorf("run(-h) = %v, %q", err, diagnostics.String())
	}
}
