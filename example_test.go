package sakur4_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"sakur4"
	"sakur4/boundary"
)

// The loop of an agent, on the embedded simulator of a server.
func Example() {
	ctx := context.Background()
	eng, err := sakur4.Open(ctx, ":memory:", &sakur4.Options{Project: "demo"})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	server := eng.Backend().(boundary.Chatter)
	s := eng.Session("main")
	if _, err := s.Pin(ctx, "never force-push to main", sakur4.PinConstraint); err != nil {
		log.Fatal(err)
	}
	if _, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: "Which version is this?"}); err != nil {
		log.Fatal(err)
	}
	// The simulator answers with what the request asks it to say.
	script := []string{
		`{"tool_calls": [{"id": "call_0", "name": "read_file", "arguments": "{\"path\": \"version.json\"}"}]}`,
		`{"content": "Version 1.4.2."}`,
	}
	for _, reply := range script {
		w, err := s.Window(ctx, sakur4.Head{System: "You are a careful engineer."}) // compacts when it must
		if err != nil {
			log.Fatal(err)
		}
		fields, err := json.Marshal(struct {
			sakur4.Hints
			Scripted json.RawMessage `json:"scripted_reply"`
		}{w.Hints, json.RawMessage(reply)})
		if err != nil {
			log.Fatal(err)
		}
		r, err := server.Chat(ctx, boundary.ChatRequest{Messages: sakur4.MarshalMessages(w.Messages), Fields: fields}, nil)
		if err != nil {
			log.Fatal(err)
		}
		if _, err := s.Observe(ctx, sakur4.Usage{Window: w.ID, PromptTokens: r.PromptTokens, CachedTokens: r.CachedTokens}); err != nil {
			log.Fatal(err)
		}
		turn := sakur4.Turn{Role: sakur4.RoleAssistant, Content: r.Content}
		for _, c := range r.ToolCalls {
			turn.ToolCalls = append(turn.ToolCalls, sakur4.ToolCall(c))
		}
		if _, err := s.Commit(ctx, turn); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d messages, %d calls, reply %q\n", len(w.Messages), len(turn.ToolCalls), r.Content)
		for _, c := range turn.ToolCalls {
			done, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: c.ID, Content: `{"version": "1.4.2"}`})
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf("%s: %s\n", done.Parser, done.Facts[0].Value)
		}
	}
	// Output:
	// 2 messages, 1 calls, reply ""
	// json: 1.4.2
	// 4 messages, 0 calls, reply "Version 1.4.2."
}

func ExampleSession_Pin() {
	ctx := context.Background()
	eng, err := sakur4.Open(ctx, ":memory:", &sakur4.Options{Project: "demo"})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	s := eng.Session("main")
	done, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: "Clean up the branch. Never force-push to main."})
	if err != nil {
		log.Fatal(err)
	}
	// What sounds like a rule is proposed. It becomes a pin when the agent, or its user, says so.
	for _, p := range done.PinProposals {
		if _, err := s.Pin(ctx, p.Text, p.Kind); err != nil {
			log.Fatal(err)
		}
	}
	pins, err := s.Pins(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range pins {
		fmt.Println(p.Kind, p.Text)
	}
	// Output:
	// constraint Never force-push to main.
}

func ExampleEngine_Recall() {
	ctx := context.Background()
	eng, err := sakur4.Open(ctx, ":memory:", &sakur4.Options{Project: "demo"})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	s := eng.Session("main")
	first, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: "The staging database listens on port 5433."})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleAssistant, Content: "Noted."}); err != nil {
		log.Fatal(err)
	}
	if _, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: "Correction: the staging database moved to port 6000.", Corrects: first.Episode}); err != nil {
		log.Fatal(err)
	}
	hits, err := eng.Recall(ctx, sakur4.Query{Text: "which port does the staging database use?"})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range hits.Items {
		fmt.Printf("superseded %t: %s\n", h.Superseded, h.Text)
	}
	// Output:
	// superseded false: Correction: the staging database moved to port 6000.
	// superseded true: The staging database listens on port 5433.
}

func ExampleSession_Receipt() {
	ctx := context.Background()
	eng, err := sakur4.Open(ctx, ":memory:", &sakur4.Options{Project: "demo"})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	s := eng.Session("main")
	if _, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: "Hello."}); err != nil {
		log.Fatal(err)
	}
	w, err := s.Window(ctx, sakur4.Head{System: "You are a careful engineer."})
	if err != nil {
		log.Fatal(err)
	}
	cached := 0
	if _, err := s.Observe(ctx, sakur4.Usage{Window: w.ID, PromptTokens: w.Receipt.Used, CachedTokens: &cached}); err != nil {
		log.Fatal(err)
	}
	r, err := s.Receipt(ctx)
	if err != nil {
		log.Fatal(err)
	}
	sum := 0
	for _, p := range r.Parts {
		sum += p.Tokens
	}
	fmt.Println("parts sum to the whole:", sum == r.Used)
	fmt.Printf("%d tokens of %d messages reused, %d predicted: %v\n", r.Cache.Reused, r.Messages, r.Cache.Predicted, r.Cache.Status)
	// Output:
	// parts sum to the whole: true
	// 0 tokens of 2 messages reused, 0 predicted: cold
}

// A hosted provider counts with a tokenizer of its own and caches what a request marks.
func ExampleHosted() {
	ctx := context.Background()
	provider, err := sakur4.Hosted(sakur4.HostedProvider{Name: "cloud", Model: "large-1", Window: 200_000, Geometry: boundary.Anthropic(1024)})
	if err != nil {
		log.Fatal(err)
	}
	eng, err := sakur4.Open(ctx, ":memory:", &sakur4.Options{Project: "demo", Backend: provider})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	s := eng.Session("main")
	// A request marks the messages of Window.Marks. The provider's numbers stand here in place of a request.
	turn := func(t sakur4.Turn, prompt, cached int) {
		if _, err := s.Commit(ctx, t); err != nil {
			log.Fatal(err)
		}
		w, err := s.Window(ctx, sakur4.Head{System: "You are a careful engineer."})
		if err != nil {
			log.Fatal(err)
		}
		r, err := s.Observe(ctx, sakur4.Usage{PromptTokens: prompt, CachedTokens: &cached, Provider: "cloud", Model: "large-1"})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("messages", len(w.Messages), "marked", w.Marks, "trend", r.Cache.Trend)
	}
	turn(sakur4.Turn{Role: sakur4.RoleUser, Content: "Why does the worker pool deadlock?"}, 4000, 0)
	if _, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleAssistant, Content: "Which version?"}); err != nil {
		log.Fatal(err)
	}
	turn(sakur4.Turn{Role: sakur4.RoleUser, Content: "The newest."}, 4100, 4000)
	if _, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleAssistant, Content: "The channel is never closed."}); err != nil {
		log.Fatal(err)
	}
	turn(sakur4.Turn{Role: sakur4.RoleUser, Content: "Fix it."}, 4200, 0)
	// Output:
	// messages 2 marked [0 1] trend not reported
	// messages 4 marked [0 1 3] trend growth
	// messages 6 marked [0 1 3 5] trend inversion
}
