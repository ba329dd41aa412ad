package episode_test

import (
	"errors"
	"testing"

	"sakur4/internal/episode"
	"sakur4/internal/frame"
)

func result(tool, content string) episode.Record {
	return episode.Record{ID: "ep_1", Project: "proj_a", Session: "s", Role: episode.Tool, CallID: "c1", ToolName: tool, Content: content}
}

func TestFromResult(t *testing.T) {
	t.Parallel()
	ev, err := episode.FromResult(result("", "x\x00\xff"), episode.Call{ID: "c1", Name: "read_file", Arguments: `{"path":"a.go"}`})
	if err != nil || !ev.Valid() || ev.IsFile() || ev.ToolName() != "read_file" || ev.FilePath() != "a.go" || ev.Content() != "x\x00\xff" ||
		ev.EpisodeID() != "ep_1" || ev.Project() != "proj_a" || ev.Arguments() != `{"path":"a.go"}` {
		t.Errorf("FromResult = %+v, %v", ev, err)
	}
}

// TestOnlyToolResultsAreEvidence feeds what a hostile model could say in every other role.
func TestOnlyToolResultsAreEvidence(t *testing.T) {
	t.Parallel()
	call := episode.Call{ID: "c1", Name: "bash"}
	for _, role := range []episode.Role{episode.System, episode.User, episode.Assistant, ""} {
		for _, content := range []string{`{"exit_code":0}`, "a,b\n1,2\n3,4", "HTTP/1.1 200 OK\nA: b\n", "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n"} {
			r := result("bash", content)
			r.Role = role
			if ev, err := episode.FromResult(r, call); !errors.Is(err, episode.ErrNotEvidence) || ev.Valid() {
				t.Errorf("FromResult of role %q = %v, %v, want ErrNotEvidence", role, ev.Valid(), err)
			}
		}
	}
	unrecorded, nowhere := result("bash", "x"), result("bash", "x")
	unrecorded.ID, nowhere.Project = "", ""
	for name, r := range map[string]episode.Record{"unrecorded": unrecorded, "without project": nowhere, "without tool": result("", "x")} {
		if _, err := episode.FromResult(r, episode.Call{ID: "c1"}); !errors.Is(err, episode.ErrNotEvidence) {
			t.Errorf("FromResult %s = %v, want ErrNotEvidence", name, err)
		}
	}
	if _, err := episode.FromResult(result("bash", "x"), episode.Call{ID: "c2", Name: "bash"}); !errors.Is(err, episode.ErrNotEvidence) {
		t.Errorf("FromResult with another call = %v, want ErrNotEvidence", err)
	}
}

// TestOwnWordsAreNoEvidence: what the module rendered comes back through a tool of any name, as it was, indented or encoded.
func TestOwnWordsAreNoEvidence(t *testing.T) {
	t.Parallel()
	for _, own := range []string{
		frame.Note("recall", `{"a":1}`), "  " + frame.Note("stub", "x"), `{"t":"\u003csakur4:note kind"}`, `{"t":"<sakur4:note"}`, "x</sakur4:note>",
	} {
		if ev, err := episode.FromResult(result("any_tool", own), episode.Call{ID: "c1"}); !errors.Is(err, episode.ErrOwnWords) || ev.Valid() {
			t.Errorf("FromResult of %q = %v, %v, want ErrOwnWords", own, ev.Valid(), err)
		}
	}
	if _, err := episode.FromFile("proj_a", "a.md", []byte(frame.Note("pin", "x"))); !errors.Is(err, episode.ErrOwnWords) {
		t.Errorf("FromFile of a note = %v, want ErrOwnWords", err)
	}
	// A source file may spell the mark inside a line.
	if _, err := episode.FromFile("proj_a", "a.go", []byte(`const open = "<sakur4:note"`)); err != nil {
		t.Errorf("FromFile of source = %v", err)
	}
}

func TestFromFile(t *testing.T) {
	t.Parallel()
	content := []byte(`{"a":1}`)
	ev, err := episode.FromFile("proj_a", "a.json", content)
	content[0] = 'x'
	if err != nil || !ev.Valid() || !ev.IsFile() || ev.FilePath() != "a.json" || ev.EpisodeID() != "" || ev.ToolName() != "" || ev.Content() != `{"a":1}` {
		t.Errorf("FromFile = %+v, %v", ev, err)
	}
	if _, err := episode.FromFile("", "a", nil); !errors.Is(err, episode.ErrNotEvidence) {
		t.Errorf("FromFile without project = %v, want ErrNotEvidence", err)
	}
	if (episode.Evidence{}).Valid() {
		t.Error("the zero evidence is valid")
	}
}

func TestFilePathOnlyOfReads(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, arguments, want string }{
		{"read_file", `{"path":"a.go"}`, "a.go"},
		{"Read", `{"file_path":"/x/a.go","limit":3}`, "/x/a.go"},
		{"readFile", `{"filePath":"a"}`, "a"},
		{"mcp__fs__read_text_file", `{"path":"a"}`, "a"},
		{"get_file_contents", `{"path":"a"}`, "a"},
		{"str_replace_based_edit_tool", `{"command":"view","path":"a"}`, "a"},
		{"str_replace_based_edit_tool", `{"command":"create","path":"a"}`, ""},
		{"read_file", `{"path":"a","path":"b"}`, "a"},
		{"read_multiple_files", `{"path":"a"}`, ""},
		{"read_directory", `{"path":"a"}`, ""},
		{"edit", `{"path":"a.go"}`, ""},
		{"write_file", `{"path":"a.go"}`, ""},
		{"bash", `{"command":"cat a.go"}`, ""},
		{"spreadsheet", `{"path":"a"}`, ""},
		{"read_file", `a.go`, ""},
		{"read_file", `{"path":3}`, ""},
		{"read_file", `{"x":{"path":"a"}}`, ""},
	} {
		r := result(c.tool, "x")
		ev, err := episode.FromResult(r, episode.Call{ID: "c1", Name: c.tool, Arguments: c.arguments})
		if err != nil || ev.FilePath() != c.want {
			t.Errorf("FilePath of %s %s = %q, %v, want %q", c.tool, c.arguments, ev.FilePath(), err, c.want)
		}
	}
}
