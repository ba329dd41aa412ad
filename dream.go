package sakur4

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sakur4/boundary"
	"sakur4/internal/consolidate"
	"sakur4/internal/episode"
	"sakur4/internal/frame"
	"sakur4/internal/store"
	"sakur4/semantic"
	"sakur4/symbolic"
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
		fmt.Fprintf(&b, "\n  %s %s", it.Action, nonEmpty(it.Entry, string(it.Episode)))
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
// after the item in hand. The report is complete up to there in either case.
func (e *Engine) Dream(ctx context.Context, o DreamOptions) (DreamReport, error) {
	if err := e.check(ctx); err != nil {
		return DreamReport{}, err
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
			defer look.close()
			var err error
			known, skip, err = p.choose(look, &rec)
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

// promotion is a text on its way to becoming an entry.
type promotion struct {
	session string
	text    string
	tokens  int
	what    string // for the model: what the text is
	from    string // the episode that a regenerated entry's text is of, "" for a file
	anchor  AnchorRef
	hash    string // of the anchor when the text was read
	facts   []symbolic.Row
	// replaced is the entry that it stands for, zero for none; put is a fact that the ledger does not have yet.
	replaced semantic.Entry
	put      *symbolic.Row
}

// describe says what an episode is, for a model.
func describe(rec *episode.Record) string {
	switch rec.Role {
	case episode.Tool:
		return "result of the tool " + rec.ToolName
	case episode.User:
		return "message of the user"
	}
	return "message of the assistant"
}

// choose finds the facts that an episode gave. It reports whether the episode or one of them has had an entry, and why it gets none otherwise: what was
// read is no longer so, and a text about it would be old from its first moment.
func (p *promotion) choose(look *looker, rec *episode.Record) (known bool, skip string, err error) {
	if known, err = look.interpreted(rec.ID); known || err != nil || rec.Role != episode.Tool {
		return known, "", err
	}
	for row, err := range look.r.Facts(store.FactFilter{Project: look.project, Episode: rec.ID}) {
		if err != nil {
			return false, "", err
		}
		p.facts = append(p.facts, row)
	}
	for _, row := range p.facts {
		if known, err = look.interpreted(row.FactID); known || err != nil {
			return known, "", err
		}
		now, _, err := look.fact(row)
		if err != nil {
			return false, "", err
		}
		if now.Checked && now.Hash != row.ASTHash {
			return false, "its source has changed since: " + row.FilePath, nil
		}
	}
	if len(p.facts) == 0 {
		skip, err = look.readAgain(rec.ID)
	}
	return false, skip, err
}

// interpreted reports whether something has an entry, or had one that another stands for now. One that was retired does not count: what it is about may
// be there again.
func (l *looker) interpreted(id string) (bool, error) {
	for en, err := range l.r.Entries(store.EntryFilter{Project: l.project, AnchorID: id, All: true}) {
		if err != nil || !en.Retired {
			return err == nil, err
		}
	}
	return false, nil
}

// readAgain says whether a result without facts of its own had some that a later result took over.
func (l *looker) readAgain(id string) (string, error) {
	rec, call, err := l.reading(id)
	if err != nil {
		return "", err
	}
	ev, err := episode.FromResult(rec, call)
	if err != nil {
		return "", nil // what is no evidence had no facts
	}
	filter := store.FactFilter{Project: l.project, FilePath: ev.FilePath(), Limit: 1}
	if filter.FilePath == "" {
		reading := symbolic.Read(ev, 1)
		if len(reading.Facts) == 0 {
			return "", nil
		}
		filter.QualifiedName = reading.Facts[0].QualifiedName()
	}
	for row, err := range l.r.Facts(filter) {
		if err != nil {
			return "", err
		}
		return "a later result has its facts: " + nonEmpty(row.Episode, row.FilePath), nil
	}
	return "", nil
}

// about anchors the entry to the fact that its text is most about: the one whose name occurs most often in it, of several the first of its source.
func (p *promotion) about(text string) {
	best, score := -1, -1
	for i, row := range p.facts {
		n := 2 * min(strings.Count(text, lastName(row)), 8)
		switch row.Kind {
		case "module", "import", "export", "tool_exit_code":
			// They say little of what was read.
		default:
			n++
		}
		if n > score || n == score && row.Offset < p.facts[best].Offset {
			best, score = i, n
		}
	}
	if best >= 0 {
		p.anchor, p.hash = FactAnchor(FactID(p.facts[best].FactID)), p.facts[best].ASTHash
	}
}

// lastName is the last part of a fact's name, as a text would name it.
func lastName(row symbolic.Row) string {
	name := row.QualifiedName
	if i := strings.LastIndexAny(name, ":/.)"); i >= 0 && i+1 < len(name) {
		name = name[i+1:]
	}
	if len(name) < 2 {
		return row.QualifiedName
	}
	return name
}

// write makes the text and stores it.
func (d *dream) write(ctx context.Context, p *promotion, it DreamItem) error {
	it.SourceTokens = p.tokens
	text, origin, why, err := d.compose(ctx, p)
	if err != nil {
		return err
	}
	it.Reason = why
	skip := func(reason string) error {
		it.Action, it.Anchor, it.Origin, it.Tokens = DreamSkipped, AnchorRef{}, "", 0
		it.Entry = p.replaced.ID
		it.Reason = reason
		if why != "" {
			it.Reason += " (" + why + ")"
		}
		return d.add(it)
	}
	if origin == semantic.Extracted && p.replaced.Origin == semantic.Interpreted {
		return skip("the agent's own interpretation; extraction never replaces one")
	}
	if text == "" {
		return skip("no text to take")
	}
	if p.replaced.ID == "" {
		p.about(text)
	}
	n := d.e.newEntry(p.anchor, origin, text)
	if reason := consolidate.NotShorter(n.Tokens, p.tokens); reason != "" {
		return skip(reason)
	}
	n.Replaces = p.replaced.ID
	err = d.e.st.Write(ctx, func(tx *store.Tx) error {
		if n.Replaces == "" {
			for _, err := range tx.Entries(store.EntryFilter{Project: d.e.project, AnchorID: n.AnchorID, Limit: 1}) {
				if err != nil {
					return err
				}
				return errMeanwhile
			}
		}
		if p.put != nil {
			if err := tx.PutFacts(d.e.project, []symbolic.Row{*p.put}, n.Created); err != nil {
				return err
			}
		}
		out, err := tx.PutEntry(d.e.project, p.session, n)
		if errors.Is(err, store.ErrNotFound) {
			return errMeanwhile
		}
		if err == nil && out.AnchorHash != p.hash {
			return errMeanwhile // the text is about what was there before
		}
		return err
	})
	if errors.Is(err, errMeanwhile) {
		return skip(err.Error())
	}
	if err != nil {
		return err
	}
	it.Entry, it.Replaces, it.Anchor, it.Origin, it.Tokens = n.ID, n.Replaces, p.anchor, origin.String(), n.Tokens
	return d.add(it)
}

// errMeanwhile ends an item whose anchor or entry is not what it was when its text was made.
var errMeanwhile = errors.New("it has changed meanwhile")

// entries writes new entries for stale ones and retires those whose anchor is gone.
func (d *dream) entries(ctx context.Context) error {
	// One look over all of them reads each file once. What is not fresh is looked at again when its turn comes.
	var list []semantic.Entry
	err := d.e.st.Read(ctx, func(r *store.Reader) error {
		look := d.e.look(r, d.e.project)
		defer look.close()
		for en, err := range r.Entries(store.EntryFilter{Project: d.e.project}) {
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			s, err := look.entry(en)
			if err != nil {
				return err
			}
			if s.freshness != semantic.Fresh {
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
	var s sight
	var p *promotion
	err := d.e.st.Read(ctx, func(r *store.Reader) (err error) {
		look := d.e.look(r, d.e.project)
		defer look.close()
		if s, err = look.entry(en); err != nil || s.freshness != semantic.Stale {
			return err
		}
		p, err = look.again(en, s)
		return err
	})
	if err != nil {
		return err
	}
	it := DreamItem{Entry: en.ID, Anchor: AnchorRef{Type: en.AnchorType, ID: en.AnchorID}}
	switch {
	case s.freshness == semantic.Fresh:
		return nil
	case s.freshness == semantic.Unverified:
		it.Action, it.Reason = DreamSkipped, semantic.Reason(en, s.freshness)+": "+s.why
		return d.add(it)
	}
	if err := d.next(ctx); err != nil {
		return err
	}
	if s.freshness == semantic.Gone {
		err := d.e.st.Write(ctx, func(tx *store.Tx) error { return tx.RetireEntry(d.e.project, en.ID) })
		if err = notFoundIsNone(err); err != nil {
			return err
		}
		it.Action, it.Reason = DreamRetired, semantic.Reason(en, s.freshness)
		return d.add(it)
	}
	return d.write(ctx, p, DreamItem{Action: DreamRegenerated, Episode: EpisodeID(p.from)})
}

// again prepares a new text for a stale entry: from the episode in which its fact was read last, or from the file, whose own fact it is then about.
func (l *looker) again(en semantic.Entry, s sight) (*promotion, error) {
	row, err := l.r.Fact(l.project, en.AnchorID)
	if err != nil {
		return nil, err
	}
	p := &promotion{session: en.Session, anchor: FactAnchor(FactID(row.FactID)), hash: row.ASTHash, replaced: en, facts: []symbolic.Row{row}}
	tool := ""
	if row.Episode != "" {
		rec, _, err := l.reading(row.Episode)
		if err != nil {
			return nil, err
		}
		tool = rec.ToolName
		if row.FilePath == "" || row.ASTHash == s.now.Hash {
			p.text, p.what, p.from = rec.Content, describe(&rec), rec.ID
			p.tokens = l.e.counter.Count(p.text)
			return p, nil
		}
	}
	f := l.file(row.FilePath)
	p.text, p.what, p.tokens = f.content, "content of the file "+row.FilePath, l.e.counter.Count(f.content)
	src, _ := sourceOf(row.Source)
	place := row.QualifiedName
	if tool != "" {
		place = placeOf(row, tool)
	}
	if fact, ok := l.parse(f, row.FilePath, src).facts[row.Kind+" "+place]; ok {
		now := fact.Row()
		p.put, p.anchor, p.hash = &now, FactAnchor(FactID(now.FactID)), now.ASTHash
	}
	return p, nil
}

// compose makes the text of an entry: the model's where there is one and it does, else the text's own sentences. why says what kept the model's from being taken.
func (d *dream) compose(ctx context.Context, p *promotion) (text string, origin semantic.Origin, why string, err error) {
	e := d.e
	budget := consolidate.SummaryTokens(p.tokens)
	if e.opts.Summarizer != nil {
		ask, next := e.backoff.Next()
		e.backoff = next
		if !ask {
			why = "the summarizer is given a rest after a failure"
		} else {
			d.report.Summarizer.Asked++
			text, why = d.summarize(ctx, p, budget)
			if ctx.Err() != nil {
				return "", 0, "", ctx.Err()
			}
			if why == "" {
				d.report.Summarizer.Accepted++
				e.backoff, e.problem = consolidate.Backoff{}, ""
				return text, semantic.Summarized, "", nil
			}
			e.backoff, e.problem = e.backoff.Failed(), why
			e.log.WarnContext(ctx, "summarizer", "problem", why)
		}
	}
	return consolidate.Extract(strings.ToValidUTF8(p.text, "\ufffd"), budget, e.counter.Count), semantic.Extracted, why, nil
}

// summarize asks the model. why is set where its text is not taken.
func (d *dream) summarize(ctx context.Context, p *promotion, budget int) (text, why string) {
	ctx, cancel := context.WithTimeout(ctx, summaryTimeout)
	defer cancel()
	req, err := d.e.summaryRequest(ctx, p, budget)
	if err != nil {
		return "", oneLine(err.Error())
	}
	text, err = d.e.opts.Summarizer.Summarize(ctx, req)
	if err != nil {
		return "", oneLine(err.Error())
	}
	if len(text) > MaxEntryBytes {
		return "", fmt.Sprintf("%d bytes of at most %d", len(text), MaxEntryBytes)
	}
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\ufffd"))
	return text, consolidate.Accept(text, d.e.counter.Count(text), p.tokens)
}
