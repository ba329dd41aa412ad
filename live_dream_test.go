package sakur4_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sakur4"
	"sakur4/boundary"
	"sakur4/boundary/llamacpp"
	"sakur4/internal/llamatest"
)

// asked is a chat server with further request fields, which keeps the requests and replies.
type asked struct {
	boundary.Chatter
	fields  string
	request []boundary.ChatRequest
	replies []boundary.ChatReply
}

func (a *asked) Chat(ctx context.Context, req boundary.ChatRequest, progress func(boundary.ChatDelta)) (boundary.ChatReply, error) {
	if a.fields != "" {
		req.Fields = json.RawMessage(string(req.Fields[:len(req.Fields)-1]) + "," + a.fields + "}")
	}
	reply, err := a.Chatter.Chat(ctx, req, progress)
	a.request, a.replies = append(a.request, req), append(a.replies, reply)
	return reply, err
}

// TestLiveSummaryReusesThePrompt has a real server summarise in a session's idle time: all but the request's last message comes from its cache, under strict
// templates too, and the session's next prompt is reused as predicted.
func TestLiveSummaryReusesThePrompt(t *testing.T) {
	for _, tmpl := range llamatest.Templates() {
		for _, tools := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/tools %t", tmpl.Name, tools), func(t *testing.T) {
				srv := llamatest.Start(t, llamatest.Options{Model: llamatest.Model{Template: tmpl.Text}, Context: 16384})
				slot := 0
				client, err := llamacpp.New(srv.URL, &llamacpp.Options{Slot: &slot})
				if err != nil {
					t.Fatal(err)
				}
				model := &asked{Chatter: client}
				if !tools {
					// A model of random weights says something sensible only if it must; a server refuses to make it where there are tools.
					model.fields = `"grammar":"root ::= \"The lock is held too long.\""`
				}
				d := newDriveWith(t, srv, nil, &sakur4.Options{Window: 16384, Summarizer: sakur4.ChatSummarizer(model)})
				if !tools {
					d.head.Tools = nil
				}
				d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: story("worker_pool.go")})
				d.turn()
				if tools {
					d.work(3)
				}
				d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, Content: "All is known now."})
				r, err := d.eng.Dream(t.Context(), sakur4.DreamOptions{Limit: 1})
				if err != nil || r.Promoted != 1 || len(model.replies) != 1 {
					t.Fatalf("Dream = %+v, %v, want one promoted by one request", r, err)
				}
				if want := map[bool]string{true: "extracted", false: "summarized"}[tools]; r.Items[0].Origin != want {
					t.Errorf("Dream: %+v, want it %s", r, want)
				}
				// What the last message takes is what the prompt has without it, in the server's own count.
				var list []json.RawMessage
				if err := json.Unmarshal(model.request[0].Messages, &list); err != nil {
					t.Fatal(err)
				}
				front, err := json.Marshal(list[:len(list)-2])
				if err != nil {
					t.Fatal(err)
				}
				text, err := client.Render(t.Context(), boundary.RenderRequest{Messages: front, Tools: model.request[0].Tools, GenerationPrompt: true})
				if err != nil {
					t.Fatal(err)
				}
				ids, err := client.Tokens(t.Context(), text)
				if err != nil {
					t.Fatal(err)
				}
				reply := model.replies[0]
				if reply.CachedTokens == nil || *reply.CachedTokens < len(ids)-1 {
					t.Errorf("%v of %d tokens reused, want the %d of the prompt before the reply", *reply.CachedTokens, reply.PromptTokens, len(ids))
				}
				t.Logf("%d of %d prompt tokens from the cache; %d stood before the reply", *reply.CachedTokens, reply.PromptTokens, len(ids))
				d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Go on."})
				d.mayMiss = true // the request for the summary took the reply's place in the slot
				d.turn()
			})
		}
	}
}

// TestLiveDreamOnlyIdle asks real servers that are busy, that do not tell of their slots, and that are not there.
func TestLiveDreamOnlyIdle(t *testing.T) {
	dream := func(t *testing.T, url, reason string) { // reason is "" where it works
		t.Helper()
		client, err := llamacpp.New(url, nil)
		if err != nil {
			t.Fatal(err)
		}
		eng := openEngine(t, ":memory:", &sakur4.Options{ProjectRoot: t.TempDir(), Backend: client})
		if _, err := eng.Session("s").Commit(t.Context(), sakur4.Turn{Role: sakur4.RoleUser, Content: story("a.go")}); err != nil {
			t.Fatal(err)
		}
		r, err := eng.Dream(t.Context(), sakur4.DreamOptions{})
		refused := reason != ""
		if refused != errors.Is(err, sakur4.ErrNotIdle) || refused != (r.Promoted == 0) || refused && !strings.Contains(err.Error(), reason) {
			t.Errorf("Dream = %+v, %v, want it refused: %t, because %q", r, err, refused, reason)
		}
		t.Logf("Dream = %v", err)
	}
	srv := llamatest.Start(t, llamatest.Options{Context: 32768})
	t.Run("idle", func(t *testing.T) { dream(t, srv.URL, "") })
	t.Run("busy", func(t *testing.T) {
		client, err := llamacpp.New(srv.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := false
		_, err = client.Chat(ctx, boundary.ChatRequest{Messages: json.RawMessage(`[{"role":"user","content":"Count."}]`), MaxTokens: 30000,
			Fields: json.RawMessage(`{"ignore_eos":true}`)}, func(boundary.ChatDelta) {
			if !done {
				done = true
				dream(t, srv.URL, "it is processing a request") // while the reply is being written
				cancel()
			}
		})
		if !done {
			t.Errorf("Chat() = %v before the first piece", err)
		}
	})
	t.Run("no slots", func(t *testing.T) {
		dream(t, llamatest.Start(t, llamatest.Options{Args: []string{"--no-slots"}}).URL, "/slots")
	})
	t.Run("unreachable", func(t *testing.T) {
		gone := llamatest.Start(t, llamatest.Options{})
		gone.Stop()
		dream(t, gone.URL, "unavailable")
	})
}
