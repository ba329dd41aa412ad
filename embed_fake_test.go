package sakur4_test

import (
	"context"
	"errors"
	"hash/fnv"
	"strings"
	"sync"
	"testing"

	"sakur4"
)

// senses makes vectors of what words mean: words of one sense point the same way.
type senses struct {
	model string
	dim   int
	// answer stands for the whole embedder where it is not nil.
	answer func(ctx context.Context, texts []string) ([][]float32, error)

	mu    sync.Mutex
	asked []string
}

var synonyms = map[string]string{"automobile": "car", "vehicle": "car", "physician": "doctor", "rapid": "fast", "swift": "fast"}

func newSenses() *senses { return &senses{model: "senses", dim: 512} }

func (s *senses) Model() string { return s.model }
func (s *senses) Dim() int      { return s.dim }

// texts returns what was asked for so far, and forgets it.
func (s *senses) texts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.asked
	s.asked = nil
	return out
}

// set changes how it answers; nil is as a good one does.
func (s *senses) set(answer func(ctx context.Context, texts []string) ([][]float32, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

func (s *senses) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	s.mu.Lock()
	s.asked = append(s.asked, texts...)
	answer := s.answer
	s.mu.Unlock()
	if answer != nil {
		return answer(ctx, texts)
	}
	return s.good(texts), nil
}

func (s *senses) good(texts []string) [][]float32 {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = make([]float32, s.dim)
		for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' }) {
			if same, ok := synonyms[w]; ok {
				w = same
			}
			h := fnv.New64a()
			_, _ = h.Write([]byte(w)) // never fails
			out[i][h.Sum64()%uint64(s.dim)]++
		}
		out[i][0] += 0.01 // a text without a word points somewhere too
	}
	return out
}

var errEmbedder = errors.New("out of order")

func outOfOrder(context.Context, []string) ([][]float32, error) { return nil, errEmbedder }

// denseRank returns the id that the dense retriever put first, and the notes.
func denseFirst(t testing.TB, eng *sakur4.Engine, q sakur4.Query) (id string, notes []string) {
	t.Helper()
	hits, err := eng.Recall(t.Context(), q)
	if err != nil {
		t.Fatalf("Recall(%+v) = %v", q, err)
	}
	for _, h := range hits.Items {
		for _, r := range h.Reasons {
			if r == "dense rank 1" {
				id = h.ID
			}
		}
	}
	return id, hits.Notes
}

// say commits a user's turn.
func say(t testing.TB, s *sakur4.Session, text string) string {
	t.Helper()
	c, err := s.Commit(t.Context(), sakur4.Turn{Role: sakur4.RoleUser, Content: text})
	if err != nil {
		t.Fatalf("Commit(%.40q) = %v", text, err)
	}
	return string(c.Episode)
}
