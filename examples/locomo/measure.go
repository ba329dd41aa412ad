package main

import (
	"context"
	"errors"
	"fmt"

	"sakur4"
)

// depth is how many hits are asked for: what comes later adds less than a hundredth to the MRR of its question.
const depth = 100

// Scores are the averages over N questions.
type Scores struct {
	// R5, R10 and R20 are recall among the first 5, 10 and 20 hits, MRR the mean reciprocal rank of the first piece of evidence.
	R5  float64 `json:"r5"`
	R10 float64 `json:"r10"`
	R20 float64 `json:"r20"`
	MRR float64 `json:"mrr"`
	N   int     `json:"n"`
}

// Result is what was measured, over all questions and by the categories of the file.
type Result struct {
	Overall    Scores            `json:"overall"`
	Categories map[string]Scores `json:"categories"`
}

// measure records the conversations in the store at path and asks their questions.
func measure(ctx context.Context, path string, conversations []conversation) (Result, error) {
	var overall tally
	categories := map[string]*tally{}
	for _, c := range conversations {
		err := ask(ctx, path, c, func(q question, ranks []int) {
			if categories[q.category] == nil {
				categories[q.category] = &tally{}
			}
			overall.add(ranks)
			categories[q.category].add(ranks)
		})
		if err != nil {
			return Result{}, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	result := Result{Overall: overall.scores(), Categories: map[string]Scores{}}
	for name, t := range categories {
		result.Categories[name] = t.scores()
	}
	return result, nil
}

// ask records one conversation and asks its questions. answered gets the rank of each piece of evidence, 0 for one that was not found.
func ask(ctx context.Context, path string, c conversation, answered func(q question, ranks []int)) (err error) {
	engine, err := sakur4.Open(ctx, path, &sakur4.Options{Project: c.name})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	turns := map[sakur4.EpisodeID]string{}
	first := ""
	for _, s := range c.sessions {
		for _, t := range s.turns {
			if first == "" {
				first = t.Speaker
			}
			role := sakur4.RoleAssistant
			if t.Speaker == first {
				role = sakur4.RoleUser
			}
			done, err := engine.Session(s.name).Commit(ctx, sakur4.Turn{Role: role, Content: s.content(t), At: s.at})
			if err != nil {
				return err
			}
			turns[done.Episode] = t.ID
		}
	}
	for _, q := range c.questions {
		hits, err := engine.Recall(ctx, sakur4.Query{Text: q.text, K: depth})
		if err != nil {
			return err
		}
		at := map[string]int{}
		rank := 0
		for _, h := range hits.Items {
			if h.Kind != sakur4.HitEpisode {
				continue
			}
			rank++
			at[turns[sakur4.EpisodeID(h.ID)]] = rank
		}
		ranks := make([]int, len(q.evidence))
		for i, id := range q.evidence {
			ranks[i] = at[id]
		}
		answered(q, ranks)
	}
	return nil
}

// tally sums over questions.
type tally struct{ Scores }

// add takes the ranks of a question's evidence.
func (t *tally) add(ranks []int) {
	best := 0
	for _, r := range ranks {
		if r == 0 {
			continue
		}
		if best == 0 || r < best {
			best = r
		}
		share := 1 / float64(len(ranks))
		if r <= 5 {
			t.R5 += share
		}
		if r <= 10 {
			t.R10 += share
		}
		if r <= 20 {
			t.R20 += share
		}
	}
	if best > 0 {
		t.MRR += 1 / float64(best)
	}
	t.N++
}

// scores returns the averages.
func (t *tally) scores() Scores {
	s := t.Scores
	if n := float64(s.N); n > 0 {
		s.R5, s.R10, s.R20, s.MRR = s.R5/n, s.R10/n, s.R20/n, s.MRR/n
	}
	return s
}
