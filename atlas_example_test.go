package sakur4_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sakur4"
	"sakur4/symbolic"
)

// An interpretation is anchored to what it is about, and comes back with a warning and the value of now once that has changed: nothing was indexed between.
func ExampleSession_Interpret() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "project")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "users.go")
	source := "package users\n\nfunc checkUser(email string) bool { return email != \"\" }\n"
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	eng, err := sakur4.Open(ctx, ":memory:", &sakur4.Options{ProjectRoot: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close()
	s := eng.Session("main")
	read := sakur4.ToolCall{ID: "c1", Name: "read_file", Arguments: `{"path": "users.go"}`}
	s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: "How are users checked?"})
	s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{read}})
	result, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: "c1", Content: source})
	if err != nil {
		fmt.Println(err)
		return
	}
	facts, err := eng.Extract(ctx, result.Episode, symbolic.CodeSymbols("go"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range facts {
		if f.Kind() == "function" {
			_, err = s.Interpret(ctx, sakur4.FactAnchor(sakur4.FactID(f.ID())), "Users are checked by their email address.")
		}
	}
	if err != nil {
		fmt.Println(err)
		return
	}

	// Somebody edits the file.
	source = "package users\n\nfunc checkUser(id int) bool { return id > 0 }\n"
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	hits, err := eng.Recall(ctx, sakur4.Query{Text: "users checked by email"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range hits.Items {
		if h.Kind == sakur4.HitEntry {
			fmt.Println(h.Stale, h.Text)
			fmt.Println("now:", h.Current)
		}
	}
	// Output:
	// true Users are checked by their email address.
	// now: func checkUser(id int) bool
}
