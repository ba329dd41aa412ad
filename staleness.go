package sakur4

import (
	"context"
	"fmt"
	"strings"

	"sakur4/internal/sight"
	"sakur4/internal/sourcefile"
	"sakur4/internal/store"
	"sakur4/semantic"
)

// StalenessReport says which interpretations have outlived what they are about. It is found out when it is asked for.
type StalenessReport struct {
	// Entries counts the interpretations in force; Stale those whose anchor has changed or is gone, Unverified those whose anchor could not be looked at,
	// Superseded those about an episode that a later one corrects. Superseded ones are not stale.
	Entries    int `json:"entries"`
	Stale      int `json:"stale"`
	Unverified int `json:"unverified"`
	Superseded int `json:"superseded"`
	// Rate is Stale of Entries, from 0 to 1; 0 where there are no entries.
	Rate float64 `json:"stale_rate"`
	// Items are the stale and the unverified ones, as they were written, at most as many as asked for; LeftOut counts the others.
	Items   []StaleEntry `json:"items"`
	LeftOut int          `json:"left_out"`
}

// StaleEntry is an interpretation that must not be trusted.
type StaleEntry struct {
	// ID names the interpretation, Text is what it says, Anchor what it is about.
	ID     string    `json:"id"`
	Text   string    `json:"text"`
	Anchor AnchorRef `json:"anchor"`
	// Name and File are the anchored fact's, "" where the anchor is gone from the ledger or is none.
	Name string `json:"name,omitempty"`
	File string `json:"file,omitempty"`
	// Freshness is what has become of the anchor: stale, gone or unverified; State is its name.
	Freshness semantic.Freshness `json:"-"`
	State     string             `json:"state"`
	// Was is what the ledger holds of the anchor, Current what its source says now; "" where it is gone or could not be looked at.
	Was     string `json:"was,omitempty"`
	Current string `json:"current_value,omitempty"`
	// Reason says what is wrong.
	Reason string `json:"reason"`
}

// String returns the report as a text for a model, in a [Frame].
func (r StalenessReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d interpretations are stale (stale_rate %.2f), %d could not be checked, %d are about corrected turns.",
		r.Stale, r.Entries, r.Rate, r.Unverified, r.Superseded)
	for _, it := range r.Items {
		en := semantic.Entry{Text: it.Text, AnchorType: it.Anchor.Type, AnchorID: it.Anchor.ID}
		fmt.Fprintf(&b, "\n\n%s: %s\n%s", it.ID, it.Reason, semantic.Render(en, it.Freshness, semantic.Current{Value: it.Current}))
	}
	if r.LeftOut > 0 {
		fmt.Fprintf(&b, "\n\n%d more are not listed.", r.LeftOut)
	}
	return Frame("staleness", b.String())
}

// Staleness looks at what every interpretation of the project in force is about, files as they are at this moment, and reports those that are not fresh.
// limit bounds the items of the report, not what is counted; 0 is no bound. It changes nothing.
func (e *Engine) Staleness(ctx context.Context, limit int) (StalenessReport, error) {
	out := StalenessReport{Items: []StaleEntry{}}
	if err := e.check(ctx); err != nil {
		return StalenessReport{}, err
	}
	err := e.st.Read(ctx, func(r *store.Reader) error {
		look := e.look(r, e.project)
		defer look.Close()
		for en, err := range r.Entries(store.EntryFilter{Project: e.project}) {
			if err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			s, err := look.Entry(en)
			if err != nil {
				return err
			}
			out.Entries++
			switch {
			case s.Freshness.Stale():
				out.Stale++
			case s.Freshness == semantic.Unverified:
				out.Unverified++
			case s.Superseded != "":
				out.Superseded++
				continue
			default:
				continue
			}
			if limit > 0 && len(out.Items) == limit {
				out.LeftOut++
				continue
			}
			item, err := staleEntry(look, en, s)
			if err != nil {
				return err
			}
			out.Items = append(out.Items, item)
		}
		return nil
	})
	if err != nil {
		return StalenessReport{}, wrap(err)
	}
	if out.Entries > 0 {
		out.Rate = float64(out.Stale) / float64(out.Entries)
	}
	return out, nil
}

// staleEntry describes an entry that is not fresh.
func staleEntry(look *sight.Looker, en semantic.Entry, s sight.Sight) (StaleEntry, error) {
	it := StaleEntry{ID: en.ID, Text: en.Text, Anchor: AnchorRef{Type: en.AnchorType, ID: en.AnchorID}, Freshness: s.Freshness, State: s.Freshness.String(),
		Reason: semantic.Reason(en, s.Freshness)}
	if s.Freshness == semantic.Stale {
		it.Current = s.Now.Value
	}
	if s.Why != "" {
		it.Reason += ": " + s.Why
	}
	if strings.HasPrefix(en.AnchorID, "sym_") {
		row, err := look.Anchor(en.AnchorID)
		if err = notFoundIsNone(err); err != nil {
			return it, err
		}
		it.Name, it.File, it.Was = row.QualifiedName, row.FilePath, row.Value
	}
	return it, nil
}

// look returns a looker for a project. Its Close must be called.
func (e *Engine) look(r *store.Reader, project string) *sight.Looker {
	return sight.New(r, project, func() (*sourcefile.Root, error) { return e.openRoot(project) })
}
