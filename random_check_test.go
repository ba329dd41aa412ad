package sakur4_test

import (
	"errors"
	"slices"
	"strings"

	"sakur4"
	"sakur4/receipt"
)

// overflow wants a refusal for want of room to be true: the head, the pins and two stubs do not fit.
func (w *world) overflow(what string, b *sakur4.BudgetError, other bool) {
	const ours = 2600 // bytes of two trimmed user turns, the fixed messages and the archive note, generously
	_, limit := w.limits(other)
	system := w.m.head.System + "\n\n"
	for id, p := range w.m.pins {
		system += string(id) + ", constraint: The user pinned a constraint. It is in force from here on: <sakur4:note kind=></sakur4:note>\n" + p
	}
	for id := range w.m.retired {
		system += string(id) + "<sakur4:note kind=\"pin-no-longer-in-force\">:This pinned constraint is no longer in force.</sakur4:note>" + strings.Repeat(" any text ", 10)
	}
	least := len(promptIDs(w.t, w.a.server.Server, []sakur4.Message{{Role: "system", Content: system},
		{Role: "user", Content: strings.Repeat("some words and pin_00000000000000a1\n", ours/36)}}, w.m.head.Tools))
	if least <= limit {
		w.fatalf("%s = %v, and a prompt of %d tokens could be made; the limit is %d", what, b, least, limit)
	}
	if b.Floor == "" || b.Need <= b.Have {
		w.fatalf("%s = %+v, which does not say what does not fit", what, b)
	}
}

// limits are the setup's, or those without a server where it has never answered the first engine or, if other is set, the second.
func (w *world) limits(other bool) (window, limit int) {
	u, server := w.a.setup, w.a.server
	if other && w.a.second != nil {
		server = w.a.second
	}
	if !server.seen && u.window == 0 {
		u.backend = sakur4.DefaultWindow
	} else if !server.seen {
		u.backend = u.window
	}
	return u.limits()
}

// check holds a prompt against the model.
func (w *world) check(x *sakur4.Window, h sakur4.Head, other bool) {
	m, r := w.m, x.Receipt
	if err := strictChat(x.Messages); err != nil {
		w.fatalf("the prompt is no valid chat: %v\n%s", err, outline(x.Messages))
	}
	if w.a.setup.template == 1 && !slices.ContainsFunc(x.Receipt.Notes, countedLocally) && x.Messages[0].Role == "system" {
		w.fatalf("a system message for a template that has none")
	}
	raw, err := messagesJSON(x.Messages)
	if err != nil {
		w.fatalf("%v", err)
	}
	ids := promptIDs(w.t, w.a.server.Server, x.Messages, h.Tools)
	again := m.window != nil && x.ID == m.window.ID
	local := slices.ContainsFunc(r.Notes, countedLocally)
	_, limit := w.limits(other)
	if !local && !(again && w.unasked) && len(ids) > limit {
		w.fatalf("a prompt of %d tokens, the limit is %d (again %t)", len(ids), limit, again)
	}
	if again {
		if !slices.Equal(raw, m.sent) || x.Plan != nil {
			w.fatalf("the prompt %s came back otherwise:\n%s%s", x.ID, outline(m.sentMs), outline(x.Messages))
		}
		if m.fresh && m.tail != "" && slices.ContainsFunc(m.turns, func(t *modelTurn) bool {
			return t.seq > m.sentSeq && !t.blank && !t.late && t.Role != sakur4.RoleSystem
		}) {
			w.fatalf("the prompt %s came back although there is a new turn", x.ID)
		}
		return
	}
	if local {
		u := w.a.setup
		u.vocabulary = 1 + u.tokenizer
		ids = promptIDs(w.t, u.server(), x.Messages, h.Tools)
		if r.Used > limit && !other {
			// A second engine may not know the server at all.
			w.fatalf("a prompt of %d tokens, the limit is %d", r.Used, limit)
		}
	}
	if r.Used != len(ids) {
		w.fatalf("Used = %d, the server counts %d (local %t)", r.Used, len(ids), local)
	}
	sum := 0
	for _, p := range r.Parts {
		sum += p.Tokens
		if p.Tokens < 0 {
			w.fatalf("%s = %d tokens", p.Category, p.Tokens)
		}
	}
	if sum != r.Used || r.Messages != len(x.Messages) {
		w.fatalf("the parts sum to %d of %d, %d messages of %d", sum, r.Used, r.Messages, len(x.Messages))
	}
	if r.New < 0 || r.New > r.Used {
		w.fatalf("New = %d of %d", r.New, r.Used)
	}
	if m.window != nil && r.Turn != m.window.Receipt.Turn+1 {
		w.fatalf("turn %d after %d", r.Turn, m.window.Receipt.Turn)
	}
	if x.Plan != nil {
		if err := checkPlan(x.Plan, max(limit, r.Used)); err != nil {
			w.fatalf("%v", err)
		}
		m.floors = append(m.floors, namedFloor{m.lastSeq, x.Plan.Floor})
		if r.Floor != x.Plan.Floor || !x.Plan.Applied {
			w.fatalf("the receipt's floor is %q, the plan's %q, applied %t", r.Floor, x.Plan.Floor, x.Plan.Applied)
		}
	}
	if err := errors.Join(m.checkPins(x.Messages), m.checkUsers(x.Messages, x.Plan, w.a.setup.template == 1), m.checkTiers(x.Messages, w.tiers()), m.checkPrefix(x, h, raw, ids)); err != nil {
		w.fatalf("%v\n%s", err, outline(x.Messages))
	}
	w.checkNew(x, local)
	m.sent, m.sentMs, m.sentIDs, m.sentSeq, m.sentPins, m.window = raw, x.Messages, ids, m.lastSeq, m.pinState(), x
	m.sentHead = h
	m.compacted, m.moved, m.fresh = false, local, false
	w.synced = w.synced && !local
}

func countedLocally(note string) bool { return strings.HasPrefix(note, "counted locally") }

// checkNew wants New to be what came since the last prompt, where nothing else changed.
func (w *world) checkNew(x *sakur4.Window, local bool) {
	m, r := w.m, x.Receipt
	if w.a.setup.template == 2 || m.window == nil || x.Plan != nil || m.compacted || m.moved || local || len(r.Notes) > 0 || m.sentPins != m.pinState() {
		return
	}
	old := m.window.Receipt
	if old.Tokenizer != r.Tokenizer {
		return
	}
	least := r.Tokens(receipt.RawHistory) - old.Tokens(receipt.RawHistory)
	most := least + r.Tokens(receipt.TemplateOverhead) - old.Tokens(receipt.TemplateOverhead)
	if r.New < least || r.New > most {
		w.fatalf("New = %d, the history grew by %d tokens, by %d with the template's\n%s%s", r.New, least, most, outline(m.sentMs), outline(x.Messages))
	}
}
