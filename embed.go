package sakur4

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"sakur4/internal/frame"
	"sakur4/internal/store"
	"sakur4/internal/vector"
)

const (
	// embedPartBytes is the most text that one vector is of. Models take a few hundred tokens at a time, and a vector of more says less of each thing in it.
	embedPartBytes = 1200
	// embedParts bounds the vectors of one text: what a file holds behind its first 19 KB is found by its words.
	embedParts = 16
	// embedBatch is the most texts in one request.
	embedBatch = 32
	// embedHalvings is how often a text that the model refuses is cut in half before it is given up.
	embedHalvings = 3
)

// EmbedProgress says how far [Engine.Embed] is.
type EmbedProgress struct {
	// Texts counts the episodes and interpretations that were looked at by this call, Waiting those that are left.
	Texts, Waiting int
}

// EmbedReport says what [Engine.Embed] did.
type EmbedReport struct {
	// Texts counts the episodes and interpretations that got vectors, Vectors these: a long text has several. Refused counts those that the model did not
	// take at any length; they are found by their words alone.
	Texts, Vectors, Refused int
}

// Embed computes the vectors that are missing and returns when none is. There is no need to call it: the engine does the same beside the calls, and
// Recall waits a moment for what was just recorded. It is for a store that is filled at once, or whose embedder has changed (see [Options.Reembed]).
//
// progress is called after each batch, in the caller's goroutine; nil is silence. A cancelled ctx ends it; what was done stays. The error is [ErrUnsupported] without [Options.Embedder], [ErrReadOnly], a [*VectorError], and otherwise what the
// embedder returned.
func (e *Engine) Embed(ctx context.Context, progress func(EmbedProgress)) (EmbedReport, error) {
	if err := e.check(ctx); err != nil {
		return EmbedReport{}, err
	}
	switch {
	case e.dense == nil:
		return EmbedReport{}, fmt.Errorf("%w: no Options.Embedder was given", ErrUnsupported)
	case e.opts.ReadOnly:
		return EmbedReport{}, ErrReadOnly
	}
	r, err := e.dense.fill(ctx, progress)
	return r, wrap(err)
}

// VectorError says that a vector of an [Embedder] cannot be used: it has not the length that was promised, a number that is not finite, or only zeros. Any
// other vector is taken; the length of its arrow is of no account.
type VectorError struct {
	// Model is the embedder's, Text the place in the request of the text that the vector is of. Number is the place of the number at fault, -1 for none.
	Model        string
	Text, Number int
	Msg          string
}

// Error names the place and the reason.
func (e *VectorError) Error() string {
	if e.Number < 0 {
		return fmt.Sprintf("sakur4: vector of text %d by %q: %s", e.Text, e.Model, e.Msg)
	}
	return fmt.Sprintf("sakur4: vector of text %d by %q: number %d: %s", e.Text, e.Model, e.Number, e.Msg)
}

// useModel makes the embedder's model the project's, or says that it is another one.
func (e *Engine) useModel(tx *store.Tx) error {
	if e.opts.Embedder == nil {
		return nil
	}
	err := e.checkModel(tx.Reader, e.project)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, ErrEmbedderChanged) && e.opts.Reembed {
		return tx.SetVectorModel(e.project, e.opts.Embedder.Model(), e.opts.Embedder.Dim())
	}
	return err
}

// checkModel returns an [*EmbedderError] where a project's vectors are of another model, [store.ErrNotFound] where it has none.
func (e *Engine) checkModel(r *store.Reader, project string) error {
	m, err := r.VectorModel(project)
	if err != nil {
		return err
	}
	if model, dim := e.opts.Embedder.Model(), e.opts.Embedder.Dim(); m.Model != model || m.Dim != dim {
		return &EmbedderError{Stored: m.Model, StoredDim: m.Dim, Model: model, Dim: dim}
	}
	return nil
}

// fill computes what is missing, batch by batch. Only one does so at a time.
func (d *dense) fill(ctx context.Context, progress func(EmbedProgress)) (EmbedReport, error) {
	var report EmbedReport
	select {
	case d.filling <- struct{}{}:
	case <-ctx.Done():
		return report, ctx.Err()
	}
	defer func() { <-d.filling }()
	looked := 0
	for _, kind := range [...]uint8{store.VectorOfEpisode, store.VectorOfEntry} {
		var top int64 // what is recorded meanwhile has a later turn
		err := d.e.st.Read(ctx, func(r *store.Reader) (err error) {
			top, err = r.VectorTop(kind)
			return err
		})
		if err != nil {
			return report, err
		}
		for {
			var b store.VectorBatch
			waiting := 0
			err := d.e.st.Read(ctx, func(r *store.Reader) (err error) {
				if err := d.e.checkModel(r, d.e.project); err != nil {
					return err // another process has given the project another model
				}
				if b, err = r.VectorBatch(d.e.project, kind, top); err == nil && progress != nil {
					waiting, err = r.VectorsWaiting(d.e.project)
				}
				return err
			})
			if err != nil {
				return report, err
			}
			if b.Empty() {
				break
			}
			rows := len(b.Texts)
			packed, err := d.pack(ctx, &b, &report)
			if err != nil {
				return report, err
			}
			if err := d.e.st.PutVectors(ctx, d.e.project, b, packed); err != nil {
				return report, err
			}
			if looked += rows; progress != nil {
				progress(EmbedProgress{Texts: looked, Waiting: max(0, waiting-rows)})
			}
		}
	}
	return report, nil
}

// pack returns the vectors of the parts of each text of a batch, from which it takes out those that have none.
func (d *dense) pack(ctx context.Context, b *store.VectorBatch, report *EmbedReport) ([][][]byte, error) {
	var texts []store.VectorText
	var parts []string
	var of []int
	for _, t := range b.Texts {
		list := partsOf(t.Text)
		for _, p := range list {
			parts, of = append(parts, p), append(of, len(texts))
		}
		if len(list) > 0 {
			texts = append(texts, t)
		}
	}
	b.Texts = texts
	packed := make([][][]byte, len(texts))
	for from := 0; from < len(parts); from += embedBatch {
		to := min(from+embedBatch, len(parts))
		vectors, err := d.vectors(ctx, parts[from:to])
		if err != nil {
			return nil, err
		}
		for i, v := range vectors {
			if v != nil {
				packed[of[from+i]] = append(packed[of[from+i]], vector.Pack(v))
			}
		}
	}
	for _, vs := range packed {
		if len(vs) > 0 {
			report.Texts++
			report.Vectors += len(vs)
		} else {
			report.Refused++
		}
	}
	return packed, nil
}

// partsOf cuts a text into what one vector each is of. What an agent read from memory gives none, as it gives no words to the index: it is known already.
func partsOf(text string) []string {
	if frame.Contains(text) {
		return nil
	}
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\ufffd"))
	var parts []string
	for text != "" && len(parts) < embedParts {
		n := len(text)
		if n > embedPartBytes {
			n = embedPartBytes
			for !utf8.RuneStart(text[n]) {
				n--
			}
			if i := strings.LastIndexAny(text[:n], " \n\t"); i > embedPartBytes/2 {
				n = i
			}
		}
		parts = append(parts, text[:n])
		text = strings.TrimSpace(text[n:])
	}
	return parts
}

// vectors asks for the vectors of some texts. A text that the model does not take, at no length, has none; where it takes no text at all, that is an
// error.
func (d *dense) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	out, err := d.ask(ctx, texts)
	if err == nil || !d.answers(ctx, err) {
		return out, err
	}
	// It is there, so that it was about a text. Which one is found out by asking for each.
	out = make([][]float32, len(texts))
	for i, text := range texts {
		for try := 0; ; try++ {
			v, err := d.ask(ctx, []string{text})
			if err == nil {
				out[i] = v[0]
				break
			}
			if !d.answers(ctx, err) {
				return nil, err
			}
			if try == embedHalvings {
				break
			}
			text = strings.ToValidUTF8(text[:len(text)/2], "")
			if strings.TrimSpace(text) == "" {
				break
			}
		}
	}
	return out, nil
}

// answers reports whether the embedder, which has failed, makes a vector of a text that any model takes.
func (d *dense) answers(ctx context.Context, failed error) bool {
	if ctx.Err() != nil || errors.Is(failed, errHung) {
		return false
	}
	_, err := d.ask(ctx, []string{"text"})
	return err == nil
}

// ask makes one request, and checks what comes back.
func (d *dense) ask(ctx context.Context, texts []string) ([][]float32, error) {
	var out [][]float32
	err := within(ctx, embedTimeout, func(ctx context.Context) (err error) {
		out, err = d.embedder.Embed(ctx, texts)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(out) != len(texts) {
		return nil, &VectorError{Model: d.embedder.Model(), Text: len(out), Number: -1, Msg: fmt.Sprintf("%d vectors for %d texts", len(out), len(texts))}
	}
	for i, v := range out {
		if err := d.usable(i, v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (d *dense) usable(text int, v []float32) error {
	err := vector.Check(v, d.embedder.Dim())
	var bad *vector.Error
	if errors.As(err, &bad) {
		return &VectorError{Model: d.embedder.Model(), Text: text, Number: bad.Index, Msg: bad.Msg}
	}
	return err
}
