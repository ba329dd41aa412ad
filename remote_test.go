package sakur4_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"sakur4"
	"sakur4/boundary"
	"sakur4/internal/embedded"
)

// remoteServer is a server that, once it is strict, renders nothing before it is asked to tokenize something.
type remoteServer struct {
	*embedded.Server
	strict atomic.Bool
	asked  chan struct{}
}

var _ boundary.Remote = (*remoteServer)(nil)

func (r *remoteServer) Remote() {}

func (r *remoteServer) Render(ctx context.Context, req boundary.RenderRequest) (string, error) {
	if r.strict.Load() {
		select {
		case <-r.asked:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	return r.Server.Render(ctx, req)
}

func (r *remoteServer) TokenSpans(ctx context.Context, text string) ([]int32, []int, error) {
	if r.strict.Load() {
		r.asked <- struct{}{}
	}
	return r.Server.TokenSpans(ctx, text)
}

// TestARemoteServerIsAskedTwoThingsAtOnce: new messages are tokenized while they are being rendered.
func TestARemoteServerIsAskedTwoThingsAtOnce(t *testing.T) {
	t.Parallel()
	srv := &remoteServer{Server: newServer(8192), asked: make(chan struct{})}
	eng := openEngine(t, ":memory:", &sakur4.Options{Project: "p", Backend: srv})
	s := eng.Session("s")
	commit := func(turn sakur4.Turn) {
		t.Helper()
		if _, err := s.Commit(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
	}
	commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Go on."})
	for i := range 8 {
		id := fmt.Sprint("c", i)
		commit(sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: id, Name: "bash", Arguments: `{"command": "make"}`}}})
		commit(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: id, Content: fmt.Sprint("done ", i)})
		srv.strict.Store(i > 3) // then it is known how such messages are written
		w, err := s.Window(t.Context(), sakur4.Head{})
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(w.Receipt.Notes, "; "); strings.Contains(notes, "locally") {
			t.Fatalf("round %d: %s", i, notes)
		}
	}
}
