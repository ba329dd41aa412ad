package toolparse_test

import (
	"strings"
	"testing"

	"sakur4/toolparse"
)

func TestExitCode(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line of output\n", 200)
	for _, c := range []struct {
		name, in string
		want     int
	}{
		// Statements at the top.
		{"first line", "Exit code 1\nboom", 1},
		{"first line alone", "Exit code 127", 127},
		{"labels before output", "Exit code: 2\nWall time: 1.3 seconds\nTotal output lines: 3\nOutput:\n" + long, 2},
		{"labels, code last", "Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code 3\nOriginal token count: 5\nOutput:\nexit status 1", 3},
		{"sentence before the label", "Command ran in '/w' and was not successful, inspect the cause.\nExit code: 4\nOutput:\nx", 4},
		{"remark in brackets", "exitcode: 1 (execution failed)\nCode output: x", 1},
		{"quoted command", "Command \"cargo test\" failed with exit code 101.\n\n```\nx\n```", 101},
		{"tags", "<exception>Timed out</exception>\n<returncode>-1</returncode>\n<output>\nx\n</output>", -1},
		{"tag among tags", "<task_id>b</task_id>\n\n<status>completed</status>\n\n<exit_code>0</exit_code>\n\n<output>\nExit code 9\n</output>", 0},
		{"log of commands", "bash -lc 'make test' exited 2 in 12ms:\nboom", 2},
		{"bold", "**Exit code:** `5`\n\nx", 5},
		// Statements at the end.
		{"last line", long + "\n\nCommand exited with code 1", 1},
		{"last line alone", "Command exited with code 1", 1},
		{"bracketed", "x\n[Command finished with exit code 2]", 2},
		{"twice the same", "x\n[The command completed with exit code 0.]\n[Current working directory: /w]\n[Command finished with exit code 0]", 0},
		{"labels behind output", "Command: ls\nDirectory: (root)\nStdout: a\nb\nStderr: (empty)\nError: (none)\nExit Code: 1\nSignal: (none)\nProcess Group PGID: 12", 1},
		{"element behind", "boom\n\nExit code 1\n\n<cwd>/w</cwd>", 1},
		{"angle brackets", "x\n<exited with exit code 7>", 7},
		{"in an element", "x\n<system>ERROR: Command failed with exit code: 1.</system>", 1},
		{"go run", "panic: x\n\ngoroutine 1\nexit status 2", 2},
		{"exit status in brackets", "x\n[exit status 3]", 3},
		{"short in brackets", "x\n[exit 3]", 3},
		{"make", "make[1]: *** [Makefile:9: all] Error 1\nmake: *** [Makefile:12: test] Error 2", 2},
		{"the wrapper's word goes first", "exit status 1\n\nCommand exited with code 2", 2},
		{"yarn", "x\nerror Command failed with exit code 1.", 1},
		{"kubectl", "x\ncommand terminated with exit code 126", 126},
		{"docker", "The command '/bin/sh -c make' returned a non-zero code: 2", 2},
		{"key and value", "exit_code=3", 3},
		{"CRLF", "x\r\n\r\nCommand exited with code 1\r\n", 1},
		// JSON.
		{"json", `{"exit_code":1}`, 1},
		{"json metadata", `{"output":"x","metadata":{"exit_code":2,"duration_seconds":0.1}}`, 2},
		{"json camel", "{\n \"exitCode\": 3, \"stdout\": \"\"}", 3},
		{"json code beside streams", `{"code":4,"stdout":"a","stderr":""}`, 4},
		{"json status beside streams", `{"status":5,"signal":null,"stdout":""}`, 5},
		{"json exit in metadata", `{"title":"x","metadata":{"exit":6},"output":""}`, 6},
		{"json said twice", `{"exit_code":1,"metadata":{"exit_code":1}}`, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := toolparse.ExitCode(c.in)
			if err != nil || got.Code != c.want {
				t.Fatalf("ExitCode(%q) = %+v, %v, want %d", c.in, got, err, c.want)
			}
			if c.in[got.Offset:got.Offset+len(got.Raw)] != got.Raw || got.Line != 1+strings.Count(c.in[:got.Offset], "\n") {
				t.Errorf("ExitCode(%q) = %+v: the position is not that of the number", c.in, got)
			}
		})
	}
}

func TestNoExitCode(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line of output\n", 200)
	for _, in := range []string{
		"", "0", "ok",
		"Exit code 1 shows stderr to the user",
		"JSON is only processed on exit code 0",
		"The command exited with code 1 because the file is missing.",
		"I think the command that you ran exited with code 1",
		"text += `Command exited with code ${code}`;",
		"if err != nil { // exit code 1",
		"os.Exit(1)", "exit 1", "sys.exit(2)",
		"exit_code = 0",
		"    12\tExit code 1",
		"main.go:12: Exit code 1",
		"Process running with session ID 54321",
		"Wall time: 12 seconds\nOutput:\nx",
		"Command timed out after 120000 ms",
		"Command was aborted before completion",
		"<bash_metadata>\nbash tool terminated command after exceeding timeout 120000 ms\n</bash_metadata>",
		"[The command has no new output after 10 seconds. You may wait longer]",
		long + "Exit code 1\n" + long,
		long + "exit status 1\n" + long,
		"<output>\n<exit_code>1</exit_code>\n" + long + "</output>",
		"[The command completed with exit code 0.]\n[Command finished with exit code 1]",
		"Exit code 1\n" + long + "\nCommand exited with code 2",
		"Exit code 99999999999999999999", "Exit code 01", "Exit code 1.5", "Exit code 1s", "Exit code: one",
		`{"exit_code":null}`, `{"exit_code":"1"}`, `{"exit_code":1.5}`, `{"exit_code":1,"metadata":{"exit_code":2}}`,
		`{"code":404,"message":"not found"}`, `{"status":200,"body":"x"}`, `{"data":{"status":1,"stdout":""}}`, `{"a":{"b":{"exit_code":1}}}`, `[{"exit_code":1}]`,
		`{"exit_code":1`,
	} {
		if got, err := toolparse.ExitCode(in); err == nil {
			t.Errorf("ExitCode(%.120q) = %+v, want none", in, got)
		}
	}
}

func FuzzExitCode(f *testing.F) {
	for _, s := range []string{"Exit code 1", "x\n[exit status 2]", `{"exit_code":1}`, "<exit_code>1</exit_code>", "make: *** [x] Error 2", "<system>exit code: 1</system>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		st, err := toolparse.ExitCode(s)
		if err == nil && s[st.Offset:st.Offset+len(st.Raw)] != st.Raw {
			t.Errorf("ExitCode(%q) = %+v: the position is not that of the number", s, st)
		}
	})
}
