package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	t.Parallel()
	root, db := tree(t, 12), filepath.Join(t.TempDir(), "a.db")
	_, sum := jsonRun(t, "-root", root, "-db", db, "-turns", "30", "-session", "first")
	wantHeld(t, sum, 30, 1)
	for _, c := range []struct {
		args []string
		want string // a regular expression
	}{
		{[]string{"status"}, `^proj_[0-9a-f]{16}: \d+ episodes, \d+ facts, 1 pins, 1 sessions; window 8192 tokens on embedded`},
		{[]string{"verify"}, `^\d+ episodes checked; of \d+ facts \d+ were read again in their sources, 0 .*, 0 .*, 0 .*; 0 problems\n$`},
		{[]string{"receipt"}, `(?s)^turn 30: \d+ of 8192 tokens.*raw history.*measured +\d+ reused`},
		{[]string{"receipt", "-all"}, `(?s)^turn 1: .*\nturn 30: [^\n]*\n$`},
		// Ids have lengths of their own in tokens: in a smaller window there is something to take whatever they are.
		{[]string{"plan", "-window", "6144"}, `(?s)compaction: \d+ → \d+ tokens.*ep_[0-9a-f]{16} tier `},
		{[]string{"episodes"}, `(?m)^ep_[0-9a-f]{16} +user +live +\d+ tokens  "Explore this folder`},
		{[]string{"episodes", "-all"}, `(?m)^Explore this folder and find out what it holds\.$`},
		{[]string{"sessions"}, `^first  \d+ episodes, last \d{4}-`},
		{[]string{"pins"}, `^pin_[0-9a-f]{16}  constraint +Never change a file of this folder; only read\.\n$`},
		{[]string{"evictions"}, `(?m)^win_[0-9a-f]{16}  ep_[0-9a-f]{16}  tier live → masked \(`},
		{[]string{"folds"}, `(?m)^fold_[0-9a-f]{16}: .*, closed, summary ep_`},
		{[]string{"recall", "journal", "socket"}, `(?m)^(ep|sym)_[0-9a-f]{16}  (episode|fact) .*\[.* rank \d+\]`},
	} {
		args := append([]string{c.args[0], "-root", root, "-db", db}, c.args[1:]...)
		got := runAgent(t, "", args...)
		if got.code != 0 || !regexp.MustCompile(c.want).MatchString(got.out) {
			t.Errorf("agent %q = %d, want 0 and %s; got %s%s", c.args, got.code, c.want, got.out, got.err)
		}
		asJSON := runAgent(t, "", append([]string{c.args[0], "-json", "-root", root, "-db", db}, c.args[1:]...)...)
		if asJSON.code != 0 || asJSON.out == "" {
			t.Errorf("agent %q -json = %d, %q, %s", c.args, asJSON.code, asJSON.out, asJSON.err)
		}
		for _, line := range strings.Split(strings.TrimSpace(asJSON.out), "\n") {
			if !json.Valid([]byte(line)) {
				t.Errorf("agent %q -json wrote %q, which is no JSON", c.args, line)
			}
		}
	}
	// Looking changes nothing.
	if got := runAgent(t, "", "receipt", "-root", root, "-db", db); !strings.HasPrefix(got.out, "turn 30: ") {
		t.Errorf("receipt after all commands = %s, want that of turn 30", got.out)
	}
}

func TestCommandsNeedStore(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "none.db")
	got := runAgent(t, "", "status", "-db", db)
	if got.code != 1 || !strings.Contains(got.err, "there is no store") {
		t.Errorf("status of no store = %d, %q; want 1 and the reason", got.code, got.err)
	}
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	root := tree(t, 1)
	got := runAgent(t, "", "doctor", "-root", root, "-policy", "scripted")
	for _, part := range []string{"store", "backend", "template", "tokenizer", "geometry"} {
		if !regexp.MustCompile(`(?m)^ok +` + part + ` `).MatchString(got.out) {
			t.Errorf("doctor says nothing good of the %s:\n%s", part, got.out)
		}
	}
	if got.code != 0 || strings.Contains(got.out, "problem") {
		t.Errorf("doctor = %d, want 0 and no problem; %s%s", got.code, got.out, got.err)
	}

	f := fake(t, func(int) []string { return nil })
	f.Close()
	got = runAgent(t, "", "doctor", "-json", "-root", root, "-llama", f.URL)
	problems := 0
	for _, line := range strings.Split(strings.TrimSpace(got.out), "\n") {
		var found finding
		if err := json.Unmarshal([]byte(line), &found); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		if !found.OK {
			problems++
			if found.Part != "backend" || found.Remedy == "" {
				t.Errorf("problem = %+v, want the backend with a remedy", found)
			}
		}
	}
	if got.code != 1 || problems != 1 {
		t.Errorf("doctor of a dead server = %d with %d problems, want 1 with one: %s", got.code, problems, got.out)
	}
}

// TestHelp: the help tells every command, and a command or a store in the wrong place is told where it belongs.
func TestHelp(t *testing.T) {
	t.Parallel()
	got := runAgent(t, "", "-h")
	if got.code != 0 || got.out != "" {
		t.Errorf("agent -h = %d, %q", got.code, got.out)
	}
	for _, name := range []string{"doctor", "status", "verify", "receipt", "plan", "episodes", "sessions", "pins", "evictions", "recall", "folds", "staleness", "dream",
		"index", "symbol", "impact", "map", "-db"} {
		if name != "-db" && command(name) == nil {
			t.Errorf("there is no command %s", name)
		}
		if !strings.Contains(got.err, " "+name+" ") && !strings.Contains(got.err, " "+name+"\n") {
			t.Errorf("agent -h does not tell %s:\n%s", name, got.err)
		}
	}
	for _, c := range []struct {
		args []string
		err  string
	}{
		{[]string{"-db", "x.db", "status"}, `unexpected argument "status": agent -h tells the commands, which stand in front of the flags`},
		{[]string{"symbol", "Open", "-db", "x.db"}, "name its file with -db, in front of other words"},
	} {
		if got := runAgent(t, "", c.args...); got.code != 2 || !strings.Contains(got.err, c.err) {
			t.Errorf("agent %q = %d, %q, want %q", c.args, got.code, got.err, c.err)
		}
	}
}
