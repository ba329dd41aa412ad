package llamacpp

import (
	"context"
	"fmt"
	"math"

	"sakur4/boundary"
)

// Embedder turns texts into unit vectors with a server that was started with --embeddings. Make one with [Client.Embedder].
type Embedder struct {
	c     *Client
	model string
	dim   int
}

// Embedder asks the server for the length of its vectors. It is [boundary.ErrUnsupported] where the server gives none.
func (c *Client) Embedder(ctx context.Context) (*Embedder, error) {
	vectors, model, err := c.embed(ctx, []string{"dimension"})
	if err != nil {
		return nil, err
	}
	return &Embedder{c: c, model: model, dim: len(vectors[0])}, nil
}

// Model returns the server's name for the model.
func (e *Embedder) Model() string { return e.model }

// Dim returns the length of the vectors.
func (e *Embedder) Dim() int { return e.dim }

// Embed returns one unit vector for each text, in order.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	vectors, _, err := e.c.embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	for i, v := range vectors {
		if len(v) != e.dim {
			return nil, fmt.Errorf("llamacpp: /v1/embeddings: vector %d has %d numbers, not %d: %w", i, len(v), e.dim, boundary.ErrUnavailable)
		}
	}
	return vectors, nil
}

func (c *Client) embed(ctx context.Context, texts []string) (vectors [][]float32, model string, err error) {
	body, err := encode(struct {
		Input []string `json:"input"`
		Model string   `json:"model,omitempty"`
	}{texts, c.opts.Model})
	if err != nil {
		return nil, "", err
	}
	var out struct {
		Model string `json:"model"`
		Data  []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := c.call(ctx, "/v1/embeddings", body, &out); err != nil {
		return nil, "", err
	}
	vectors = make([][]float32, len(texts))
	for _, d := range out.Data {
		if d.Index < 0 || d.Index >= len(texts) {
			return nil, "", fmt.Errorf("llamacpp: /v1/embeddings: index %d of %d texts: %w", d.Index, len(texts), boundary.ErrUnavailable)
		}
		vectors[d.Index] = unit(d.Embedding)
	}
	for i, v := range vectors {
		if len(v) == 0 {
			return nil, "", fmt.Errorf("llamacpp: /v1/embeddings: no vector for text %d of %d: %w", i, len(texts), boundary.ErrUnavailable)
		}
	}
	return vectors, out.Model, nil
}

// unit scales v to length 1; a zero vector stays.
func unit(v []float32) []float32 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return v
	}
	scale := 1 / math.Sqrt(sum)
	for i := range v {
		v[i] = float32(float64(v[i]) * scale)
	}
	return v
}
