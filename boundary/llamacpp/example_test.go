package llamacpp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"sakur4/boundary"
	"sakur4/boundary/llamacpp"
)

func Example() {
	// A stand-in for a server, so that the example runs anywhere.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"choices":[{"finish_reason":"stop","message":{"content":"Hello."}}],
			"usage":{"prompt_tokens":12,"completion_tokens":2},"timings":{"cache_n":9,"prompt_n":3,"prompt_ms":1}}`)
	}))
	defer server.Close()

	client, err := llamacpp.New(server.URL, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	reply, err := client.Chat(context.Background(), boundary.ChatRequest{
		Messages: json.RawMessage(`[{"role":"user","content":"Say hello."}]`),
		Fields:   json.RawMessage(`{"cache_prompt":true,"id_slot":0}`),
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Content)
	fmt.Printf("%d of %d tokens reused\n", *reply.CachedTokens, reply.PromptTokens)
	// Output:
	// Hello.
	// 9 of 12 tokens reused
}
