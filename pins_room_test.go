package sakur4_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sakur4"
)

// TestPinsFitWhateverTheirOrder: as many pins as [sakur4.Session.Pin] accepts fit into the prompt, whether they came before or after the head was
// sent, and taking all of them back fits too.
func TestPinsFitWhateverTheirOrder(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{true, false} {
		t.Run(fmt.Sprint("late=", late), func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			eng := open(t, &sakur4.Options{Window: 4096})
			f := &folder{t: t, s: eng.Session("s")}
			f.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "task"})
			if late {
				f.window()
			}
			var ids []sakur4.PinID
			for i := 0; ; i++ {
				id, err := f.s.Pin(ctx, fmt.Sprintf("rule %d is kept", i), sakur4.PinConstraint)
				if errors.Is(err, sakur4.ErrBudgetOverflow) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, id)
			}
			if len(ids) < 30 {
				t.Fatalf("%d pins were accepted", len(ids))
			}
			f.call("read", func() string { return "ok" })
			got := text(f.window())
			for i := range ids {
				if !strings.Contains(got, fmt.Sprintf("rule %d is kept", i)) {
					t.Fatalf("pin %d of %d is not in the prompt", i, len(ids))
				}
			}
			for _, id := range ids {
				if err := f.s.Unpin(ctx, id); err != nil {
					t.Fatal(err)
				}
			}
			f.call("read", func() string { return "ok" })
			f.window()
		})
	}
}

// TestBudgetErrorNamesTheHead: where the agent's own head leaves no room, the error says which part of it.
func TestBudgetErrorNamesTheHead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("many words of the system text ", 1500)
	for _, c := range []struct {
		floor string
		head  sakur4.Head
	}{
		{"system", sakur4.Head{System: long}},
		{"tools", sakur4.Head{System: "s", Tools: []byte(`[{"type":"function","function":{"name":"f","description":"` + long + `","parameters":{}}}]`)}},
	} {
		eng := open(t, &sakur4.Options{Window: 4096})
		f := &folder{t: t, s: eng.Session("s")}
		f.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "task"})
		_, err := f.s.Window(t.Context(), c.head)
		var over *sakur4.BudgetError
		if !errors.As(err, &over) || over.Floor != c.floor {
			t.Errorf("Window with a long %s: %v", c.floor, err)
		}
	}
}
