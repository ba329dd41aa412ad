package sakur4

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"sakur4/internal/consolidate"
	"sakur4/internal/episode"
	"sakur4/internal/sight"
	"sakur4/internal/store"
	"sakur4/semantic"
	"sakur4/symbolic"
)

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
func (p *promotion) choose(r *store.Reader, look *sight.Looker, rec *episode.Record) (known bool, skip string, err error) {
	if known, err = interpreted(r, rec.Project, rec.ID); known || err != nil || rec.Role != episode.Tool {
		return known, "", err
	}
	for row, err := range r.Facts(store.FactFilter{Project: rec.Project, Episode: rec.ID}) {
		if err != nil {
			return false, "", err
		}
		p.facts = append(p.facts, row)
	}
	for _, row := range p.facts {
		if known, err = interpreted(r, rec.Project, row.FactID); known || err != nil {
			return known, "", err
		}
		now, _, err := look.Fact(row)
		if err != nil {
			return false, "", err
		}
		if now.Checked && now.Hash != row.ASTHash {
			return false, "its source has changed since: " + row.FilePath, nil
		}
	}
	if len(p.facts) == 0 {
		skip, err = readAgain(r, look, rec)
	}
	return false, skip, err
}

// interpreted reports whether something has an entry, or had one that another stands for now. One that was retired does not count: what it is about may
// be there again.
func interpreted(r *store.Reader, project, id string) (bool, error) {
	for en, err := range r.Entries(store.EntryFilter{Project: project, AnchorID: id, All: true}) {
		if err != nil || !en.Retired {
			return err == nil, err
		}
	}
	return false, nil
}

// readAgain says whether a result without facts of its own had some that a later result took over.
func readAgain(r *store.Reader, look *sight.Looker, result *episode.Record) (string, error) {
	rec, call, err := look.Reading(result.ID)
	if err != nil {
		return "", err
	}
	ev, err := episode.FromResult(rec, call)
	if err != nil {
		return "", nil // what is no evidence had no facts
	}
	filter := store.FactFilter{Project: rec.Project, FilePath: ev.FilePath(), Told: true, Limit: 1}
	if filter.FilePath == "" {
		reading := symbolic.Read(ev, 1)
		if len(reading.Facts) == 0 {
			return "", nil
		}
		filter.QualifiedName = reading.Facts[0].QualifiedName()
	}
	for row, err := range r.Facts(filter) {
		if err != nil {
			return "", err
		}
		return "a later result has its facts: " + cmp.Or(row.Episode, row.FilePath), nil
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

// again prepares a new text for a stale entry: from the episode in which its fact was read last, or from the file, whose own fact it is then about.
func (d *dream) again(look *sight.Looker, en semantic.Entry, s sight.Sight) (*promotion, error) {
	row, err := look.Anchor(en.AnchorID)
	if err != nil {
		return nil, err
	}
	p := &promotion{session: en.Session, anchor: FactAnchor(FactID(row.FactID)), hash: row.ASTHash, replaced: en, facts: []symbolic.Row{row}}
	tool := ""
	if row.Episode != "" {
		rec, _, err := look.Reading(row.Episode)
		if err != nil {
			return nil, err
		}
		tool = rec.ToolName
		if row.FilePath == "" || row.ASTHash == s.Now.Hash {
			p.text, p.what, p.from = rec.Content, describe(&rec), rec.ID
			p.tokens = d.e.counter.Count(p.text)
			return p, nil
		}
	}
	f := look.File(row.FilePath)
	p.text, p.what, p.tokens = f.Content, "content of the file "+row.FilePath, d.e.counter.Count(f.Content)
	if fact := look.Again(row, tool); fact.Valid() {
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
