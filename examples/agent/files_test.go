package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sakur4"
)

// opened returns an agent on the simulator whose store is in memory.
func opened(t *testing.T, root string, args ...string) *agent {
	t.Helper()
	cfg, err := parseFlags("", append([]string{"-root", root}, args...), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	a, err := open(t.Context(), cfg, streams{strings.NewReader(""), &strings.Builder{}, &strings.Builder{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// TestToolsStayInRoot tries the ways out of the root: none may show what lies outside.
func TestToolsStayInRoot(t *testing.T) {
	t.Parallel()
	outer := t.TempDir()
	root := filepath.Join(outer, "root")
	if err := os.MkdirAll(filepath.Join(root, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	const secret = "hunter2secret"
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(outer, "secret.txt"), secret+"\n")
	write(filepath.Join(root, "in", "open.txt"), "inside\n")
	for link, to := range map[string]string{"file": "../secret.txt", "dir": "..", "absolute": filepath.Join(outer, "secret.txt"), "in/deep": "../../secret.txt"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Skipf("skipped: this system makes no symbolic links: %v", err)
		}
	}
	a := opened(t, root)
	refused := []string{"../secret.txt", "in/../../secret.txt", "file", "absolute", "in/deep", "dir/secret.txt", filepath.Join(outer, "secret.txt"), `..\secret.txt`, "/etc/passwd"}
	for _, path := range refused {
		got := a.call(t.Context(), sakur4.ToolCall{Name: "read_file", Arguments: fmt.Sprintf(`{"path":%q}`, path)})
		if !strings.HasPrefix(got, "error: ") || strings.Contains(got, secret) {
			t.Errorf("read_file(%q) = %q, want an error", path, got)
		}
	}
	for _, path := range []string{"..", "dir", "/", "in/../.."} {
		got := a.call(t.Context(), sakur4.ToolCall{Name: "list_files", Arguments: fmt.Sprintf(`{"path":%q}`, path)})
		if strings.Contains(got, "secret.txt") {
			t.Errorf("list_files(%q) = %q, want nothing from outside", path, got)
		}
	}
	for _, path := range []string{"", "..", "dir", "file"} {
		got := a.call(t.Context(), sakur4.ToolCall{Name: "grep", Arguments: fmt.Sprintf(`{"pattern":"hunter","path":%q}`, path)})
		if strings.Contains(got, secret) {
			t.Errorf("grep in %q = %q, want nothing from outside", path, got)
		}
	}
	if got := a.call(t.Context(), sakur4.ToolCall{Name: "read.file", Arguments: `{"path":"in/../in/open.txt"}`}); got != "inside\n" {
		t.Errorf("read.file inside = %q, want the file", got)
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	root := tree(t, 3)
	a := opened(t, root)
	if _, err := a.commit(t.Context(), sakur4.Turn{Role: sakur4.RoleUser, Content: "Look for the walrus."}); err != nil {
		t.Fatal(err)
	}
	id := string(a.check.order[0])
	for _, c := range []struct{ tool, args, want string }{
		{"list_files", `{}`, `{"path":".","entries":[{"name":"config.json"`},
		{"list_files", ``, `"name":"part0"`},
		{"read_file", `{"path":"part0/file00.txt","offset":2,"limit":1}`, "line 2 of file 0: "},
		{"read_file", `{"path":"part0/file00.txt","offset":99}`, "error: part0/file00.txt has fewer than 99 lines"},
		{"read_file", `{"path":"part0"}`, "error: part0 is no regular file"},
		{"read_file", `{"file":"x"}`, "error: arguments: "},
		{"read_file", `{"path":`, "error: arguments: "},
		{"grep", `{"pattern":"^line 7 ","path":"part1"}`, "part1/file01.txt:7:line 7 of file 1"},
		{"grep", `{"pattern":"walrus"}`, "no line matches"},
		{"grep", `{"pattern":"("}`, "error: "},
		{"memory_recall", `{"query":"walrus","k":2}`, "Look for the walrus."},
		{"memory.episode", `{"id":"` + id + `"}`, "Look for the walrus."},
		{"memory_episode", `{"id":"ep_none"}`, "error: "},
		{"memory_pin", `{"text":"Never sing."}`, "pinned as pin_"},
		{"memory_pin", `{"text":""}`, "error: "},
		{"context_receipt", `{}`, "error: "}, // there was no prompt yet
		{"context_plan_eviction", `{}`, "compaction: "},
		{"sakur4.status", `{}`, "1 episodes"},
		{"run_command", `{"command":"echo hi"}`, `error: there is no tool "run_command"`},
		{"nonsense", `{}`, `error: there is no tool "nonsense"`},
	} {
		if got := a.call(t.Context(), sakur4.ToolCall{Name: c.tool, Arguments: c.args}); !strings.Contains(got, c.want) {
			t.Errorf("%s(%s) = %q, want %q in it", c.tool, c.args, got, c.want)
		}
	}
}

func TestCommandsNeedLeave(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("skipped: there is no /bin/sh")
	}
	a := opened(t, tree(t, 1), "-allow-exec")
	got := a.call(t.Context(), sakur4.ToolCall{Name: "run_command", Arguments: `{"command":"ls config.json; exit 3"}`})
	if got != "config.json\nexit status 3" {
		t.Errorf("run_command = %q, want the output and the status", got)
	}
	got = a.call(t.Context(), sakur4.ToolCall{Name: "run_command", Arguments: `{"command":"head -c 20000000 /dev/zero | tr '\\0' x"}`})
	if len(got) > maxFileBytes+100 || !strings.HasSuffix(got, "x\nexit status 0") {
		t.Errorf("run_command of 20 MB gave %d bytes, want at most %d and the status", len(got), maxFileBytes+100)
	}
}

// TestOwnWordsProveNothing holds the memory tools to the rule that what they return is no new fact, also where it quotes one.
func TestOwnWordsProveNothing(t *testing.T) {
	t.Parallel()
	a := opened(t, tree(t, 1))
	ctx := t.Context()
	mustCommit := func(turn sakur4.Turn) sakur4.Committed {
		t.Helper()
		c, err := a.commit(ctx, turn)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	mustCommit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Read the configuration."})
	use := func(name, args string) sakur4.Committed {
		t.Helper()
		call := sakur4.ToolCall{ID: "c", Name: name, Arguments: args}
		mustCommit(sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{call}})
		return mustCommit(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: "c", ToolName: name, Content: a.call(ctx, call)})
	}
	read := use("read_file", `{"path":"config.json"}`)
	if len(read.Facts) == 0 {
		t.Fatalf("read_file gave %+v, want facts", read)
	}
	for _, c := range [][2]string{
		{"memory_recall", `{"query":"retries limits"}`}, {"memory_episode", `{"id":"` + string(read.Episode) + `"}`},
		{"context_plan_eviction", `{}`}, {"sakur4_status", `{}`},
	} {
		if got := use(c[0], c[1]); len(got.Facts) != 0 {
			t.Errorf("%s gave %d facts, want none", c[0], len(got.Facts))
		}
	}
}
