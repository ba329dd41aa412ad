package main

import (
	"context"
	"encoding/json"
	"errors"

	"sakur4"
)

func (a *agent) codeImpact(ctx context.Context, args json.RawMessage) (string, error) {
	var in struct {
		Name  string `json:"name"`
		Depth int    `json:"depth"`
		Exact bool   `json:"exact"`
	}
	if err := decode(args, &in); err != nil {
		return "", err
	}
	r, err := indexedFirst(ctx, a, func() (sakur4.ImpactReport, error) {
		return a.eng.ImpactWith(ctx, in.Name, sakur4.ImpactOptions{Depth: in.Depth, Limit: impactLimit, GoTypes: in.Exact})
	})
	if err != nil {
		return "", err
	}
	return r.String(), nil
}

const (
	// impactLimit is how many dependents a model is shown.
	impactLimit = 60
	// mapShare is the share of the window that a map may fill.
	mapShare = 16
)

func (a *agent) codeMap(ctx context.Context, args json.RawMessage) (string, error) {
	var in struct {
		Budget    int      `json:"budget"`
		Focus     []string `json:"focus"`
		NamesOnly bool     `json:"names_only"`
	}
	if err := decode(args, &in); err != nil {
		return "", err
	}
	st, err := a.eng.Status(ctx)
	if err != nil {
		return "", err
	}
	most := max(st.Window/mapShare, 1)
	if in.Budget <= 0 || in.Budget > most {
		in.Budget = most
	}
	m, err := indexedFirst(ctx, a, func() (sakur4.RepoMap, error) {
		return a.eng.RepoMap(ctx, sakur4.RepoMapOptions{Budget: in.Budget, Focus: in.Focus, NamesOnly: in.NamesOnly})
	})
	if err != nil {
		return "", err
	}
	return m.String(), nil
}

// indexedFirst asks again, once the code is indexed, where it was not: the model may ask before anybody thought of that.
func indexedFirst[T any](ctx context.Context, a *agent, ask func() (T, error)) (T, error) {
	out, err := ask()
	var none *sakur4.SymbolError
	if errors.As(err, &none) && none.NothingIndexed {
		if _, err := a.eng.Index(ctx, sakur4.IndexOptions{}); err != nil {
			return out, err
		}
		return ask()
	}
	return out, err
}

func (a *agent) showImpact(ctx context.Context) error {
	r, err := a.eng.ImpactWith(ctx, a.cfg.words, sakur4.ImpactOptions{Depth: a.cfg.depth, Limit: a.cfg.limit, GoTypes: a.cfg.goTypes})
	if err != nil {
		return err
	}
	return a.say(r, "%s", r)
}

func (a *agent) showMap(ctx context.Context) error {
	m, err := a.eng.RepoMap(ctx, sakur4.RepoMapOptions{Budget: a.cfg.budget, Focus: a.cfg.focus, NamesOnly: a.cfg.names})
	if err != nil {
		return err
	}
	return a.say(m, "%s", m)
}
