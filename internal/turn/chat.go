package turn

import (
	"fmt"
	"slices"

	"sakur4/internal/digest"
	"sakur4/internal/episode"
)

// FoldTool is the tool name of the episode that summarises a closed fold.
const FoldTool = "sakur4.fold"

// sameMin is the least size in bytes of a result that may be replaced by a reference to an identical one: below it the reference is longer.
const sameMin = 512

// Chat is the rendered chat of one session, without its head: entries in prompt order, and what is needed to add the next episode legally.
// It is not safe for concurrent use.
type Chat struct {
	Entries []*Entry
	// Covered is the Seq of the last episode that was added.
	Covered int64
	// Spoken is the role that spoke last, "" before the first. It outlives the message: an answer that was taken out of the prompt was given.
	Spoken episode.Role
	// Pending are notes that wait for a message to be appended to: late results and system turns.
	Pending []Note

	esc   *Escaper
	ids   map[string]bool          // rendered call ids in use
	full  map[digest.Digest]*Entry // results rendered in full
	group int64
	open  []*openCalls // assistant turns of which results are missing, in order; all of them are unsent
}

// openCalls is an assistant turn with calls while results of it are missing.
type openCalls struct {
	entry *Entry
	calls []episode.Call
	done  []bool
}

// NewChat returns an empty chat whose recorded text is escaped by esc.
func NewChat(esc *Escaper) *Chat {
	return &Chat{esc: esc, ids: map[string]bool{}, full: map[digest.Digest]*Entry{}}
}

// Options are the decisions that the caller takes for a new episode.
type Options struct {
	// Reasoning sends an assistant turn's reasoning back.
	Reasoning bool
	// Trim is the most bytes of one episode that are rendered in full; 0 is no bound. A longer result is rendered as head, pointer and tail.
	Trim int
	// Exit is the exit status that a parser read in the result, "" if none.
	Exit string

	path string // the path argument of the result's call, "" if none
}

// Add renders the next episode of the record at the end of the chat, with the fixed messages that a legal order needs.
// It returns the episode's own entry, or nil where the episode renders nothing or as a note.
func (c *Chat) Add(rec *episode.Record, opt Options) *Entry {
	if rec.Seq > c.Covered {
		c.Covered = rec.Seq
	}
	e := &Entry{Kind: KindEpisode, Form: Full, Episode: rec.ID, Role: rec.Role, Seq: rec.Seq, Atom: rec.Seq}
	switch rec.Role {
	case episode.System:
		if rec.ToolName == FoldTool {
			return nil // its text is the note that stands for the fold
		}
		text, _ := c.esc.Escape(Sent(rec.Content))
		c.Pending = append(c.Pending, Note{ID: rec.ID, Kind: NoteSystem, Text: text, Ref: rec.ID})
		return nil
	case episode.User:
		c.CloseOpen()
		c.separate(episode.User)
		c.group = rec.Seq
		e.Group = rec.Seq
	case episode.Assistant:
		if Blank(rec) {
			return nil
		}
		e.Group = c.group
		e.Reasoning = opt.Reasoning && rec.Reasoning != ""
		for i, call := range rec.Calls {
			e.CallIDs = append(e.CallIDs, c.uniqueID(call.ID, rec.ID, i))
		}
		e.Render(rec, c.esc)
		if len(c.open) > 0 && len(rec.Calls) == 0 {
			c.putBefore(c.open[0].entry, e)
			return e
		}
		if len(c.open) == 0 {
			c.separate(episode.Assistant)
		}
		if len(rec.Calls) > 0 {
			c.open = append(c.open, &openCalls{entry: e, calls: rec.Calls, done: make([]bool, len(rec.Calls))})
		}
		c.push(e)
		return e
	case episode.Tool:
		o := c.opened(rec.CallEpisode, rec.CallIndex)
		if o == nil {
			c.Pending = append(c.Pending, c.late(rec, opt))
			return nil
		}
		opt.path, _ = episode.PathArgument(o.calls[rec.CallIndex].Arguments)
		e.Group, e.Atom, e.CallIndex = o.entry.Group, o.entry.Seq, rec.CallIndex
		e.CallIDs = []string{o.entry.CallIDs[rec.CallIndex]}
		e.Source = c.source(rec, opt)
		if prev := c.full[rec.Digest]; prev != nil && len(rec.Content) >= sameMin {
			e.Form, e.Ref = Same, prev.Episode
		} else if opt.Trim > 0 && len(rec.Content) > opt.Trim {
			e.Form, e.Head, e.Tail = Trimmed, opt.Trim*2/3, opt.Trim/3
		}
		e.Render(rec, c.esc)
		c.answer(o, e)
		return e
	}
	e.Render(rec, c.esc)
	c.push(e)
	return e
}

// Retrim renders an episode's content as head, pointer and tail of at most bytes together.
func (c *Chat) Retrim(e *Entry, rec *episode.Record, bytes int) {
	e.Form, e.Head, e.Tail = Trimmed, bytes*2/3, bytes/3
	if e.Source == (Source{}) {
		e.Source = c.source(rec, Options{})
	}
	delete(c.full, e.Digest)
	e.Render(rec, c.esc)
}

// Blank reports whether an assistant turn renders nothing: it has neither calls nor text.
func Blank(rec *episode.Record) bool {
	return rec.Role == episode.Assistant && len(rec.Calls) == 0 && !hasText(rec.Content)
}

func hasText(s string) bool {
	for i := range len(s) {
		switch s[i] {
		case ' ', '\t', '\n', '\r':
		default:
			return true
		}
	}
	return false
}

func (c *Chat) name(s string) string {
	s, _ = c.esc.Escape(Sent(s))
	return s
}

// source says of a result what its stubs will. Names come from models and tools, so they are made harmless like any recorded text.
func (c *Chat) source(rec *episode.Record, opt Options) Source {
	lines := 0
	for i := range len(rec.Content) {
		if rec.Content[i] == '\n' {
			lines++
		}
	}
	if n := len(rec.Content); n > 0 && rec.Content[n-1] != '\n' {
		lines++
	}
	return Source{Tool: c.name(rec.ToolName), Path: c.name(opt.path), Exit: c.name(opt.Exit), Bytes: len(rec.Content), Lines: lines, Tokens: rec.Tokens}
}

func (c *Chat) push(e *Entry) {
	c.Entries = append(c.Entries, e)
	c.Spoken = e.Role
	c.note(e)
}

// note keeps the indexes over rendered entries.
func (c *Chat) note(e *Entry) {
	for _, id := range e.CallIDs {
		c.ids[id] = true
	}
	if e.Result() && e.Form == Full {
		c.full[e.Digest] = e
	}
}

// separate puts the fixed message in front of the next turn of that role where the order needs one.
func (c *Chat) separate(next episode.Role) {
	last := episode.Role("")
	if n := len(c.Entries); n > 0 {
		last = c.Entries[n-1].Role
	}
	if f := filler(last, next); f != nil {
		f.Group = c.group
		c.push(f)
	}
}

// filler returns the fixed message that must stand between two roles, nil if none.
func filler(last, next episode.Role) *Entry {
	var e *Entry
	switch {
	case next == episode.User && (last == episode.User || last == episode.Tool):
		e = &Entry{Kind: KindNoReply, Form: Full, Role: episode.Assistant}
	case next == episode.Assistant && (last == episode.Assistant || last == ""):
		e = &Entry{Kind: KindContinue, Form: Full, Role: episode.User}
	default:
		return nil
	}
	e.Render(nil, nil)
	return e
}

// opened returns the turn whose call still waits for its result, nil if there is none.
func (c *Chat) opened(episodeID string, index int) *openCalls {
	for _, o := range c.open {
		if o.entry.Episode == episodeID && index < len(o.done) && !o.done[index] {
			return o
		}
	}
	return nil
}

// answer puts a result behind its own turn, in the order of the calls: templates that know no ids pair the two by their places. An agent may
// record several assistant turns before the first result, and results in any order: none of them has been sent, so the prompt's order can be
// the legal one.
func (c *Chat) answer(o *openCalls, e *Entry) {
	o.done[e.CallIndex] = true
	c.Spoken = e.Role
	at := len(c.Entries)
	for at > 0 && c.Entries[at-1].Atom != o.entry.Seq {
		at--
	}
	for c.Entries[at-1] != o.entry && c.Entries[at-1].CallIndex > e.CallIndex {
		at--
	}
	c.Entries = slices.Insert(c.Entries, at, e)
	c.note(e)
	if !slices.Contains(o.done, false) {
		c.open = slices.DeleteFunc(c.open, func(x *openCalls) bool { return x == o })
	}
}

// putBefore puts an assistant turn without calls in front of one whose calls are still open: it was spoken before their results.
func (c *Chat) putBefore(open, e *Entry) {
	at := slices.Index(c.Entries, open)
	last := episode.Role("")
	if at > 0 {
		last = c.Entries[at-1].Role
	}
	add := []*Entry{e, filler(episode.Assistant, episode.Assistant)}
	if f := filler(last, episode.Assistant); f != nil {
		add = slices.Insert(add, 0, f)
	}
	for _, x := range add {
		x.Group = open.Group
	}
	c.Entries = slices.Insert(c.Entries, at, add...)
	c.note(e)
}

// late makes the note of a result whose call has been closed. It takes at most a quarter of what a result of its own may have.
func (c *Chat) late(rec *episode.Record, opt Options) Note {
	text, _ := c.esc.Escape(Sent(rec.Content))
	if most := opt.Trim / 4; most > 0 && len(text) > most {
		head, tail := headTail(text, most*2/3, most/3)
		text = head + trimmed(rec.Role, rec.ID, c.source(rec, opt), len(text)-len(head)-len(tail)) + tail
	}
	return Note{ID: rec.ID, Kind: NoteLateResult, Text: text,
		Ref: fmt.Sprintf("Result of an interrupted call of %s, recorded as %s:", oneLine(c.name(rec.ToolName)), rec.ID)}
}

// OpenCalls returns the ids, as the model gave them, of the calls that have no result and are not interrupted.
func (c *Chat) OpenCalls() []string {
	var ids []string
	for _, o := range c.open {
		for i, d := range o.done {
			if !d {
				ids = append(ids, o.calls[i].ID)
			}
		}
	}
	return ids
}

// CloseOpen gives each open call the marked result of an interrupted one, for ever.
func (c *Chat) CloseOpen() {
	for len(c.open) > 0 {
		o := c.open[0]
		i := slices.Index(o.done, false)
		e := &Entry{Kind: KindSynthetic, Form: Full, Episode: o.entry.Episode, Role: episode.Tool, Seq: o.entry.Seq, Atom: o.entry.Seq,
			Group: o.entry.Group, CallIndex: i, CallIDs: []string{o.entry.CallIDs[i]}, Source: Source{Tool: c.name(o.calls[i].Name)}}
		e.Render(nil, c.esc)
		c.answer(o, e)
	}
}

// uniqueID returns the id under which a call is rendered: its own, unless that is empty or was rendered before in this chat.
// The replacement has the same length where that is possible, since some templates check it.
func (c *Chat) uniqueID(id, episodeID string, index int) string {
	clean, _ := c.esc.Escape(Sent(id))
	if clean != "" && !c.ids[clean] {
		c.ids[clean] = true
		return clean
	}
	n := min(max(len(id), 9), 32)
	for salt := 0; ; salt++ {
		u := digest.Fields("call", episodeID, id, fmt.Sprint(index), fmt.Sprint(salt)).String()[:n]
		if !c.ids[u] {
			c.ids[u] = true
			return u
		}
	}
}

// UseEscaper has what is added from now on escaped by esc.
func (c *Chat) UseEscaper(esc *Escaper) { c.esc = esc }

// Restore rebuilds a chat from its entries, already rendered. What was stored had no open calls: a prompt with open calls is never made.
func Restore(esc *Escaper, entries []*Entry, covered int64, spoken episode.Role) *Chat {
	c := NewChat(esc)
	c.Entries = entries
	c.Covered = covered
	if c.Spoken = spoken; spoken == "" && len(entries) > 0 {
		c.Spoken = entries[len(entries)-1].Role
	}
	for _, e := range entries {
		c.note(e)
		c.group = max(c.group, e.Group)
	}
	return c
}

// Messages returns the rendered messages of the entries from index from on.
func (c *Chat) Messages(from int) []Message {
	out := make([]Message, 0, len(c.Entries)-from)
	for _, e := range c.Entries[from:] {
		out = append(out, e.Message)
	}
	return out
}
