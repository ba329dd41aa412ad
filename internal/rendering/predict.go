package rendering

import (
	"fmt"
	"slices"

	"sakur4/boundary"
	"sakur4/internal/prompt"
)

// prediction is what the cache model says of the next request.
type prediction struct {
	boundary.Reuse
	plan  boundary.Plan
	marks []int // messages to mark
	// unsure says what is not known of the reuse of a compacted prompt.
	unsure string
}

// predict asks the cache model about the prompt and lets it accept it.
func (p *Prompt) predict(compacted bool) prediction {
	ids, users := p.sending.of(p.counted, p.header)
	geometry := p.cache.Geometry()
	p.askShift()
	out := prediction{Reuse: p.cache.Predict(ids, p.state.Hint)}
	out.plan = boundary.Resolve(geometry, out.Common, len(ids), 0)
	if out.Shifted > 0 {
		out.plan = out.plan.Moved(out.Shifted)
	}
	if compacted {
		out.unsure = p.unsure(ids)
	}
	out.marks = p.marks(out.Common)
	p.cache.Accept(ids, users, p.state.Hint)
	return out
}

// sending is the prompt that was made last, as it is sent. The tokens of a count are never written again, and a longer one begins with those of the one
// before in the same memory: what was copied and looked at for the last prompt holds for the next.
type sending struct {
	from   []int32 // of the count
	ids    []int32 // with the header of the reply
	header []int32
	users  []int // the starts of the user messages in from
}

// of returns the tokens of a prompt and the positions at which its user messages start. Both are valid until the next call.
func (p *sending) of(counted *prompt.State, header []int32) (ids []int32, users []int) {
	from := counted.IDs
	if len(p.from) == 0 || len(from) < len(p.from) || &from[0] != &p.from[0] || !slices.Equal(p.header, header) {
		*p = sending{ids: p.ids[:0], header: header, users: p.users[:0]}
	}
	n := len(p.from)
	p.ids = append(append(p.ids[:n], from[n:]...), counted.Gen...)
	p.from = from
	if len(header) == 0 {
		return p.ids, nil
	}
	at := max(n-len(header)+1, 0)
	if k := len(p.users); k > 0 {
		at = max(at, p.users[k-1]+len(header))
	}
	users = p.users
	for _, i := range boundary.UserStarts(p.ids[at:], header) {
		users = append(users, at+i)
		if at+i+len(header) <= len(from) {
			p.users = users
		}
	}
	return p.ids, users
}

// unsure says in the words of a receipt what is not known of the reuse of a compacted prompt; "" where it is known.
func (p *Prompt) unsure(prompt []int32) string {
	low, high, sure := p.cache.Range(prompt)
	switch {
	case sure:
		return ""
	case low < high:
		return fmt.Sprintf("the server's checkpoint settings are not known for sure: %d to %d tokens may be reused", low, high)
	}
	return "the server's checkpoint settings are not known for sure"
}

// marks chooses the messages of the next prompt that a provider with breakpoints is to be told to cache, and tells the model of its cache. common is how
// many tokens of it the provider has seen.
func (p *Prompt) marks(common int) []int {
	g := p.profile.Geometry
	if g.Kind != boundary.Marked || g.Marks == 0 {
		return nil
	}
	ends := make([]int, len(p.counted.Counts))
	n := 0
	for i, c := range p.counted.Counts {
		n += c.Tokens
		ends[i] = n
	}
	var survive []int
	for _, at := range p.cache.Marks() {
		if at <= common {
			survive = append(survive, at)
		}
	}
	list := boundary.Breakpoints(ends, survive, p.headItems(), g.Marks)
	positions := make([]int, len(list))
	for i, m := range list {
		positions[i] = ends[m]
	}
	p.cache.Mark(positions)
	return list
}
