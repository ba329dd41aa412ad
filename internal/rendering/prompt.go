package rendering

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"sakur4/boundary"
	"sakur4/evict"
	"sakur4/internal/episode"
	"sakur4/internal/prompt"
	"sakur4/internal/turn"
	"sakur4/receipt"
)

// Prompt is the prompt of one session: which episodes stand in it and in which form, what the server was sent of it, and what that is taken to hold. It is not safe for
// concurrent use; what its methods return is not to be changed.
type Prompt struct {
	opt    Options
	state  state
	known  bool // to the store
	chat   *turn.Chat
	esc    *turn.Escaper
	dirty  int    // entries from here on are not stored as they are
	stored int    // decisions in the store
	body   string // of the state in the store, and that which is on its way there
	coming string

	counter    *prompt.Counter
	counterKey string
	tokenizer  string
	fallback   string // why the local counter counts, "" if the backend does
	counted    *prompt.State
	items      []prompt.Item
	keep       int            // items that are as they were counted
	valid      turn.Validator // of the items
	shown      int            // items that are as they were when they were last given out

	sending sending
	cache   *boundary.Cache
	learned *boundary.Learned // of the server, and not asked for yet
	saved   *Slot             // that the slot was restored from, while InSlot is set
	header  []int32           // tokens that open a user message
	notes   []string
	profile boundary.Profile
	words   *vocabulary

	done   *compaction // what is not stored yet
	placed []string    // attached notes of which that is not stored
	// follows is for [Prompt.Follows].
	follows bool
	// scattered says that the compaction under way takes out single turns from all over the session.
	scattered bool
	room      int // the window of the compaction under way, in tokens
}

// Options are what holds for all prompts of a session as long as the store is open. All functions are required.
type Options struct {
	// Shift allows compactions that rely on the server's KV shift, Reasoning sends reasoning back where the template does not preserve it.
	Shift, Reasoning bool
	// Policy returns the rules for a server whose cache has that shape, without a zero field.
	Policy func(boundary.Geometry) evict.Policy
	// Count is the local count of a text, in tokens.
	Count  func(text string) int
	Record Record
}

// Record is what a prompt reads of its session where only a decision shows what is needed.
type Record interface {
	// Episode returns a recorded episode.
	Episode(ctx context.Context, id string) (*episode.Record, error)
	// Marks returns the marks of episodes of the session by their positions in the record: of the one with ids[i] at seqs[i]. One without any is left out.
	Marks(ctx context.Context, ids []string, seqs []int64) (map[int64]Mark, error)
	// Receipt returns the receipt of a prompt of the session, with what was measured, and the size in tokens of the reply to it, 0 where that was not told.
	Receipt(ctx context.Context, window string) (r receipt.Receipt, reply int, err error)
}

// Mark is what the record knows of an episode besides what it says.
type Mark struct {
	// Superseded says that a later episode corrects it, Droppable that it may be forgotten.
	Superseded, Droppable bool
	// InDegree is the number of edges that point to it.
	InDegree int
}

// Server is what counts a prompt and what the prompt has to fit.
type Server struct {
	// Backend may be [Eager] besides.
	Backend boundary.Backend
	Profile boundary.Profile
	// Fallback says why Backend is the local counter; "" where it is the server.
	Fallback string
	// Window is the context in tokens, Limit what a prompt may have of it.
	Window, Limit int
}

// Eager is a backend that can tokenize the next prompt's text beside having it rendered.
type Eager = prompt.Eager

// New returns the prompt of a session of which nothing was rendered yet, for a server of that profile.
func New(opt Options, p boundary.Profile) *Prompt {
	t := p.Template
	st := state{Controls: t.ControlTexts, NoSystemRole: t.NoSystemRole, Reasoning: t.PreservesReasoning || opt.Reasoning}
	if t.PreservesReasoning {
		st.Kwargs = t.TemplateKwargs
	}
	esc := turn.NewEscaper(turn.Controls(st.Controls))
	return &Prompt{opt: opt, state: st, profile: p, words: &vocabulary{}, esc: esc, chat: turn.NewChat(esc)}
}

// Covered returns the Seq of the last episode that was taken in.
func (p *Prompt) Covered() int64 { return p.chat.Covered }

// Recorded is an episode with the exit status that a parser read in it, "" if none.
type Recorded struct {
	Episode episode.Record
	Exit    string
}

// Extend takes in what was recorded since: the episodes behind [Prompt.Covered], in their order. An error of the sequence ends it.
func (p *Prompt) Extend(srv Server, since iter.Seq2[Recorded, error]) error {
	p.newControls(srv.Profile)
	if srv.Fallback != "" && !p.known {
		p.state.Guessed = true // also where no prompt is made of it now: the next one goes on with this rendering
	}
	trim := p.trimBytes(srv)
	for rec, err := range since {
		if err != nil {
			return err
		}
		opt := turn.Options{Reasoning: p.state.Reasoning}
		if rec.Episode.Role == episode.Tool {
			opt.Trim, opt.Exit = trim, rec.Exit
		}
		p.chat.Add(&rec.Episode, opt)
	}
	return nil
}

// maxBytesPerToken is more than any tokenizer reaches on text: what is longer than this many bytes for each token of its budget is trimmed
// before it is counted.
const maxBytesPerToken = 16

func (p *Prompt) trimBytes(srv Server) int {
	return int(float64(srv.Window)*p.opt.Policy(srv.Profile.Geometry).MaxResult) * maxBytesPerToken
}

// OpenCalls returns the ids of the calls that have no result and are not interrupted. No prompt can be made then.
func (p *Prompt) OpenCalls() []string { return p.chat.OpenCalls() }

// CloseCalls gives each open call the marked result of an interrupted one, for ever.
func (p *Prompt) CloseCalls() { p.chat.CloseOpen() }

// Spoken returns who spoke last, "" where nobody did. The model replies to anybody but itself.
func (p *Prompt) Spoken() episode.Role { return p.chat.Spoken }

// Empty reports whether there is nothing in the prompt.
func (p *Prompt) Empty() bool { return len(p.chat.Entries) == 0 }

// Last returns the id of the prompt that was made last, and its number; "" and 0 before the first.
func (p *Prompt) Last() (window string, number int) { return p.state.Window, p.state.Turn }

// Follows reports whether the prompt that was made last only adds turns to the one before, as they were recorded: from these two it is made again, whatever is recorded or
// said meanwhile. Where a note or a pin has found its place, a call was closed, or the head is another one, that is a decision.
func (p *Prompt) Follows() bool { return p.follows }

// Hints are fields of the request with which a prompt is sent.
type Hints struct {
	// Slot names the server's slot; nil leaves the choice to it.
	Slot *int
	// Reuse is the shortest run in tokens that the server may move instead of computing it again; 0 for none.
	Reuse int
	// Kwargs are arguments of the chat template; nil for none.
	Kwargs json.RawMessage
	// Marks are the messages to set a breakpoint of the provider's cache at, as ascending indexes.
	Marks []int
}

// Hints returns the fields of the request for the prompt that was made last.
func (p *Prompt) Hints() Hints {
	return Hints{Slot: p.profile.Slot, Reuse: p.state.Hint, Kwargs: p.state.Kwargs, Marks: p.state.Marks}
}

// Messages returns the messages of the prompt from some index on: it is kept, the number of those that are as the call before gave them.
func (p *Prompt) Messages() (kept int, rest iter.Seq[turn.Message]) {
	kept, p.shown = p.shown, len(p.items)
	return kept, messages(p.items[kept:])
}

func messages(items []prompt.Item) iter.Seq[turn.Message] {
	return func(yield func(turn.Message) bool) {
		for _, it := range items {
			if !yield(it.Message) {
				return
			}
		}
	}
}

// Sent cuts the prompt back to what was sent last, with the reply where that was text, and returns its messages and tools: somebody else than the model may speak
// next. It is false where nothing was sent, or where what was sent is no chat any more since a compaction. The Prompt is of no other use afterwards.
func (p *Prompt) Sent() (chat []turn.Message, tools json.RawMessage, ok bool) {
	entries, n := p.chat.Entries, p.state.Sent
	if p.state.Turn == 0 || n == 0 || n > len(entries) {
		return nil, nil, false
	}
	if n < len(entries) && entries[n].Role == episode.Assistant && len(entries[n].CallIDs) == 0 {
		n++
	}
	p.chat.Entries = entries[:n]
	p.compose()
	chat = slices.Collect(messages(p.items))
	if entries[n-1].Role != episode.Assistant {
		if p.validate() != nil {
			return nil, nil, false
		}
		chat = append(chat, turn.Message{Role: episode.Assistant, Content: turn.NoReply})
	}
	return chat, p.state.Tools, true
}
