package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sakur4"
	"sakur4/boundary"
)

// handSession is five questions and answers of known sizes. The head is the text system of 67 bytes, so 69 tokens as a message.
func handSession(t *testing.T) *session {
	t.Helper()
	if len(system) != 67 {
		t.Fatalf("the head has %d bytes, the numbers below are for 67", len(system))
	}
	pad := func(s string) string { return s + strings.Repeat(".", 38-len(s)) } // 40 tokens as a message
	s := &session{file: "hand"}
	for _, text := range []string{
		"task in a_one.go", "reply d_gone.go", "look at b_two.go", "b_two.go it is", "now c_three.go", "b_two.go and c_three.go", "once more", "a_one.go b_two.go c_three.go d_gone.go",
	} {
		role := sakur4.RoleUser
		if len(s.turns)%2 == 1 {
			role = sakur4.RoleAssistant
		}
		s.turns = append(s.turns, turn{Turn: sakur4.Turn{Role: role, Content: pad(text)}, asked: role == sakur4.RoleAssistant})
	}
	s.measure()
	return s
}

// TestHandComputed works the numbers of two policies out by hand. Prompts are 69 for the head, 40 a message, 1 for the header of the reply:
//
//	1: head U1                        110           all of it is processed
//	2: head U1 A1 U2                  190, 80 new   110 reused
//	3: head U1 A1 U2 A2 U3            270, 80 new   190 reused
//	4: head U1 A1 U2 A2 U3 A3 U4      350, 80 new   270 reused
//
// In a window of 400 with a trigger of 300 and a target of 280 the fourth is compacted. Truncating drops A1, U2: 270 are sent, of which the head and U1 (109), and the
// byte that opens the next message and the end of the old prompt's match, are reused.
func TestHandComputed(t *testing.T) {
	t.Parallel()
	cfg := config{window: 400, trigger: 0.75, target: 0.70}
	reuse := func(v float64) *float64 { return &v }
	tests := map[string]struct {
		want result
	}{
		// A2 begins as A1 does with the opening byte, so 110 of 270 are reused. Sent before were the head, U1, A2, U3 and the reply's header: 190.
		// Verbatim are 38 bytes a message: 1, 3, 5 and 5 messages.
		// Answers use: A2 b_two.go, which stands there; A3 b_two.go, c_three.go, which both do; A4 a_one.go (U1), c_three.go (U3), b_two.go (A2),
		// which do, and d_gone.go, which went with A1: 6 of 7.
		truncateName: {result{NewTokens: 350, PromptTokens: 110 + 190 + 270 + 270, PrefilledTokens: 110 + 80 + 80 + 160, PrefillRatio: 1.2286,
			CompactionReuse: reuse(0.5789), Compactions: 1, VerbatimShare: 0.3325, WorkingSetHit: 0.8571, PinsVerbatim: 1}},
		// Dropping the oldest takes A1 and U2 as well: without A1 alone 310 tokens reach the trigger.
		dropName: {result{NewTokens: 350, PromptTokens: 110 + 190 + 270 + 270, PrefilledTokens: 110 + 80 + 80 + 160, PrefillRatio: 1.2286,
			CompactionReuse: reuse(0.5789), Compactions: 1, VerbatimShare: 0.3325, WorkingSetHit: 0.8571, PinsVerbatim: 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			srv := newBytesServer(boundary.Geometry{Kind: boundary.AnyToken})
			s := handSession(t)
			p, err := openPolicy(ctx, cfg, name, srv, s)
			if err != nil {
				t.Fatal(err)
			}
			r := newReplay(cfg, name, s, srv, p, func() time.Time { return time.Time{} })
			if err := r.all(ctx); err != nil {
				t.Fatal(err)
			}
			tt.want.Policy, tt.want.File, tt.want.Window = name, "hand", 400
			if d := cmp.Diff(tt.want, r.result, cmpopts.IgnoreUnexported(result{})); d != "" {
				t.Errorf("replay of %s (-want +got):\n%s", name, d)
			}
		})
	}
}
