package sakur4

import (
	"cmp"
	"slices"
	"strings"

	"sakur4/internal/episode"
	"sakur4/internal/recall"
	"sakur4/internal/sight"
	"sakur4/internal/store"
	"sakur4/semantic"
	"sakur4/symbolic"
)

// hit reads what was found.
func (e *Engine) hit(r *store.Reader, look *sight.Looker, project string, f recall.Fused, q Query) (Hit, bool, error) {
	h := Hit{ID: f.ID, Score: f.Score, Reasons: f.Reasons}
	if strings.HasPrefix(f.ID, "sem_") {
		if ok, err := entryHit(r, look, project, &h, q); err != nil || !ok {
			return h, false, err
		}
	} else if strings.HasPrefix(f.ID, "sym_") {
		row, err := r.Fact(project, f.ID)
		if err != nil {
			return h, false, err
		}
		if q.FilePath != "" && row.FilePath != q.FilePath {
			return h, false, nil
		}
		h.Kind, h.Text = HitFact, row.QualifiedName+" = "+row.Value
		if err := factHit(look, &h, row); err != nil {
			return h, false, err
		}
	} else {
		rec, err := r.Episode(project, f.ID)
		if err != nil {
			return h, false, err
		}
		if rec.Fold != "" && !q.IncludeFolded {
			return h, false, nil
		}
		h.Kind, h.Text = HitEpisode, rec.Content
		if rec.Reasoning == "" && len(rec.Calls) == 0 && rec.Tokenizer == e.opts.Tokenizer.Name() {
			h.Tokens = rec.Tokens // counted when it was recorded
		}
		if h.Text == "" && len(rec.Calls) > 0 {
			for _, c := range rec.Calls {
				h.Text += c.Name + " " + c.Arguments + "\n"
			}
		}
		if rec.SupersededBy != "" {
			h.Superseded, h.Current = true, rec.SupersededBy
			h.Reasons = append(h.Reasons, "superseded by a later episode: "+rec.SupersededBy)
		}
	}
	return h, true, nil
}

// entryHit fills in what an entry says and what has become of its anchor.
func entryHit(r *store.Reader, look *sight.Looker, project string, h *Hit, q Query) (bool, error) {
	en, err := r.Entry(project, h.ID)
	if err != nil {
		return false, err
	}
	if q.FilePath != "" && en.AnchorType == episode.FactAnchor {
		row, err := look.Anchor(en.AnchorID)
		if err == nil && row.FilePath != q.FilePath {
			return false, nil
		}
	}
	s, err := look.Entry(en)
	if err != nil || s.Dropped && !q.IncludeDropped {
		return false, err
	}
	h.Kind, h.Text, h.Anchor, h.Freshness = HitEntry, en.Text, AnchorRef{Type: en.AnchorType, ID: en.AnchorID}, s.Freshness
	h.Stale, h.Unverified = s.Freshness.Stale(), s.Freshness == semantic.Unverified
	if s.Freshness == semantic.Stale {
		h.Current = s.Now.Value
	}
	h.Score = semantic.Penalise(h.Score, s.Freshness)
	if reason := semantic.Reason(en, s.Freshness); reason != "" {
		h.Reasons = append(h.Reasons, reason)
	}
	if s.Why != "" {
		h.Reasons = append(h.Reasons, s.Why)
	}
	if s.Superseded != "" {
		h.Superseded, h.Current = true, s.Superseded
		h.Reasons = append(h.Reasons, "superseded by a later episode: "+s.Superseded)
	}
	return true, nil
}

// factHit says of a fact that was read in a file whether the file has another value at its place now. The row stays what it is: a record of what was read.
func factHit(look *sight.Looker, h *Hit, row symbolic.Row) error {
	now, _, err := look.Fact(row)
	if err != nil || !now.Checked || now.Hash == row.ASTHash {
		return err
	}
	if now.Hash == "" {
		if row.Episode == "" {
			h.Stale = true
			h.Reasons = append(h.Reasons, row.FilePath+" has no such place any more")
		}
		return nil
	}
	h.Stale, h.Current = true, now.Value
	h.Reasons = append(h.Reasons, row.FilePath+" has another value there now than when it was read")
	return nil
}

// settled counts the hits that no later one comes before: a look can lower a score and never raises it.
func settled(hits []Hit, next float64) int {
	n := 0
	for _, h := range hits {
		if h.Score >= next && !h.Superseded {
			n++
		}
	}
	return n
}

// byScore puts the hits in the order of their scores, which a look at what they are about may have lowered. Equal ones stay in their order.
func byScore(hits []Hit) []Hit {
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	return hits
}

// afterReplacement moves each superseded episode behind the one that corrects it, where both were found, and behind what is in force otherwise.
func afterReplacement(in []Hit) []Hit {
	out := make([]Hit, 0, len(in))
	var old []Hit
	for _, h := range in {
		if h.Superseded {
			old = append(old, h)
		} else {
			out = append(out, h)
		}
	}
	return append(out, old...)
}

// rendered returns an entry as a prompt shows it.
func (h Hit) rendered() string {
	en := semantic.Entry{Text: h.Text, AnchorType: h.Anchor.Type, AnchorID: h.Anchor.ID}
	now := semantic.Current{}
	if h.Freshness == semantic.Stale && !h.Superseded {
		now.Value = h.Current
	}
	return semantic.Render(en, h.Freshness, now)
}
