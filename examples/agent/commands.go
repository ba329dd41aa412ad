package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"sakur4"
	"sakur4/receipt"
)

// command returns the subcommand of that name, nil if there is none.
func command(name string) func(context.Context, config, streams) error {
	return map[string]func(context.Context, config, streams) error{
		"doctor":    doctor,
		"status":    reading((*agent).showStatus),
		"verify":    reading((*agent).showVerify),
		"receipt":   reading((*agent).showReceipt),
		"plan":      reading((*agent).showPlan),
		"episodes":  reading((*agent).showEpisodes),
		"sessions":  reading((*agent).showSessions),
		"pins":      reading((*agent).showPins),
		"evictions": reading((*agent).showEvictions),
		"recall":    reading((*agent).showRecall),
		"folds":     reading((*agent).showFolds),
		"staleness": reading((*agent).showStaleness),
		"dream":     reading((*agent).runDream),
		"index":     runIndex,
		"symbol":    reading((*agent).showSymbol),
		"impact":    reading((*agent).showImpact),
		"map":       reading((*agent).showMap),
	}[name]
}

// reading makes a command of a method over a store that is there.
func reading(show func(*agent, context.Context) error) func(context.Context, config, streams) error {
	return func(ctx context.Context, cfg config, std streams) error {
		if _, err := os.Stat(cfg.db); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no store %s", cfg.db) // opening it would create one
		}
		a, err := open(ctx, cfg, std)
		if err != nil {
			return err
		}
		return errors.Join(show(a, ctx), a.close())
	}
}

// say writes v as a line of JSON, or the text.
func (a *agent) say(v any, format string, args ...any) error {
	if a.cfg.json {
		return writeJSON(a.out, v)
	}
	_, err := fmt.Fprintf(a.out, format+"\n", args...)
	return err
}

func (a *agent) showStatus(ctx context.Context) error {
	st, err := a.eng.Status(ctx)
	if err != nil {
		return err
	}
	return a.say(st, "%s", st)
}

func (a *agent) showVerify(ctx context.Context) error {
	r, err := a.eng.Verify(ctx)
	if err != nil && !errors.Is(err, sakur4.ErrCorrupt) {
		return err
	}
	text := fmt.Sprintf("%d episodes checked; of %d facts %d were read again in their sources, %d have changed in their files, %d are gone there, %d could not be looked at; %d problems",
		r.Episodes, r.Facts, r.Rederived, r.Drifted, r.Gone, r.Unverified, len(r.Problems))
	for _, p := range r.Problems {
		text += "\n  " + p
	}
	return errors.Join(a.say(r, "%s", text), err)
}

func (a *agent) showReceipt(ctx context.Context) error {
	if !a.cfg.all {
		r, err := a.ses.Receipt(ctx)
		if err != nil {
			return err
		}
		return a.say(r, "%s", r)
	}
	for r, err := range a.ses.Receipts(ctx) {
		if err != nil {
			return err
		}
		if err := a.say(r, "%s", receipt.Receipt.Line(r)); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) showPlan(ctx context.Context) error {
	p, err := a.ses.Plan(ctx, a.head)
	if err != nil {
		return err
	}
	text := planText(p)
	for _, s := range p.Steps {
		text += fmt.Sprintf("\n    %s %s", s.Episode, s.Reason)
	}
	return a.say(p, "%s", text)
}

// episodeLine is a recorded turn in JSON, whose fields have no tags of their own.
type episodeLine struct {
	ID       sakur4.EpisodeID  `json:"id"`
	Seq      int64             `json:"seq"`
	Session  string            `json:"session"`
	Role     sakur4.Role       `json:"role"`
	Tool     string            `json:"tool,omitempty"`
	Tier     string            `json:"tier"`
	Tokens   int               `json:"tokens"`
	Bytes    int               `json:"bytes"`
	Replaced sakur4.EpisodeID  `json:"superseded_by,omitempty"`
	Content  string            `json:"content"`
	Calls    []sakur4.ToolCall `json:"calls,omitempty"`
}

// previewBytes is what is shown of an episode's text.
const previewBytes = 80

func (a *agent) showEpisodes(ctx context.Context) error {
	filter := sakur4.EpisodeFilter{Session: a.ses.ID()}
	if a.cfg.all {
		filter.Session = ""
	}
	for e, err := range a.eng.Episodes(ctx, filter) {
		if err != nil {
			return err
		}
		line := episodeLine{e.ID, e.Seq, e.Session, e.Role, e.ToolName, e.Tier.String(), e.Tokens, len(e.Content), e.SupersededBy, e.Content, e.ToolCalls}
		text := fmt.Sprintf("%q", clip(episodeText(e), previewBytes))
		if a.cfg.all {
			text = "\n" + episodeText(e)
		}
		if err := a.say(line, "%s  %-9s %-14s %-10s %6d tokens  %s", e.ID, e.Role, e.ToolName, e.Tier, e.Tokens, text); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) showSessions(ctx context.Context) error {
	for s, err := range a.eng.Sessions(ctx) {
		if err != nil {
			return err
		}
		if err := a.say(s, "%s  %d episodes, last %s", s.ID, s.Episodes, s.Last.UTC().Format("2006-01-02 15:04:05")); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) showPins(ctx context.Context) error {
	pins, err := a.ses.Pins(ctx)
	for _, p := range pins {
		err = errors.Join(err, a.say(p, "%s  %-11s %s", p.ID, p.Kind, p.Text))
	}
	return err
}

func (a *agent) showEvictions(ctx context.Context) error {
	for e, err := range a.ses.Evictions(ctx) {
		if err != nil {
			return err
		}
		line := struct {
			Episode sakur4.EpisodeID `json:"episode"`
			From    string           `json:"from"`
			To      string           `json:"to"`
			Window  sakur4.WindowID  `json:"window"`
			Tokens  int              `json:"tokens"`
			Reason  string           `json:"reason"`
		}{e.Episode, e.From.String(), e.To.String(), e.Window, e.Tokens, e.Reason}
		if err := a.say(line, "%s  %s  %s", e.Window, e.Episode, e.Reason); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) showRecall(ctx context.Context) error {
	hits, err := a.eng.Recall(ctx, sakur4.Query{Text: a.cfg.words})
	if err != nil {
		return err
	}
	if a.cfg.json {
		return writeJSON(a.out, hits)
	}
	for _, h := range hits.Items {
		mark := ""
		if h.Stale {
			mark = fmt.Sprintf(" [STALE] now: %q", clip(h.Current, previewBytes))
		}
		fmt.Fprintf(a.out, "%s  %-7s %.4f  %q%s  %v\n", h.ID, h.Kind, h.Score, clip(h.Text, previewBytes), mark, h.Reasons)
	}
	return nil
}
