package rendering

import (
	"encoding/json"
	"fmt"

	"sakur4/evict"
	"sakur4/internal/turn"
)

// Changes are what is to be stored of a prompt, in one transaction.
type Changes struct {
	// Body is the new state, by the rules of Version.
	Body    string
	Version int
	// Decisions are those from position First on that are new or other ones than stored; Anew says that there are stored ones from there on, which are to go.
	First     int
	Decisions []Decision
	Anew      bool
	// Window is the prompt that Steps were taken for.
	Window string
	Steps  []Step
	// Placed are the attached notes that now stand in the prompt.
	Placed []string
}

// Step is a rung that an episode takes; Seq is its place in the record.
type Step struct {
	evict.Step
	Seq int64
}

// Changes returns what is not stored yet of the prompt that was made. [Prompt.Stored] comes next.
func (p *Prompt) Changes() (Changes, error) {
	body, err := json.Marshal(p.state)
	if err != nil {
		return Changes{}, fmt.Errorf("rendering: state: %w", err)
	}
	p.coming = string(body)
	entries := p.chat.Entries
	out := Changes{Body: p.coming, Version: turn.Version, First: p.dirty, Decisions: make([]Decision, 0, len(entries)-p.dirty), Anew: p.dirty < p.stored,
		Window: p.state.Window, Placed: p.placed}
	for i, e := range entries[p.dirty:] {
		out.Decisions = append(out.Decisions, Decision{Ord: p.dirty + i, Kind: string(e.Kind), Episode: e.Episode, Form: string(e.Form), Body: e.Body()})
	}
	if p.done != nil {
		seqs := make(map[string]int64, len(p.done.entries))
		for _, e := range p.done.entries {
			seqs[e.Episode] = e.Seq
		}
		out.Steps = make([]Step, 0, len(p.done.steps))
		for _, st := range p.done.steps {
			out.Steps = append(out.Steps, Step{st, seqs[st.Episode]})
		}
	}
	return out, nil
}

// Stored says that the store has the changes.
func (p *Prompt) Stored() {
	p.dirty, p.stored = len(p.chat.Entries), len(p.chat.Entries)
	p.body, p.coming = p.coming, ""
	p.known, p.done, p.placed = true, nil, nil
}
