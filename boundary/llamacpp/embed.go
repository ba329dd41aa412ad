package llamacpp

import (
	"context"
	"fmt"
	"math"
	"strings"

	"sakur4/boundary"
)

// Embedder turns texts into unit vectors with a server that was started with --embeddings. Make one with [Client.Embedder]. It is safe for concurrent use.
type Embedder struct {
	c    *Client
	opts EmbedOptions
}

// EmbedOptions say what is known of the model of an [Embedder]. The zero value asks the server.
type EmbedOptions struct {
	// Model is the name under which the vectors are kept; "" is the server's, which for a file is the file's name without its folder. A server says back
	// whatever name [Options.Model] asked for: where that is set, take care that it means one model.
	Model string
	// Dim is the length of the vectors; 0 asks the server. With Model and Dim nothing is asked, so that the server may be down.
	Dim int
	// QueryPrefix and TextPrefix stand before what is asked and what is stored, for models that were trained so, as "query: " and "passage: ". Others want "".
	// A model with other prefixes gives other vectors: let Model say so.
	QueryPrefix, TextPrefix string
}

// Embedder asks the server for its model and the length of its vectors. It is [boundary.ErrUnsupported] where the server gives none.
func (c *Client) Embedder(ctx context.Context) (*Embedder, error) {
	return c.EmbedderWith(ctx, EmbedOptions{})
}

// EmbedderWith is [Client.Embedder] with what is known of the model.
func (c *Client) EmbedderWith(ctx context.Context, opts EmbedOptions) (*Embedder, error) {
	if opts.Dim < 0 {
		return nil, fmt.Errorf("llamacpp: Dim is %d", opts.Dim)
	}
	if opts.Model != "" && opts.Dim > 0 {
		return &Embedder{c: c, opts: opts}, nil
	}
	vectors, model, err := c.embed(ctx, []string{opts.TextPrefix + "dimension"})
	if err != nil {
		return nil, err
	}
	if opts.Model == "" {
		opts.Model = model
		if strings.HasSuffix(model, ".gguf") {
			opts.Model = model[strings.LastIndexAny(model, `/\`)+1:]
		}
	}
	if opts.Dim == 0 {
		opts.Dim = len(vectors[0])
	}
	return &Embedder{c: c, opts: opts}, nil
}

// Model returns the name of the model.
func (e *Embedder) Model() string { return e.opts.Model }

// Dim returns the length of the vectors.
func (e *Embedder) Dim() int { return e.opts.Dim }

// Embed returns one unit vector for each text, in order. A text that is longer than the server's physical batch (512 tokens, unless it was started with -ub)
// makes the whole request fail.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return e.prefixed(ctx, e.opts.TextPrefix, texts)
}

// EmbedQuery returns the unit vector of a question.
func (e *Embedder) EmbedQuery(ctx context.Context, query string) ([]float32, error) {
	vectors, err := e.prefixed(ctx, e.opts.QueryPrefix, []string{query})
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}

func (e *Embedder) prefixed(ctx context.Context, prefix string, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	input := make([]string, len(texts))
	for i, text := range texts {
		input[i] = prefix + text
	}
	vectors, _, err := e.c.embed(ctx, input)
	if err != nil {
		return nil, err
	}
	for i, v := range vectors {
		if len(v) != e.opts.Dim {
			return nil, fmt.Errorf("llamacpp: /v1/embeddings: vector %d has %d numbers, not %d: %w", i, len(v), e.opts.Dim, boundary.ErrUnavailable)
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
