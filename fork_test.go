package sakur4_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4"
	"sakur4/boundary"
)

// TestATriedCompactionIsThatOfARenderingReadAnew plans and compacts in an engine that made the last prompt, and in one that opened the same store afterwards: the
// first tries it on a copy of what it has in memory, the second on what it reads. Both say the same, and the copy counts the whole prompt once.
func TestATriedCompactionIsThatOfARenderingReadAnew(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		kind  boundary.Kind
		shift bool
	}{{"prefix", boundary.AnyToken, false}, {"checkpoints", boundary.Points, false}, {"shift", boundary.AnyToken, true}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := &flaky{Server: newServerWith(1<<15, sakur4.O200kBase(), test.kind)}
			options := &sakur4.Options{ProjectRoot: t.TempDir(), Backend: server, KVShift: test.shift}
			eng := openEngine(t, storePath(t), options)
			s := eng.Session("s")
			head := sakur4.Head{System: "You are a careful engineer."}
			n := 0
			round := func() *sakur4.Window {
				id := fmt.Sprint("c", n)
				mustCommit(t, s,
					sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: id, Name: "fetch", Arguments: fmt.Sprintf(`{"path": "shard_%d.go"}`, n)}}},
					sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: id, Content: body(n, 0)[:600]})
				if n == 9 {
					if _, err := s.Pin(t.Context(), "Never restart shard 7.", sakur4.PinConstraint); err != nil {
						t.Fatal(err)
					}
				}
				n++
				w := mustWindow(t, s, head)
				zero := w.Receipt.Cache.Predicted
				if n%3 > 0 {
					if _, err := s.Observe(t.Context(), sakur4.Usage{PromptTokens: w.Receipt.Used, CachedTokens: &zero}); err != nil {
						t.Fatal(err)
					}
				}
				return w
			}
			mustCommit(t, s, sakur4.Turn{Role: sakur4.RoleUser, Content: "Find out what the shards wait for."})
			anew := func(target int) (plan, compacted *sakur4.Plan, next *sakur4.Window) {
				copied := storePath(t)
				if err := eng.Backup(t.Context(), copied); err != nil {
					t.Fatal(err)
				}
				o := openEngine(t, copied, options).Session("s")
				plan, err := o.Plan(t.Context(), head)
				if err == nil {
					compacted, err = o.Compact(t.Context(), head, target)
				}
				if err != nil {
					t.Fatal(err)
				}
				return plan, compacted, mustWindow(t, o, head)
			}
			for range 4 {
				var w *sakur4.Window
				for range 12 {
					w = round()
				}
				wantPlan, wantCompacted, wantNext := anew(w.Receipt.Used / 2)
				before := server.rendered.Load()
				plan, err := s.Plan(t.Context(), head)
				if err != nil {
					t.Fatal(err)
				}
				cost := server.rendered.Load() - before
				whole := int64(len(fmt.Sprint(asJSON(t, w.Messages)))) // the shorter prompt twice, and its outline
				if cost > 2*whole {
					t.Errorf("Plan rendered %d bytes of messages; the prompt has %d, and a compacted one is rendered two times", cost, whole)
				}
				if again := mustWindow(t, s, head); again.ID != w.ID || cmp.Diff(w.Messages, again.Messages) != "" {
					t.Errorf("Window after Plan is %s, want %s as it was", again.ID, w.ID)
				}
				compacted, err := s.Compact(t.Context(), head, w.Receipt.Used/2)
				if err != nil {
					t.Fatal(err)
				}
				next := mustWindow(t, s, head)
				if diff := cmp.Diff([]*sakur4.Plan{wantPlan, wantCompacted}, []*sakur4.Plan{plan, compacted}); diff != "" {
					t.Errorf("Plan and Compact (-read anew +from memory):\n%s", diff)
				}
				if !compacted.Applied {
					t.Error("nothing was compacted")
				}
				next.Receipt.ID, wantNext.Receipt.ID = "", ""
				if diff := cmp.Diff(asJSON(t, wantNext.Messages), asJSON(t, next.Messages)); diff != "" {
					t.Errorf("next prompt (-read anew +from memory):\n%s", diff)
				}
				if diff := cmp.Diff(wantNext.Receipt, next.Receipt); diff != "" {
					t.Errorf("next receipt (-read anew +from memory):\n%s", diff)
				}
			}
		})
	}
}
