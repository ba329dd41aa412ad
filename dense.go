package sakur4

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sakur4/internal/recall"
	"sakur4/internal/store"
	"sakur4/internal/vector"
)

const (
	// embedTimeout bounds one request for vectors made beside the calls, queryTimeout the one of a query, for which somebody waits.
	embedTimeout = time.Minute
	queryTimeout = 5 * time.Second
	// embedPatience is how long a query waits for the vectors of what was just recorded, and embedHaste how many texts may wait for theirs so that it waits
	// at all: it does not while a store is being filled.
	embedPatience = 2 * time.Second
	embedHaste    = 256
	// denseWeight is how much being near counts beside holding the words. Something is always nearest, while a word is there or not: a first place by
	// words alone stays in front of one by sense alone.
	denseWeight = 0.9
)

// QueryEmbedder is an [Embedder] that treats a question differently from a text that answers it, as models do that were trained with two prefixes.
type QueryEmbedder interface {
	Embedder
	// EmbedQuery returns the vector of a query, comparable with those of Embed.
	EmbedQuery(ctx context.Context, query string) ([]float32, error)
}

// dense keeps the vectors of the engine's project up to date: one goroutine computes them, whenever it is told that something was recorded.
type dense struct {
	e        *Engine
	embedder Embedder

	filling chan struct{} // held by whoever computes
	wake    chan struct{}
	stop    func()
	stopped chan struct{}

	mu          sync.Mutex    // guards what follows
	asked, done int64         // rounds of the goroutine: the last that was asked for, the last that has ended
	ended       chan struct{} // closed when a round ends
	problem     error         // how the last round ended
	restUntil   time.Time     // an embedder that let a request run into its time limit is not asked before
}

// startDense starts the goroutine, unless the store is read only. It ends with [dense.close].
func startDense(ctx context.Context, e *Engine) *dense {
	d := &dense{e: e, embedder: e.opts.Embedder, filling: make(chan struct{}, 1), wake: make(chan struct{}, 1), stopped: make(chan struct{}),
		ended: make(chan struct{})}
	ctx, d.stop = context.WithCancel(context.WithoutCancel(ctx))
	if e.opts.ReadOnly {
		close(d.stopped)
		return d
	}
	go d.run(ctx)
	d.nudge() // for what was recorded without an embedder
	return d
}

func (d *dense) close() {
	if d != nil {
		d.stop()
		<-d.stopped
	}
}

// nudge says that something was recorded.
func (d *dense) nudge() {
	if d == nil {
		return
	}
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

func (d *dense) run(ctx context.Context) {
	defer close(d.stopped)
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
		}
		d.mu.Lock()
		round := d.asked
		d.mu.Unlock()
		err := d.resting()
		if err == nil {
			_, err = d.fill(ctx, nil)
			d.rest(err)
		}
		if err != nil && ctx.Err() == nil {
			d.e.log.WarnContext(ctx, "vectors are not up to date", "error", err)
		}
		d.mu.Lock()
		d.done, d.problem = round, err
		close(d.ended)
		d.ended = make(chan struct{})
		d.mu.Unlock()
	}
}

// errResting is the reason why an embedder is not asked for a while.
var errResting = errors.New("the embedder did not answer in time and is left alone for a while")

func (d *dense) resting() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.e.now().Before(d.restUntil) {
		return errResting
	}
	return nil
}

// rest leaves the embedder alone for a while if err says that it let a request run into its time limit.
func (d *dense) rest(err error) {
	if !errors.Is(err, errHung) {
		return
	}
	until := d.e.now().Add(backendRest)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.restUntil = until
}

// fresh waits until what was recorded has its vectors, for a moment. It returns why it has not.
func (d *dense) fresh(ctx context.Context) error {
	waiting := 0
	err := d.e.st.Read(ctx, func(r *store.Reader) (err error) {
		waiting, err = r.VectorsWaiting(d.e.project)
		return err
	})
	if err != nil || waiting == 0 || d.e.opts.ReadOnly {
		return err
	}
	d.mu.Lock()
	d.asked++
	round, ended := d.asked, d.ended
	d.mu.Unlock()
	d.nudge()
	if waiting > embedHaste {
		return nil
	}
	patience := time.NewTimer(embedPatience)
	defer patience.Stop()
	for {
		select {
		case <-ended:
			d.mu.Lock()
			over, problem := d.done >= round, d.problem
			ended = d.ended
			d.mu.Unlock()
			if over {
				return problem
			}
		case <-patience.C:
			return nil // how many wait is said by whoever searches
		case <-d.stopped:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// denseQuery is a query's vector, or why there is none.
type denseQuery struct {
	vector vector.Query
	notes  []string
	ok     bool
}

// query makes a query's vector. Only the caller's own end is an error: recall goes on without vectors, and says so.
func (d *dense) query(ctx context.Context, project, text string) (q denseQuery, err error) {
	if d == nil {
		return q, nil
	}
	without := func(err error) (denseQuery, error) {
		if ctx.Err() != nil {
			return q, ctx.Err()
		}
		q.notes = []string{"dense results are missing: " + oneLine(err.Error())} // which is more than that some may be
		return q, nil
	}
	if project == d.e.project {
		switch err := d.fresh(ctx); {
		case ctx.Err() != nil:
			return q, ctx.Err()
		case errors.Is(err, store.ErrClosed) || errors.Is(err, ErrClosed):
			return q, err
		case err != nil:
			q.notes = append(q.notes, "dense results may be missing: "+oneLine(err.Error()))
		}
	}
	if err := d.resting(); err != nil {
		return without(err)
	}
	if parts := partsOf(text); len(parts) > 0 {
		text = parts[0]
	}
	var v []float32
	err = within(ctx, queryTimeout, func(ctx context.Context) (err error) {
		if asks, ok := d.embedder.(QueryEmbedder); ok {
			v, err = asks.EmbedQuery(ctx, text)
			return err
		}
		got, err := d.embedder.Embed(ctx, []string{text})
		if err == nil && len(got) != 1 {
			err = &VectorError{Model: d.embedder.Model(), Text: len(got), Number: -1, Msg: fmt.Sprintf("%d vectors for 1 text", len(got))}
		}
		if err == nil {
			v = got[0]
		}
		return err
	})
	if err == nil {
		err = d.usable(0, v)
	}
	if err != nil {
		d.rest(err)
		return without(err)
	}
	q.vector, q.ok = vector.NewQuery(v), true
	return q, nil
}

// search ranks the project's texts by their vectors. q's notes say what is not in the ranking.
func (d *dense) search(r *store.Reader, q *denseQuery, search store.SearchQuery) (recall.Ranked, error) {
	out := recall.Ranked{Source: "dense", Weight: denseWeight}
	if !q.ok {
		return out, nil
	}
	err := d.e.checkModel(r, search.Project)
	var other *EmbedderError
	switch {
	case errors.Is(err, store.ErrNotFound):
		q.notes = append(q.notes, "dense results are missing: the project has no vectors")
		return out, nil
	case errors.As(err, &other):
		q.notes = append(q.notes, fmt.Sprintf("dense results are missing: the project's vectors are of %q with %d numbers", other.Stored, other.StoredDim))
		return out, nil
	case err != nil:
		return out, err
	}
	found, err := r.SearchVectors(search, q.vector)
	if err != nil {
		return out, err
	}
	for _, s := range found {
		out.IDs = append(out.IDs, s.ID)
	}
	waiting, err := r.VectorsWaiting(search.Project)
	if waiting > 0 {
		q.notes = append(q.notes, fmt.Sprintf("dense results are missing for %d texts that have no vector yet", waiting))
	}
	return out, err
}
