package sakur4_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sakur4"
	"sakur4/boundary"
	"sakur4/boundary/llamacpp"
	"sakur4/internal/llamatest"
)

// TestLiveEmbeddings gives an engine the vectors of a real server. Its model is of random weights: equal texts have equal vectors, and that is all they mean.
func TestLiveEmbeddings(t *testing.T) {
	ctx := t.Context()
	srv := llamatest.Start(t, llamatest.Options{Context: 8192, Slots: 4, Args: []string{"--embeddings", "--pooling", "mean"}})
	client, err := llamacpp.New(srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	em, err := client.Embedder(ctx)
	if err != nil || em.Dim() != 64 || em.Model() != "model.gguf" {
		t.Fatalf("Embedder() = %q of %d, %v, want model.gguf of 64", em.Model(), em.Dim(), err)
	}
	var _ sakur4.QueryEmbedder = em
	path := storePath(t)
	plain := openEngine(t, path, &sakur4.Options{Project: "p"})
	s := plain.Session("s")
	l := newLanguage(5)
	ids, texts := make([]string, 100), make([]string, 100)
	for i := range ids {
		texts[i] = fmt.Sprintf("%d %s", i, l.text(60+l.random.IntN(200)))
		ids[i] = say(t, s, texts[i])
	}
	// One that has more tokens than the server's batch: the server refuses it, and it is shortened.
	long := say(t, s, "long "+l.text(1100))
	eng := openEngine(t, path, &sakur4.Options{Project: "p", Embedder: em})
	r, err := eng.Embed(ctx, nil)
	st, e := eng.Status(ctx)
	if err = errors.Join(err, e); err != nil || st.Vectors.Stored != 101 || st.Vectors.Waiting+st.Vectors.Refused != 0 {
		t.Fatalf("Embed() = %+v, %v, Status %+v, want 101 vectors", r, err, st.Vectors)
	}
	if !strings.Contains(srv.Log(), "too large to process") {
		t.Error("the server has not refused the long text: the test shows nothing of that")
	}
	for i := 0; i < 100; i += 9 {
		if got, notes := denseFirst(t, eng, sakur4.Query{Text: texts[i]}); got != ids[i] || len(notes) > 0 {
			t.Errorf("Recall(text %d) by its vector = %s, notes %q, want %s", i, got, notes, ids[i])
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := em.Embed(cancelled, texts); !errors.Is(err, context.Canceled) {
		t.Errorf("Embed(cancelled) = %v, want %v", err, context.Canceled)
	}
	// Without the server everything goes on by words, and what it missed has its vectors when it is back.
	srv.Stop()
	if _, err := em.Embed(ctx, texts); !errors.Is(err, boundary.ErrUnavailable) {
		t.Errorf("Embed() without a server = %v, want %v", err, boundary.ErrUnavailable)
	}
	late := say(t, eng.Session("s"), "the marmot sleeps")
	hits, err := eng.Recall(ctx, sakur4.Query{Text: "marmot"})
	if err != nil || len(hits.Items) != 1 || hits.Items[0].ID != late || len(hits.Notes) == 0 {
		t.Errorf("Recall(marmot) without a server = %+v, %v, want %s and notes", hits, err, late)
	}
	t.Logf("notes without a server: %q", hits.Notes)
	if err := eng.Close(); err != nil {
		t.Fatal(err)
	}
	// A store can be opened without the server by who knows the model.
	known, err := client.EmbedderWith(ctx, llamacpp.EmbedOptions{Model: em.Model(), Dim: em.Dim()})
	if err != nil {
		t.Fatal(err)
	}
	eng = openEngine(t, path, &sakur4.Options{Project: "p", Embedder: known})
	srv.Restart(t)
	if got, notes := denseFirst(t, eng, sakur4.Query{Text: "the marmot sleeps"}); got != late || len(notes) > 0 {
		t.Errorf("Recall(the marmot sleeps) with the server back = %s, notes %q, want %s", got, notes, late)
	}
	hits, err = eng.Recall(ctx, sakur4.Query{Text: "long"})
	if err != nil || len(hits.Items) == 0 || hits.Items[0].ID != long {
		t.Errorf("Recall(long) = %+v, %v", hits, err)
	}
	// A server that gives no vectors says so.
	chat := llamatest.Start(t, llamatest.Options{Context: 1024})
	if client, err = llamacpp.New(chat.URL, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Embedder(ctx); !errors.Is(err, boundary.ErrUnsupported) {
		t.Errorf("Embedder() of a chat server = %v, want %v", err, boundary.ErrUnsupported)
	}
}
