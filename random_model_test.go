package sakur4_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sakur4"
	"sakur4/evict"
)

// modelCall is a call that the model made.
type modelCall struct {
	sakur4.ToolCall
	answered, closed bool
}

// modelTurn is a turn as it must come back.
type modelTurn struct {
	sakur4.Turn
	id    sakur4.EpisodeID
	seq   int64
	tag   string // stands at the start of the content and nowhere else; "" for none
	late  bool
	blank bool
	calls []*modelCall
}

// model is what a session must be, kept as simply as can be.
type model struct {
	turns   []*modelTurn
	lastSeq int64
	tail    string // role of the message that the next prompt ends with
	pins    map[sakur4.PinID]string
	retired map[sakur4.PinID]bool

	head     sakur4.Head
	sent     []string // the JSON of the last prompt's messages
	sentMs   []sakur4.Message
	sentIDs  []int32
	sentSeq  int64 // last turn that a prompt has covered
	sentPins string
	sentHead sakur4.Head
	window   *sakur4.Window
	// since the last prompt
	compacted bool
	moved     bool // reopened on something that may count otherwise
	fresh     bool // something was recorded
	// floors are the Seqs at which a plan named a floor that may shorten a user turn, with the floor.
	floors []namedFloor
}

type namedFloor struct {
	seq   int64
	floor string
}

// pending returns the ids of the calls that wait for their results.
func (m *model) pending() []string {
	var ids []string
	for _, t := range m.turns {
		for _, c := range t.calls {
			if !c.answered && !c.closed {
				ids = append(ids, c.ID)
			}
		}
	}
	return ids
}

func (m *model) closeOpen() {
	for _, t := range m.turns {
		for _, c := range t.calls {
			if !c.answered && !c.closed {
				c.closed = true
				m.tail = "tool"
			}
		}
	}
}

// answers finds the call that a result of that id belongs to: in the newest turn that has an open one, the first.
func (m *model) answers(id string) *modelCall {
	for _, t := range slices.Backward(m.turns) {
		for _, c := range t.calls {
			if c.ID == id && !c.answered {
				return c
			}
		}
	}
	return nil
}

// expect returns what Commit must refuse a turn with, nil if it must take it.
func (m *model) expect(t sakur4.Turn) error {
	tool := t.Role == sakur4.RoleTool
	switch {
	case t.Role != sakur4.RoleSystem && t.Role != sakur4.RoleUser && t.Role != sakur4.RoleAssistant && !tool,
		t.Role != sakur4.RoleAssistant && (len(t.ToolCalls) > 0 || t.Reasoning != ""),
		!tool && (t.ToolCallID != "" || t.ToolName != ""),
		t.Role == sakur4.RoleUser && t.Content == "":
		return sakur4.ErrInvalidTurn
	case t.After > 0 && t.After != m.lastSeq:
		return sakur4.ErrConflict
	case tool && m.answers(t.ToolCallID) == nil:
		return sakur4.ErrInvalidTurn
	case t.Corrects != "" && m.byID(t.Corrects) == nil:
		return sakur4.ErrUnknownEpisode
	}
	return nil
}

func (m *model) byID(id sakur4.EpisodeID) *modelTurn {
	for _, t := range m.turns {
		if t.id == id {
			return t
		}
	}
	return nil
}

// record enters a turn that was taken.
func (m *model) record(t sakur4.Turn, tag string, c sakur4.Committed) *modelTurn {
	r := &modelTurn{Turn: t, id: c.Episode, seq: c.Seq, tag: tag}
	waiting := len(m.pending()) > 0
	switch t.Role {
	case sakur4.RoleUser:
		m.closeOpen()
		m.tail = "user"
	case sakur4.RoleAssistant:
		r.blank = len(t.ToolCalls) == 0 && strings.Trim(t.Content, " \t\r\n") == ""
		for _, c := range t.ToolCalls {
			r.calls = append(r.calls, &modelCall{ToolCall: c})
		}
		if !r.blank && (!waiting || len(t.ToolCalls) > 0) {
			m.tail = "assistant"
		}
	case sakur4.RoleTool:
		call := m.answers(t.ToolCallID)
		call.answered = true
		r.late = call.closed
		if r.ToolName == "" {
			r.ToolName = call.Name
		}
		if !r.late {
			m.tail = "tool"
		}
	}
	m.turns = append(m.turns, r)
	m.lastSeq = c.Seq
	m.fresh = true
	return r
}

// users returns the first and the newest user turn.
func (m *model) users() (first, newest *modelTurn) {
	for _, t := range m.turns {
		if t.Role == sakur4.RoleUser {
			if first == nil {
				first = t
			}
			newest = t
		}
	}
	return first, newest
}

// readable is a text as a reader sees it: bad bytes replaced one by one, zero-width spaces out.
func readable(s string) string { return strings.ReplaceAll(string([]rune(s)), "\u200b", "") }

// mayShorten reports whether a plan since the turn was recorded named a floor that lets it be shortened.
func (m *model) mayShorten(t *modelTurn) bool {
	return slices.ContainsFunc(m.floors, func(f namedFloor) bool {
		return f.seq >= t.seq && (f.floor == evict.FloorName(evict.FloorNewestUser) || f.floor == evict.FloorName(evict.FloorTaskRoot))
	})
}

// attachedText is the least of the attached text that can be left in a note that was shortened to nothing.
const attachedText = 200

// checkUsers wants the task root first and the newest user turn, verbatim unless a floor was named.
func (m *model) checkUsers(ms []sakur4.Message, p *sakur4.Plan, headed bool) error {
	// A note that came after a turn was shortened finds room without taking any.
	now := p != nil && (p.Floor == evict.FloorName(evict.FloorNewestUser) || p.Floor == evict.FloorName(evict.FloorTaskRoot))
	var users []sakur4.Message
	for _, x := range ms {
		if x.Role == "user" && !(headed && strings.Contains(x.Content, "\n\n(continue)")) && x.Content != "(continue)" && !strings.HasPrefix(x.Content, "(continue)\n\n<sakur4:note") {
			users = append(users, x)
		}
	}
	first, newest := m.users()
	if first == nil {
		return nil
	}
	for i, t := range []*modelTurn{first, newest} {
		what := []string{"task root", "newest user turn"}[i]
		if len(users) == 0 {
			return fmt.Errorf("%s: the prompt has no user turn", what)
		}
		x := users[0]
		if i == 1 {
			x = users[len(users)-1]
		}
		if strings.HasPrefix(readable(x.Content), readable(t.Content)) {
			continue
		}
		if headed && strings.Contains(readable(x.Content), "\n\n"+readable(t.Content)) {
			continue // the head stands in front of it
		}
		if !strings.Contains(x.Content, "stored as "+string(t.id)) {
			return fmt.Errorf("%s %s is not there: %.200q", what, t.id, x.Content)
		}
		if !m.mayShorten(t) {
			return fmt.Errorf("%s %s (seq %d) is shortened, and no plan named its floor: %v", what, t.id, t.seq, m.floors)
		}
		if i == 1 && now && x.Content == ms[len(ms)-1].Content {
			if n := longestNote(x.Content); n > attachedText {
				return fmt.Errorf("%s is shortened while an attached note of %d bytes stands behind it: %.300q", what, n, x.Content)
			}
		}
	}
	return nil
}

// longestNote returns the size of the longest attached note or system turn in a content.
func longestNote(content string) int {
	n := 0
	for _, part := range strings.Split(content, "\n\n<sakur4:note kind=\"")[1:] {
		kind, text, _ := strings.Cut(part, "\">\n")
		if kind == "note" || kind == "recalled" || kind == "repo-map" || kind == "system-turn" {
			n = max(n, len(text))
		}
	}
	return n
}

// checkPins wants every pin in force verbatim, and every other one that is shown said to be out of force behind it.
func (m *model) checkPins(ms []sakur4.Message) error {
	var all strings.Builder
	for _, x := range ms {
		all.WriteString(x.Content + "\x00")
	}
	text := all.String()
	for id, pin := range m.pins {
		shown := strings.LastIndex(text, "["+string(id)+", ")
		if shown < 0 || !strings.Contains(text[shown:], "]\n"+pin+"\n") {
			return fmt.Errorf("pin %s is not verbatim in the prompt: %q", id, pin)
		}
		if strings.Contains(text, string(id)+": This pinned constraint is no longer") {
			return fmt.Errorf("pin %s is in force and said to be out of it", id)
		}
	}
	for id := range m.retired {
		shown := strings.LastIndex(text, "["+string(id)+", ")
		if shown >= 0 && !strings.Contains(text[shown:], string(id)+": This pinned constraint is no longer in force.") {
			return fmt.Errorf("pin %s is retired and stands in the prompt as if in force", id)
		}
	}
	return nil
}

// checkTiers wants every turn rendered as the store says.
func (m *model) checkTiers(ms []sakur4.Message, tiers map[sakur4.EpisodeID]evict.Tier) error {
	for _, t := range m.turns {
		if t.blank || t.late || t.Role == sakur4.RoleSystem {
			continue
		}
		tier, ok := tiers[t.id]
		if !ok {
			return fmt.Errorf("%s has no tier", t.id)
		}
		marked, masked, stored := false, false, false
		for _, x := range ms {
			if t.tag != "" && strings.Contains(x.Content, t.tag) && x.Role == string(t.Role) {
				marked = true
			}
			bare := strings.TrimPrefix(x.Content, "\n")
			if at := strings.Index(x.Content, "stored as "+string(t.id)); at >= 0 && x.Role == string(t.Role) {
				switch {
				case strings.HasPrefix(bare, `<sakur4:note kind="stored">`):
					stored = true
				case strings.Contains(x.Content[:at], `<sakur4:note kind="masked">`):
					masked = true
				default:
					marked = true // trimmed, or the same as another
				}
			}
		}
		bad := false
		switch tier {
		case evict.Live:
			bad = t.tag != "" && !marked || masked || stored
		case evict.Masked:
			bad = !masked || stored
		case evict.Referenced:
			bad = !stored || masked || marked && t.tag != ""
		default:
			bad = marked || masked || stored
		}
		if bad {
			return fmt.Errorf("%s %s (seq %d) is %v, rendered: content %t, masked %t, stored %t", t.Role, t.id, t.seq, tier, marked, masked, stored)
		}
	}
	return nil
}

// checkPrefix wants the last prompt's messages at the front of the new one, with the exceptions that the documentation makes.
func (m *model) checkPrefix(w *sakur4.Window, head sakur4.Head, raw []string, ids []int32) error {
	if m.window == nil {
		return nil
	}
	same := 0
	for same < len(m.sent) && same < len(raw) && m.sent[same] == raw[same] {
		same++
	}
	headChanged := head.System != m.sentHead.System || string(head.Tools) != string(m.sentHead.Tools)
	if headChanged && !slices.Contains(w.Receipt.Notes, "head changed") {
		return fmt.Errorf("the head has changed and the receipt does not name it: %q", w.Receipt.Notes)
	}
	if w.Plan != nil && !m.compacted && !m.moved && !headChanged && !slices.Contains(w.Receipt.Notes, "the server's template became known") {
		n := 0
		for n < len(ids) && n < len(m.sentIDs) && ids[n] == m.sentIDs[n] {
			n++
		}
		if n < w.Plan.Cut.Cut {
			return fmt.Errorf("the plan cuts at token %d, and the prompts differ from token %d on", w.Plan.Cut.Cut, n)
		}
	}
	learned := slices.Contains(w.Receipt.Notes, "the server's template became known")
	if same == len(m.sent) || w.Plan != nil || m.compacted || headChanged || learned {
		return nil
	}
	late := m.sentPins != m.pinState() && slices.Contains(w.Receipt.Notes, "a pin arrived after the newest message was sent")
	if late && same == len(m.sent)-1 && len(w.Messages) == len(m.sent) && strings.HasPrefix(w.Messages[same].Content, m.sentMs[same].Content) {
		return nil
	}
	var got string
	if same < len(raw) {
		got = raw[same]
	}
	return fmt.Errorf("message %d of %d changed without a compaction (notes %q):\n-%.600s\n+%.600s", same, len(m.sent), w.Receipt.Notes, m.sent[same], got)
}

func (m *model) pinState() string {
	var s []string
	for id := range m.pins {
		s = append(s, string(id))
	}
	slices.Sort(s)
	return strings.Join(s, " ")
}

// checkSteps wants the rungs of every turn to join, and the last to be its tier.
func checkSteps(evs []sakur4.Eviction, tiers map[sakur4.EpisodeID]evict.Tier) error {
	now := map[sakur4.EpisodeID]evict.Tier{}
	for i, e := range evs {
		at := now[e.Episode]
		if at == 0 {
			at = evict.Live
		}
		if e.From != at || e.To != e.From+1 && e.To != evict.Live {
			return fmt.Errorf("eviction %d of %s goes from %v to %v, it was at %v", i, e.Episode, e.From, e.To, at)
		}
		now[e.Episode] = e.To
	}
	for id, tier := range tiers {
		if at, ok := now[id]; ok && at != tier || !ok && tier != evict.Live {
			return fmt.Errorf("%s is %v, its evictions end at %v", id, tier, at)
		}
	}
	return nil
}

// checkPlan wants a plan to reach its target or to say what stopped it.
func checkPlan(p *sakur4.Plan, limit int) error {
	switch {
	case p == nil:
		return errors.New("no plan")
	case p.Applied && p.After > limit:
		return fmt.Errorf("%d tokens after the plan, limit %d", p.After, limit)
	case p.Applied && p.After > p.Target && p.Floor == "":
		return fmt.Errorf("%d tokens after the plan, target %d, and no floor is named: %s", p.After, p.Target, p.Reason)
	case p.Applied && p.After >= p.Before:
		return fmt.Errorf("the plan is applied and reclaims nothing: %d → %d", p.Before, p.After)
	}
	return nil
}

// messagesJSON returns each message as it is sent.
func messagesJSON(ms []sakur4.Message) ([]string, error) {
	out := make([]string, len(ms))
	for i, x := range ms {
		b, err := x.MarshalJSON()
		if err != nil {
			return nil, err
		}
		out[i] = string(b)
	}
	return out, nil
}
