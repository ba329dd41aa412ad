package turn

import (
	"encoding/json"
	"fmt"

	"sakur4/internal/digest"
	"sakur4/internal/episode"
	"sakur4/receipt"
)

// Version is the version of the rendering rules. A decision is replayed with the rules it was taken under;
// a change to any rendered byte needs a new version beside the old one.
const Version = 1

// Kind says what a rendered message stands for.
type Kind string

// The members of [Kind].
const (
	// KindEpisode: a recorded episode.
	KindEpisode Kind = "episode"
	// KindSynthetic: the marked result of a call that was interrupted.
	KindSynthetic Kind = "synthetic"
	// KindNoReply: the fixed assistant message between two user turns, and between a result and a user turn.
	KindNoReply Kind = "no_reply"
	// KindContinue: the fixed user message in front of an assistant turn that follows another one, or that begins the chat.
	KindContinue Kind = "continue"
)

// NoReply and Continue are the contents of the fixed messages.
const (
	NoReply  = "(no reply)"
	Continue = "(continue)"
)

// Form is how an episode's content is rendered.
type Form string

// The members of [Form].
const (
	// Full: verbatim.
	Full Form = "full"
	// Trimmed: head, pointer, tail.
	Trimmed Form = "trimmed"
	// Same: a reference to another episode of identical content.
	Same Form = "same"
	// Masked: the first lines and a pointer.
	Masked Form = "masked"
	// Referenced: the pointer alone.
	Referenced Form = "referenced"
)

// NoteKind says what a note is about.
type NoteKind string

// The members of [NoteKind].
const (
	NotePin        NoteKind = "pin"
	NoteUnpin      NoteKind = "pin no longer in force"
	NoteRecall     NoteKind = "recalled"
	NoteRepoMap    NoteKind = "repo map"
	NoteText       NoteKind = "note"
	NoteArchive    NoteKind = "archive"
	NoteSystem     NoteKind = "system turn"
	NoteLateResult NoteKind = "late result"
	NoteFold       NoteKind = "fold summary"
	NoteLeftOut    NoteKind = "left out"
)

// Category is the receipt category of a note of this kind.
func (k NoteKind) Category() receipt.Category {
	switch k {
	case NotePin, NoteUnpin:
		return receipt.Pins
	case NoteRepoMap:
		return receipt.RepoMap
	case NoteFold:
		return receipt.FoldSummaries
	case NoteArchive, NoteLeftOut:
		return receipt.Stubs
	case NoteLateResult, NoteSystem:
		return receipt.RawHistory
	}
	return receipt.RecalledNotes
}

// Note is a text appended to a message in the frame that marks it as ours.
type Note struct {
	ID   string   `json:"id"`
	Kind NoteKind `json:"kind"`
	Text string   `json:"text"`
	// Ref is what the note is about: a pin's id, an episode's id.
	Ref string `json:"ref,omitempty"`
}

// Piece is a run of a message's content that belongs to one category. Bytes count the content as it is sent.
type Piece struct {
	Category receipt.Category
	Bytes    int
}

// Source is what a stub says of the result that it stands for.
type Source struct {
	Tool   string `json:"tool,omitempty"`
	Path   string `json:"path,omitempty"`
	Exit   string `json:"exit,omitempty"`
	Bytes  int    `json:"bytes,omitempty"`
	Lines  int    `json:"lines,omitempty"`
	Tokens int    `json:"tokens,omitempty"`
}

// Entry is one rendered message with the decision that made it.
type Entry struct {
	Kind    Kind
	Form    Form
	Episode string
	Role    episode.Role
	// Seq is the episode's place in the record (for a synthetic result: its call's), Atom the Seq of the call that the entry belongs to
	// or its own, Group the Seq of the user turn that it follows, 0 before the first.
	Seq, Atom, Group int64
	// CallIndex is the place of a result's call among the calls of its turn.
	CallIndex int
	// CallIDs are the rendered ids of an assistant turn's calls; for a result the one id that it answers.
	CallIDs []string
	// Reasoning says that the turn's reasoning is sent.
	Reasoning bool
	// Head and Tail are the bytes kept by the Trimmed form, Head those kept by the Masked one. Ref is the episode that Same refers to.
	Head, Tail int
	Ref        string
	Source     Source
	Notes      []Note

	// Message and Pieces are the rendering. Escaped counts control texts and frame marks made harmless.
	Message Message
	Pieces  []Piece
	Escaped int
	// Digest is the digest of the episode's content, Tool the tool of a result.
	Digest digest.Digest
	Tool   string

	bareBytes, barePieces int // the message without its notes
}

// body is the part of an entry that is stored beside its kind, episode and form.
type body struct {
	Role      episode.Role `json:"role"`
	Seq       int64        `json:"seq"`
	Atom      int64        `json:"atom"`
	Group     int64        `json:"group"`
	CallIndex int          `json:"call_index,omitempty"`
	CallIDs   []string     `json:"call_ids,omitempty"`
	Reasoning bool         `json:"reasoning,omitempty"`
	Head      int          `json:"head,omitempty"`
	Tail      int          `json:"tail,omitempty"`
	Ref       string       `json:"ref,omitempty"`
	Source    *Source      `json:"source,omitempty"`
	Notes     []Note       `json:"notes,omitempty"`
}

// Body returns the decision as it is stored.
func (e *Entry) Body() string {
	b := body{Role: e.Role, Seq: e.Seq, Atom: e.Atom, Group: e.Group, CallIndex: e.CallIndex, CallIDs: e.CallIDs, Reasoning: e.Reasoning,
		Head: e.Head, Tail: e.Tail, Ref: e.Ref, Notes: e.Notes}
	if e.Source != (Source{}) {
		b.Source = &e.Source
	}
	out, err := json.Marshal(b)
	if err != nil {
		panic(fmt.Sprintf("turn: a decision does not marshal: %v", err)) // strings and numbers only: cannot happen
	}
	return string(out)
}

// Load returns the entry that a stored decision describes. It is not rendered yet.
func Load(kind, episodeID, form, stored string) (*Entry, error) {
	var b body
	if err := json.Unmarshal([]byte(stored), &b); err != nil {
		return nil, fmt.Errorf("turn: stored decision for %q: %w", episodeID, err)
	}
	e := &Entry{Kind: Kind(kind), Form: Form(form), Episode: episodeID, Role: b.Role, Seq: b.Seq, Atom: b.Atom, Group: b.Group,
		CallIndex: b.CallIndex, CallIDs: b.CallIDs, Reasoning: b.Reasoning, Head: b.Head, Tail: b.Tail, Ref: b.Ref, Notes: b.Notes}
	if b.Source != nil {
		e.Source = *b.Source
	}
	switch e.Kind {
	case KindEpisode, KindSynthetic, KindNoReply, KindContinue:
	default:
		return nil, fmt.Errorf("turn: stored decision for %q: unknown kind %q", episodeID, kind)
	}
	switch e.Form {
	case Full, Trimmed, Same, Masked, Referenced:
	default:
		return nil, fmt.Errorf("turn: stored decision for %q: unknown form %q", episodeID, form)
	}
	return e, nil
}

// Filler reports whether the entry is one of the fixed messages that keep a chat in legal order.
func (e *Entry) Filler() bool { return e.Kind == KindNoReply || e.Kind == KindContinue }

// Result reports whether the entry is a recorded tool result.
func (e *Entry) Result() bool { return e.Kind == KindEpisode && e.Role == episode.Tool }

// Render makes the entry's message. rec is the episode's record, or for a synthetic result that of its call; nil for the fixed messages.
func (e *Entry) Render(rec *episode.Record, esc *Escaper) {
	esc = esc.at(e.Seq)
	m := Message{Role: e.Role}
	e.Pieces, e.Escaped = nil, 0
	clean := func(s string) string {
		t, n := esc.Escape(Sent(s))
		e.Escaped += n
		return t
	}
	add := func(cat receipt.Category, s string) {
		if s != "" {
			m.Content += s
			e.Pieces = append(e.Pieces, Piece{cat, len(s)})
		}
	}
	switch e.Kind {
	case KindNoReply:
		m.Content = NoReply
	case KindContinue:
		m.Content = Continue
	case KindSynthetic:
		m.ToolCallID = e.CallIDs[0]
		add(receipt.Stubs, interrupted(e.Source.Tool))
	case KindEpisode:
		e.Digest, e.Tool = rec.Digest, rec.ToolName
		switch e.Form {
		case Full:
			add(receipt.RawHistory, clean(rec.Content))
		case Trimmed:
			head, tail := headTail(rec.Content, e.Head, e.Tail)
			add(receipt.RawHistory, clean(head))
			add(receipt.Stubs, trimmed(e.Role, e.Episode, e.Source, len(rec.Content)-len(head)-len(tail)))
			add(receipt.RawHistory, clean(tail))
		case Same:
			add(receipt.Stubs, same(e.Episode, e.Ref, e.Source))
		case Masked:
			head, _ := headTail(rec.Content, e.Head, 0)
			add(receipt.RawHistory, clean(head))
			add(receipt.Stubs, masked(e.Episode, e.Source))
		case Referenced:
			add(receipt.Stubs, referenced(e.Episode, e.Source))
		}
		switch e.Role {
		case episode.Tool:
			m.ToolCallID = e.CallIDs[0]
		case episode.Assistant:
			if e.Reasoning {
				m.Reasoning = clean(rec.Reasoning)
			}
			for i, c := range rec.Calls {
				id := c.ID
				if i < len(e.CallIDs) {
					id = e.CallIDs[i]
				}
				m.Calls = append(m.Calls, episode.Call{ID: id, Name: clean(c.Name), Arguments: clean(Arguments(c.Arguments))})
			}
		}
	}
	e.Message = m
	e.bareBytes, e.barePieces = len(m.Content), len(e.Pieces)
	for _, n := range e.Notes {
		e.renderNote(n)
	}
}

// SetNotes replaces the notes behind the rendered content.
func (e *Entry) SetNotes(notes []Note) {
	e.Message.Content = e.Message.Content[:e.bareBytes]
	e.Pieces = e.Pieces[:e.barePieces:e.barePieces]
	e.Notes = notes
	for _, n := range notes {
		e.renderNote(n)
	}
}

// ContentBytes returns the size of the rendered content without the notes behind it.
func (e *Entry) ContentBytes() int { return e.bareBytes }

// Append adds a note behind the rendered content.
func (e *Entry) Append(n Note) { e.SetNotes(append(e.Notes[:len(e.Notes):len(e.Notes)], n)) }

func (e *Entry) renderNote(n Note) {
	s := noteText(n)
	e.Message.Content += s
	e.Pieces = append(e.Pieces, Piece{n.Kind.Category(), len(s)})
}
