package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"sakur4"
)

// recallShare is the share of the window that one recall may fill: an eighth, like any other result.
const recallShare = 8

func (a *agent) memoryRecall(ctx context.Context, args json.RawMessage) (string, error) {
	var in struct {
		Query string `json:"query"`
		K     int    `json:"k"`
	}
	if err := decode(args, &in); err != nil {
		return "", err
	}
	st, err := a.eng.Status(ctx)
	if err != nil {
		return "", err
	}
	hits, err := a.eng.Recall(ctx, sakur4.Query{Text: in.Query, K: in.K, Budget: st.Window / recallShare})
	if err != nil {
		return "", err
	}
	b, err := json.MarshalIndent(hits, "", " ")
	return sakur4.Frame("recall", string(b)), err
}

func (a *agent) memoryPin(ctx context.Context, args json.RawMessage) (string, error) {
	var in struct {
		Text string         `json:"text"`
		Kind sakur4.PinKind `json:"kind"`
	}
	if err := decode(args, &in); err != nil {
		return "", err
	}
	if in.Kind == "" {
		in.Kind = sakur4.PinConstraint
	}
	id, err := a.ses.Pin(ctx, in.Text, in.Kind)
	return "pinned as " + string(id), err
}

func (a *agent) memoryEpisode(ctx context.Context, args json.RawMessage) (string, error) {
	var in struct {
		ID sakur4.EpisodeID `json:"id"`
	}
	if err := decode(args, &in); err != nil {
		return "", err
	}
	e, err := a.eng.Episode(ctx, in.ID)
	if err != nil {
		return "", err
	}
	return sakur4.Frame("episode", fmt.Sprintf("%s, %s, %s\n%s", e.ID, e.Role, e.At.UTC().Format(time.RFC3339), episodeText(e))), nil
}

// episodeText is what was said in a turn, with its calls.
func episodeText(e sakur4.Episode) string {
	text := e.Content
	for _, c := range e.ToolCalls {
		text = strings.TrimPrefix(text+"\n"+c.Name+" "+c.Arguments, "\n")
	}
	return text
}

func (a *agent) contextReceipt(ctx context.Context, args json.RawMessage) (string, error) {
	if err := decode(args, &struct{}{}); err != nil {
		return "", err
	}
	r, err := a.ses.Receipt(ctx)
	if err != nil {
		return "", err
	}
	return sakur4.Frame("receipt", r.String()), nil
}

func (a *agent) contextPlan(ctx context.Context, args json.RawMessage) (string, error) {
	if err := decode(args, &struct{}{}); err != nil {
		return "", err
	}
	p, err := a.ses.Plan(ctx, a.head)
	if err != nil {
		return "", err
	}
	return sakur4.Frame("plan", planText(p)), nil
}

func (a *agent) status(ctx context.Context, args json.RawMessage) (string, error) {
	if err := decode(args, &struct{}{}); err != nil {
		return "", err
	}
	st, err := a.eng.Status(ctx)
	return sakur4.Frame("status", st.String()), err
}
