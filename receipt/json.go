package receipt

import (
	"encoding/json"
	"fmt"

	"sakur4/boundary"
)

// receiptJSON is the JSON form of a receipt: fixed names in a fixed order.
type receiptJSON struct {
	Session      string    `json:"session"`
	ID           string    `json:"id"`
	Turn         int       `json:"turn"`
	Generation   int       `json:"generation"`
	Compacted    bool      `json:"compacted"`
	Window       int       `json:"window"`
	Used         int       `json:"used"`
	New          int       `json:"new"`
	Messages     int       `json:"messages"`
	EscapedMarks int       `json:"escaped_marks"`
	Parts        []Part    `json:"parts"`
	Cache        cacheJSON `json:"cache"`
	Tokenizer    string    `json:"tokenizer"`
	Backend      string    `json:"backend"`
	Floor        string    `json:"floor,omitempty"`
	Notes        []string  `json:"notes,omitempty"`
}

// cacheJSON is the JSON form of the cache part. What was not reported is null, so that no reader takes it for 0.
type cacheJSON struct {
	Status     boundary.CacheStatus `json:"status"`
	Verdict    *boundary.Verdict    `json:"verdict"`
	Boundary   int                  `json:"boundary"`
	Checkpoint int                  `json:"checkpoint"`
	Snap       int                  `json:"snap"`
	Predicted  int                  `json:"predicted"`
	Reused     *int                 `json:"reused"`
	Prefilled  *int                 `json:"prefilled"`
	Prompt     *int                 `json:"prompt"`
	Drift      *int                 `json:"drift"`
	Millis     *float64             `json:"millis"`
	Cause      string               `json:"cause,omitempty"`
	Reason     string               `json:"reason,omitempty"`
	Shifted    bool                 `json:"shifted"`
	Trend      boundary.Trend       `json:"trend,omitempty"`
	Written    *int                 `json:"written,omitempty"`
	Provider   string               `json:"provider,omitempty"`
	Model      string               `json:"model,omitempty"`
	Estimated  bool                 `json:"estimated,omitempty"`
}

var (
	_ json.Marshaler   = Receipt{}
	_ json.Unmarshaler = (*Receipt)(nil)
)

// MarshalJSON returns the receipt as an object. Counts that the server did not report are null; what a receipt holds in their place is not written.
func (r Receipt) MarshalJSON() ([]byte, error) {
	c := r.Cache
	out := receiptJSON{
		Session: r.Session, ID: r.ID, Turn: r.Turn, Generation: r.Generation, Compacted: r.Compacted, Window: r.Window, Used: r.Used,
		New: r.New, Messages: r.Messages, EscapedMarks: r.EscapedMarks, Parts: r.Parts, Tokenizer: r.Tokenizer, Backend: r.Backend, Floor: r.Floor, Notes: r.Notes,
		Cache: cacheJSON{
			Status: c.Status, Boundary: c.Boundary, Checkpoint: c.Checkpoint, Snap: c.Snap, Predicted: c.Predicted,
			Cause: c.Cause, Reason: c.Reason, Shifted: c.Shifted, Trend: c.Trend, Written: c.Written, Provider: c.Provider, Model: c.Model, Estimated: c.Estimated,
		},
	}
	if out.Parts == nil {
		out.Parts = []Part{}
	}
	if c.Verdict != 0 {
		out.Cache.Verdict = &c.Verdict
	}
	if c.Measured {
		out.Cache.Reused, out.Cache.Prefilled = &c.Reused, &c.Prefilled
	}
	if c.Prompt > 0 {
		out.Cache.Prompt, out.Cache.Drift = &c.Prompt, &c.Drift
	}
	if c.Millis > 0 {
		out.Cache.Millis = &c.Millis
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what [Receipt.MarshalJSON] wrote. It is an error if the parts do not add up to what was used, or a reported count is negative.
func (r *Receipt) UnmarshalJSON(data []byte) error {
	var in receiptJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("receipt: %w", err)
	}
	c := in.Cache
	out := Receipt{
		Session: in.Session, ID: in.ID, Turn: in.Turn, Generation: in.Generation, Compacted: in.Compacted, Window: in.Window, Used: in.Used,
		New: in.New, Messages: in.Messages, EscapedMarks: in.EscapedMarks, Parts: in.Parts, Tokenizer: in.Tokenizer, Backend: in.Backend, Floor: in.Floor, Notes: in.Notes,
		Cache: Cache{
			Status: c.Status, Boundary: c.Boundary, Checkpoint: c.Checkpoint, Snap: c.Snap, Predicted: c.Predicted,
			Cause: c.Cause, Reason: c.Reason, Shifted: c.Shifted, Trend: c.Trend, Written: c.Written, Provider: c.Provider, Model: c.Model, Estimated: c.Estimated,
		},
	}
	if len(out.Parts) == 0 {
		out.Parts = nil
	}
	if len(out.Notes) == 0 {
		out.Notes = nil
	}
	if c.Verdict != nil {
		out.Cache.Verdict = *c.Verdict
	}
	if (c.Reused == nil) != (c.Prefilled == nil) {
		return fmt.Errorf("receipt: reused and prefilled are reported together or not at all")
	}
	if c.Reused != nil {
		out.Cache.Measured, out.Cache.Reused, out.Cache.Prefilled = true, *c.Reused, *c.Prefilled
		if *c.Reused < 0 || *c.Prefilled < 0 {
			return fmt.Errorf("receipt: %d tokens reused and %d prefilled", *c.Reused, *c.Prefilled)
		}
	}
	if c.Written != nil && *c.Written < 0 {
		return fmt.Errorf("receipt: %d tokens written to a cache", *c.Written)
	}
	if c.Prompt != nil && *c.Prompt > 0 {
		out.Cache.Prompt = *c.Prompt
		if c.Drift != nil {
			out.Cache.Drift = *c.Drift
		}
	}
	if c.Millis != nil && *c.Millis > 0 {
		out.Cache.Millis = *c.Millis
	}
	if out.Parts != nil {
		sum := 0
		for _, p := range out.Parts {
			if p.Category == 0 {
				return fmt.Errorf("receipt: a part of %d tokens without a category", p.Tokens)
			}
			sum += p.Tokens
		}
		if sum != out.Used {
			return fmt.Errorf("receipt: the parts add up to %d tokens, used says %d", sum, out.Used)
		}
	}
	*r = out
	return nil
}
