package sakur4

import (
	"context"
	"fmt"
	"time"

	"sakur4/internal/project"
	"sakur4/internal/recall"
	"sakur4/internal/store"
	"sakur4/semantic"
)

// HitKind says what a hit is. The zero value is invalid.
type HitKind string

// The members of [HitKind].
const (
	// HitEpisode is a recorded turn.
	HitEpisode HitKind = "episode"
	// HitFact is a fact of the ledger.
	HitFact HitKind = "fact"
	// HitEntry is an interpretation.
	HitEntry HitKind = "entry"
)

// Query asks for what is remembered. The text is data: words of any kind, no operators.
type Query struct {
	// Text is what is looked for. A text without a word finds nothing; of a very long one the first 1,000 different words count.
	Text string
	// K is the most hits; 0 and less is 8, and more than 1,000 are not looked for. Budget bounds their tokens together, in whole hits; 0 and less is no bound.
	K, Budget int
	// Session limits the search to one session; "" is all of the project. Project names another project
	// deliberately, by its id or by its name ([Options.Project]); "" is the engine's own.
	Session, Project string
	// FilePath limits facts to one file.
	FilePath string
	// Since and Until bound the time at which an episode happened; zero is no bound.
	Since, Until time.Time
	// IncludeFolded and IncludeDropped search what is otherwise left out.
	IncludeFolded, IncludeDropped bool
}

// Hits are the answer to a [Query], the best first.
type Hits struct {
	// Items are the hits; empty when nothing was found.
	Items []Hit `json:"items"`
	// LeftOut counts hits that the budget had no room for.
	LeftOut int `json:"left_out"`
	// Notes say what the answer lacks, such as the results of an embedder that did not answer, or why it is empty where no project has the name that was given;
	// empty where it lacks nothing.
	Notes []string `json:"notes,omitempty"`
}

// Hit is one thing remembered.
type Hit struct {
	// Kind says what it is, ID names it: an [EpisodeID], a [FactID] or the id of an interpretation.
	Kind HitKind `json:"kind"`
	ID   string  `json:"id"`
	// Text is an episode's content, a fact's name and value, or an interpretation.
	Text string `json:"text"`
	// Score is comparable within one answer only. Tokens is the local count of Text.
	Score  float64 `json:"score"`
	Tokens int     `json:"tokens"`
	// Stale says that the source has changed since, or is gone; Current is its value now: trust it and not the text. Superseded says that a later turn
	// corrects it; Current is then that turn's id. Unverified says that the source could not be looked at.
	Stale      bool   `json:"stale"`
	Superseded bool   `json:"superseded"`
	Unverified bool   `json:"unverified,omitempty"`
	Current    string `json:"current_value,omitempty"`
	// Anchor is what an interpretation is about, Freshness what has become of it; zero for other hits.
	Anchor    AnchorRef          `json:"anchor,omitzero"`
	Freshness semantic.Freshness `json:"-"`
	// Reasons say which retriever found it at which rank.
	Reasons []string `json:"reasons"`
}

const (
	// defaultHits is Query.K by default.
	defaultHits = 8
	// maxHits is the most that one query may ask for.
	maxHits = 1000
	// maxTerms is how many terms of a query are looked for. Each costs some 50 µs, whether it is found or not.
	maxTerms = 1000
)

// Recall finds episodes, facts and interpretations by their words, and with [Options.Embedder] by their sense, also those that have left the window. It reads
// everything that was committed before it was called. An embedder that is slow or fails takes nothing from the answer but its own
// part; the notes say so. One that is slow is waited for, for some seconds, and after that not asked for half a minute. In a project that the store does not
// have nothing is found, and the notes say that.
func (e *Engine) Recall(ctx context.Context, q Query) (Hits, error) {
	if err := e.check(ctx); err != nil {
		return Hits{}, err
	}
	k := q.K
	if k <= 0 {
		k = defaultHits
	}
	k = min(k, maxHits)
	project := e.project
	if q.Project != "" {
		project = projectOf(q.Project)
	}
	terms := recall.QueryTerms(q.Text)
	if len(terms) == 0 {
		return Hits{}, nil
	}
	terms = terms[:min(len(terms), maxTerms)]
	search := store.SearchQuery{Project: project, Session: q.Session, Terms: terms, K: 4 * k, Since: q.Since, Until: q.Until, IncludeDropped: q.IncludeDropped}
	near, err := e.dense.query(ctx, project, q.Text)
	if err != nil {
		return Hits{}, wrap(err)
	}
	var hits []Hit
	err = e.st.Read(ctx, func(r *store.Reader) error {
		// The search comes first: whatever is read before it fixes a snapshot in which the index cannot be completed.
		episodes, err := r.SearchEpisodes(search)
		if err != nil {
			return err
		}
		facts, err := r.SearchFacts(search)
		if err != nil {
			return err
		}
		entries, err := r.SearchEntries(search)
		if err != nil {
			return err
		}
		look := e.look(r, project)
		defer look.Close()
		lists := []recall.Ranked{ranked("episodes", episodes), ranked("facts", facts), ranked("entries", entries)}
		if e.dense != nil {
			list, err := e.dense.search(r, &near, search)
			if err != nil {
				return err
			}
			lists = append(lists, list)
		}
		linked, err := neighbours(r, project, lists, q)
		if err != nil {
			return err
		}
		for _, f := range recall.Fuse(append(lists, linked), 0) {
			if q.Budget == 0 && settled(hits, f.Score) >= k {
				break
			}
			h, ok, err := e.hit(r, look, project, f, q)
			if err != nil {
				return err
			}
			if ok {
				hits = append(hits, h)
			}
		}
		if len(hits) > 0 || q.Project == "" {
			return nil
		}
		known, err := r.HasProject(project)
		if err == nil && !known {
			near.notes = append(near.notes, fmt.Sprintf("the store has no project %q", q.Project))
		}
		return err
	})
	if err != nil {
		return Hits{}, wrap(err)
	}
	out := e.fit(afterReplacement(byScore(hits)), k, q.Budget)
	out.Notes = near.notes
	return out, nil
}

// projectOf returns the id of a project that is given by its id or by the name that [Options.Project] gave it.
func projectOf(name string) string {
	if project.IsID(name) {
		return name
	}
	id, err := project.Named(name)
	if err != nil {
		return name // which no project has
	}
	return id
}

func ranked(name string, in []store.Scored) recall.Ranked {
	out := recall.Ranked{Source: name, Weight: 1}
	for _, s := range in {
		out.IDs = append(out.IDs, s.ID)
	}
	return out
}

// fit takes whole hits until k or the budget is reached. A hit that has no room is left out, and a later, smaller one may still fit.
func (e *Engine) fit(hits []Hit, k, budget int) Hits {
	var out Hits
	used := 0
	for _, h := range hits {
		if len(out.Items) == k {
			break
		}
		if h.Tokens == 0 {
			h.Tokens = e.counter.Count(h.Text)
		}
		if budget > 0 && used+h.Tokens > budget {
			out.LeftOut++
			continue
		}
		used += h.Tokens
		out.Items = append(out.Items, h)
	}
	return out
}
