package sakur4

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"sakur4/boundary"
	"sakur4/internal/consolidate"
	"sakur4/internal/episode"
	"sakur4/internal/frame"
	"sakur4/internal/sight"
	"sakur4/internal/store"
	"sakur4/semantic"
)

// DreamOptions say how [Engine.Dream] works. The zero value works through everything while the server is idle.
type DreamOptions struct {
	// Force works also where the server is busy or nobody knows.
	Force bool
	// Limit is the most entries that are written or retired; 0 is no bound. What is skipped does not count.
	Limit int
	// MinTokens is the size in tokens below which an episode is not worth an entry; 0 is 96.
	MinTokens int
	// AfterSeq leaves out the episodes up to that [Episode.Seq]: with [DreamReport.LastSeq] a later call goes on where one ended. 0 leaves out none.
	AfterSeq int64
	// Progress is called after each item, in the caller's goroutine; nil is silence.
	Progress func(DreamProgress)
}

// DreamProgress is one item done.
type DreamProgress struct {
	// Done counts the items so far, Item is the newest.
	Done int
	Item DreamItem
}

// DreamAction is what was done with an item. The zero value is invalid.
type DreamAction string

// The members of [DreamAction].
const (
	// DreamPromoted: an episode got an entry.
	DreamPromoted DreamAction = "promoted"
	// DreamRegenerated: a new entry stands for a stale one, which stays readable.
	DreamRegenerated DreamAction = "regenerated"
	// DreamRetired: an entry was taken out of force, because what it is about is gone. It stays readable.
	DreamRetired DreamAction = "retired"
	// DreamSkipped: nothing was written.
	DreamSkipped DreamAction = "skipped"
)

// DreamItem is one thing that was looked at.
type DreamItem struct {
	// Action is what was done.
	Action DreamAction `json:"action"`
	// Episode is the episode that the text comes from, "" for an entry that was skipped or retired, or regenerated from a file.
	Episode EpisodeID `json:"episode,omitempty"`
	// Entry is the entry that was written or retired, or the stale one that was skipped; Replaces is the one that it stands for.
	Entry    string `json:"entry,omitempty"`
	Replaces string `json:"replaces,omitempty"`
	// Anchor is what the entry is about, Origin who wrote it ("extracted" or "summarized").
	Anchor AnchorRef `json:"anchor,omitzero"`
	Origin string    `json:"origin,omitempty"`
	// SourceTokens is the size of what it was made of, Tokens that of the entry.
	SourceTokens int `json:"source_tokens,omitempty"`
	Tokens       int `json:"tokens,omitempty"`
	// Reason says why it was skipped or retired, or why the model's text was not taken; "" where there is nothing to say.
	Reason string `json:"reason,omitempty"`
}

// SummarizerState is how a [Summarizer] did, over all calls of [Engine.Dream] of the engine except where it says otherwise.
type SummarizerState struct {
	// Configured says that there is one; the rest is zero otherwise.
	Configured bool `json:"configured"`
	// Asked counts the requests of this call, Accepted the texts that were taken.
	Asked    int `json:"asked"`
	Accepted int `json:"accepted"`
	// Failures counts the failures since the last text that was taken; Wait the items that are done by extraction before the model is asked again.
	Failures int `json:"failures"`
	Wait     int `json:"wait"`
	// LastProblem is the newest failure, "" for none.
	LastProblem string `json:"last_problem,omitempty"`
}

// maxSkips is the most skips that a report lists; the others are counted.
const maxSkips = 1000

// DreamReport says what [Engine.Dream] did.
type DreamReport struct {
	// Promoted, Regenerated, Retired and Skipped count the items. Known counts episodes that had an entry already; they are no items.
	Promoted    int `json:"promoted"`
	Regenerated int `json:"regenerated"`
	Retired     int `json:"retired"`
	Skipped     int `json:"skipped"`
	Known       int `json:"known"`
	// Items are what was done, in order, and the first thousand skips; SkipsLeftOut counts the others.
	Items        []DreamItem `json:"items"`
	SkipsLeftOut int         `json:"skips_left_out,omitempty"`
	// Summarizer is how the model did.
	Summarizer SummarizerState `json:"summarizer"`
	// LastSeq is the Seq of the last episode that was looked at, 0 for none.
	LastSeq int64 `json:"last_seq"`
}

// String returns the report in a few lines.
func (r DreamReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d episodes promoted, %d entries regenerated, %d retired, %d skipped, %d known already", r.Promoted, r.Regenerated, r.Retired, r.Skipped, r.Known)
	if s := r.Summarizer; s.Configured {
		fmt.Fprintf(&b, "; summarizer: %d of %d texts taken", s.Accepted, s.Asked)
		if s.Failures > 0 {
			fmt.Fprintf(&b, ", %d failures in a row, waiting for %d items (%s)", s.Failures, s.Wait, s.LastProblem)
		}
	}
	for _, it := range r.Items {
		if it.Action == DreamSkipped && it.Entry == "" {
			continue // an episode that is too short is nothing to read about
		}
		fmt.Fprintf(&b, "\n  %s %s", it.Action, cmp.Or(it.Entry, string(it.Episode)))
		if it.Replaces != "" {
			fmt.Fprintf(&b, " in place of %s", it.Replaces)
		}
		if it.Reason != "" {
			fmt.Fprintf(&b, ": %s", it.Reason)
		}
	}
	return b.String()
}

// Dream consolidates while nobody waits: it writes new entries for stale ones, retires those whose anchor is gone, and gives the episodes of the project that
// have none an entry of their own: by extraction, which selects sentences of the episode, or by [Options.Summarizer]. An entry is anchored to a fact that
// was read in the episode where there is one, else to the episode. A text that is not shorter than what it stands for is not written, and what the model
// writes is taken only if it is text, and shorter; otherwise extraction takes its place, except where the agent itself wrote with [Session.Interpret].
//
// Each item is one transaction. Before each the server must be idle, else the error is [ErrNotIdle] with the reason; Force does without. A cancelled ctx ends it
// after the item in hand. The report is complete up to there in either case. The error is [ErrReadOnly] for a store that is only read.
func (e *Engine) Dream(ctx context.Context, o DreamOptions) (DreamReport, error) {
	if err := e.check(ctx); err != nil {
		return DreamReport{}, err
	}
	if e.opts.ReadOnly {
		return DreamReport{}, fmt.Errorf("%w: Dream", ErrReadOnly)
	}
	if o.MinTokens <= 0 {
		o.MinTokens = consolidate.MinTokens
	}
	e.dreaming.Lock()
	defer e.dreaming.Unlock()
	d := &dream{e: e, o: o}
	d.report.Items = []DreamItem{}
	d.report.Summarizer.Configured = e.opts.Summarizer != nil
	err := d.idle(ctx)
	if err == nil {
		err = d.entries(ctx)
	}
	if err == nil {
		err = d.episodes(ctx)
	}
	if s := &d.report.Summarizer; s.Configured {
		s.Failures, s.Wait, s.LastProblem = e.backoff.Failures, e.backoff.Wait, e.problem
	}
	if errors.Is(err, errStop) {
		err = nil
	}
	e.dense.nudge()
	return d.report, wrap(err)
}

// dream is one call of Dream.
type dream struct {
	e      *Engine
	o      DreamOptions
	report DreamReport
	done   int
}

// idle returns why now is not the time.
func (d *dream) idle(ctx context.Context) error {
	if d.o.Force {
		return nil
	}
	idler, ok := d.e.backend.(boundary.Idler)
	if !ok {
		return fmt.Errorf("%w: the backend cannot say", ErrNotIdle)
	}
	ask, cancel := context.WithTimeout(ctx, backendTimeout)
	defer cancel()
	idle, err := idler.Idle(ask)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("%w: %w", ErrNotIdle, err)
	case !idle:
		return fmt.Errorf("%w: it is processing a request", ErrNotIdle)
	}
	return nil
}

// add reports an item. It returns errStop when enough was done.
func (d *dream) add(it DreamItem) error {
	r := &d.report
	switch it.Action {
	case DreamPromoted:
		r.Promoted++
	case DreamRegenerated:
		r.Regenerated++
	case DreamRetired:
		r.Retired++
	default:
		r.Skipped++
	}
	if it.Action != DreamSkipped || r.Skipped <= maxSkips {
		r.Items = append(r.Items, it)
	} else {
		r.SkipsLeftOut++
	}
	d.done++
	if d.o.Progress != nil {
		d.o.Progress(DreamProgress{Done: d.done, Item: it})
	}
	if d.o.Limit > 0 && r.Promoted+r.Regenerated+r.Retired >= d.o.Limit {
		return errStop
	}
	return nil
}

// next says whether the next item may begin.
func (d *dream) next(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return d.idle(ctx)
}

// episodes gives episodes an entry.
func (d *dream) episodes(ctx context.Context) error {
	after := d.o.AfterSeq
	for {
		var rec episode.Record
		var p *promotion
		skip, known := "", false
		err := d.e.st.Read(ctx, func(r *store.Reader) error {
			found := false
			for got, err := range r.Episodes(store.EpisodeFilter{Project: d.e.project, AfterSeq: after, Limit: 1}) {
				if err != nil {
					return err
				}
				rec, found = got, true
			}
			if !found {
				return errStop
			}
			tokens := rec.Tokens
			if tokens >= d.o.MinTokens {
				tokens = d.e.counter.Count(rec.Content)
			}
			skip = consolidate.Skip(consolidate.Candidate{Role: string(rec.Role), Tokens: tokens, SupersededBy: rec.SupersededBy,
				OwnWords: frame.Quoted(rec.Content)}, d.o.MinTokens)
			if skip != "" {
				return nil
			}
			p = &promotion{session: rec.Session, text: rec.Content, tokens: tokens, what: describe(&rec), anchor: EpisodeAnchor(EpisodeID(rec.ID)), hash: rec.Digest.String()}
			look := d.e.look(r, d.e.project)
			defer look.Close()
			var err error
			known, skip, err = p.choose(r, look, &rec)
			return err
		})
		if err != nil {
			return err
		}
		after = rec.Seq
		switch {
		case known:
			d.report.Known++
		case skip != "":
			if err := ctx.Err(); err != nil {
				return err
			}
			err = d.add(DreamItem{Action: DreamSkipped, Episode: EpisodeID(rec.ID), Reason: skip})
		default:
			if err = d.next(ctx); err == nil {
				err = d.write(ctx, p, DreamItem{Action: DreamPromoted, Episode: EpisodeID(rec.ID)})
			}
		}
		if err == nil || errors.Is(err, errStop) {
			d.report.LastSeq = rec.Seq
		}
		if err != nil {
			return err
		}
	}
}

// entries writes new entries for stale ones and retires those whose anchor is gone.
func (d *dream) entries(ctx context.Context) error {
	// One look over all of them reads each file once. What is not fresh is looked at again when its turn comes.
	var list []semantic.Entry
	err := d.e.st.Read(ctx, func(r *store.Reader) error {
		look := d.e.look(r, d.e.project)
		defer look.Close()
		for en, err := range r.Entries(store.EntryFilter{Project: d.e.project}) {
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			s, err := look.Entry(en)
			if err != nil {
				return err
			}
			if s.Freshness != semantic.Fresh {
				list = append(list, en)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, en := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.refresh(ctx, en); err != nil {
			return err
		}
	}
	return nil
}

// refresh looks at one entry, and does what is to be done.
func (d *dream) refresh(ctx context.Context, en semantic.Entry) error {
	var s sight.Sight
	var p *promotion
	err := d.e.st.Read(ctx, func(r *store.Reader) (err error) {
		look := d.e.look(r, d.e.project)
		defer look.Close()
		if s, err = look.Entry(en); err != nil || s.Freshness != semantic.Stale {
			return err
		}
		p, err = d.again(look, en, s)
		return err
	})
	if err != nil {
		return err
	}
	it := DreamItem{Entry: en.ID, Anchor: AnchorRef{Type: en.AnchorType, ID: en.AnchorID}}
	switch {
	case s.Freshness == semantic.Fresh:
		return nil
	case s.Freshness == semantic.Unverified:
		it.Action, it.Reason = DreamSkipped, semantic.Reason(en, s.Freshness)+": "+s.Why
		return d.add(it)
	}
	if err := d.next(ctx); err != nil {
		return err
	}
	if s.Freshness == semantic.Gone {
		err := d.e.st.Write(ctx, func(tx *store.Tx) error { return tx.RetireEntry(d.e.project, en.ID) })
		if err = notFoundIsNone(err); err != nil {
			return err
		}
		it.Action, it.Reason = DreamRetired, semantic.Reason(en, s.Freshness)
		return d.add(it)
	}
	return d.write(ctx, p, DreamItem{Action: DreamRegenerated, Episode: EpisodeID(p.from)})
}
