package sakur4

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"sakur4/evict"
	"sakur4/internal/digest"
	"sakur4/internal/episode"
	"sakur4/internal/pin"
	"sakur4/internal/store"
	"sakur4/symbolic"
)

// Commit records one turn. It is durable when it returns, with the facts that a parser read in it, and it never talks to a server.
//
// The errors are [ErrInvalidTurn] (a [*TurnError]), [ErrUnknownEpisode], [ErrTooLarge], [ErrConflict], and those of the store; after an error
// nothing is stored.
func (s *Session) Commit(ctx context.Context, t Turn) (Committed, error) {
	if err := s.e.check(ctx); err != nil {
		return Committed{}, err
	}
	rec, err := s.record(t)
	if err != nil {
		return Committed{}, err
	}
	// The id is fixed before the transaction: a parser's facts name the episode that they were read in.
	rec.ID = s.e.id("ep")
	rec.Created = s.e.now()
	if rec.At.IsZero() {
		rec.At = rec.Created
	}
	rec.Tokenizer = s.e.opts.Tokenizer.Name()
	rec.Digest = digest.Of(rec.Content)

	s.bookMu.Lock()
	defer s.bookMu.Unlock()
	if s.book == nil {
		s.book = newBook()
	}
	out := Committed{Episode: EpisodeID(rec.ID)}
	// Parsing is done before the transaction, so that other sessions can commit meanwhile: the call is known already unless another process
	// has written to this session.
	var guess episode.Call
	guessed := false
	if rec.Role == episode.Tool {
		if call, err := s.book.answer(rec); err == nil {
			guess, guessed = call, true
		}
	}
	read := func() {
		if guessed {
			s.e.read(rec, guess, &out)
		}
	}
	s.e.countBeside(rec, read)
	out.Tokens = rec.Tokens
	err = s.e.st.Write(ctx, func(tx *store.Tx) error {
		if err := s.book.sync(tx, s.e.project, s.id); err != nil {
			return err
		}
		if t.After > 0 && t.After != s.book.last {
			return fmt.Errorf("%w: last episode has Seq %d, not %d", ErrConflict, s.book.last, t.After)
		}
		if rec.Role == episode.Tool {
			was := [2]any{rec.CallEpisode, rec.CallIndex}
			rec.ToolName = t.ToolName // the guess may have filled in another call's
			call, err := s.book.answer(rec)
			if err != nil {
				return err
			}
			if !guessed || was != [2]any{rec.CallEpisode, rec.CallIndex} || call != guess {
				s.e.read(rec, call, &out)
			}
		}
		if s.book.last == 0 { // else the session is there: nothing is ever removed
			if err := tx.EnsureSession(s.e.project, s.id); err != nil {
				return err
			}
		}
		rec.Droppable = false // it starts like every other one; the mark is part of what may change
		if err := tx.AppendEpisode(rec); err != nil {
			return err
		}
		if t.Droppable {
			rec.Droppable = true
			if err := tx.SetDroppable(s.e.project, rec.ID, true); err != nil {
				return err
			}
		}
		if t.Corrects != "" {
			if err := tx.MarkSuperseded(s.e.project, string(t.Corrects), rec.ID); err != nil {
				if errors.Is(err, store.ErrNotFound) {
					return fmt.Errorf("%w: Corrects %q", ErrUnknownEpisode, t.Corrects)
				}
				return err
			}
		}
		if err := putMentions(tx, rec); err != nil {
			return err
		}
		return tx.RecordFacts(rec, out.Facts)
	})
	if err != nil {
		s.book = nil // what the book learned inside the transaction may have been rolled back
		return Committed{}, wrap(err)
	}
	s.e.dense.nudge()
	s.book.add(rec)
	out.Seq = rec.Seq
	if rec.Role == episode.User {
		for _, text := range pin.Propose(rec.Content) {
			out.PinProposals = append(out.PinProposals, PinProposal{Text: text, Kind: PinConstraint})
		}
	}
	return out, nil
}

// read parses a result. What we rendered ourselves is recorded like anything else, and gives no evidence.
func (e *Engine) read(rec *episode.Record, call episode.Call, out *Committed) {
	out.Parser, out.Summary, out.Facts, out.FactsLeftOut = "", symbolic.NoStructure, nil, 0
	ev, err := episode.FromResult(*rec, call)
	if err != nil {
		return
	}
	reading := e.parsers.Read(ev, e.maxFacts)
	out.Parser, out.Summary, out.FactsLeftOut = reading.Parser, reading.Summary, reading.LeftOut
	out.Facts = slices.Grow(out.Facts, len(reading.Facts))
	for _, f := range reading.Facts {
		out.Facts = append(out.Facts, f.Row())
	}
}

// record checks what can be known of a turn without the session.
func (s *Session) record(t Turn) (*episode.Record, error) {
	role := episode.Role(t.Role)
	if !role.Valid() {
		return nil, &TurnError{Field: "Role", ID: string(t.Role), Msg: "unknown role"}
	}
	size := len(t.Content) + len(t.Reasoning)
	rec := &episode.Record{Project: s.e.project, Session: s.id, Role: role, Content: t.Content, Reasoning: t.Reasoning, CallID: t.ToolCallID,
		ToolName: t.ToolName, At: t.At, Droppable: t.Droppable, Tier: evict.Live}
	for _, c := range t.ToolCalls {
		rec.Calls = append(rec.Calls, episode.Call(c))
		size += len(c.ID) + len(c.Name) + len(c.Arguments)
	}
	switch {
	case size > MaxTurnBytes:
		return nil, fmt.Errorf("%w: %d bytes of at most %d", ErrTooLarge, size, MaxTurnBytes)
	case len(t.ToolCalls) > 0 && role != episode.Assistant:
		return nil, &TurnError{Field: "ToolCalls", Msg: "only an assistant turn has calls"}
	case t.Reasoning != "" && role != episode.Assistant:
		return nil, &TurnError{Field: "Reasoning", Msg: "only an assistant turn has reasoning"}
	case (t.ToolCallID != "" || t.ToolName != "") && role != episode.Tool:
		return nil, &TurnError{Field: "ToolCallID", ID: t.ToolCallID, Msg: "only a tool turn answers a call"}
	case !store.Storable(t.At):
		return nil, &TurnError{Field: "At", Msg: "the time is out of range: from the year 1678 to 2262"}
	case role == episode.User && t.Content == "":
		return nil, &TurnError{Field: "Content", Msg: "a user turn is not empty"}
	}
	return rec, nil
}

// besideBytes is the size from which on a result is parsed and counted at the same time: to wake another processor for it takes as long as some kilobytes do.
const besideBytes = 32 << 10

// countBeside counts the tokens of a record, which has its digest, and runs read, which sees the record without the count. The tokenizer may be the caller's, and runs in his goroutine.
func (e *Engine) countBeside(r *episode.Record, read func()) {
	if len(r.Content) < besideBytes {
		r.Tokens = e.countRecord(r)
		read()
		return
	}
	var both sync.WaitGroup
	defer both.Wait() // also when the tokenizer panics
	both.Go(read)
	n := e.countRecord(r)
	both.Wait()
	r.Tokens = n
}

func (e *Engine) countRecord(r *episode.Record) int {
	n := e.counter.CountOf(r.Digest, r.Content) + e.counter.Count(r.Reasoning)
	for _, c := range r.Calls {
		n += e.counter.Count(c.Name) + e.counter.Count(c.Arguments)
	}
	return n
}

// book knows which calls of a session are without a result. It follows the record, so it is always read from there first.
type book struct {
	last int64
	open []openCall // in the order of the record
}

type openCall struct {
	episode string
	seq     int64
	index   int
	call    episode.Call
	// interrupted: a user turn followed. A result that still arrives belongs to the call all the same.
	interrupted bool
}

func newBook() *book { return &book{} }

// sync reads what was recorded since, by anybody.
func (b *book) sync(tx *store.Tx, project, session string) error {
	last, err := tx.LastSeq(project, session)
	if err != nil {
		return err
	}
	if last == b.last {
		return nil
	}
	for rec, err := range tx.SessionEpisodes(project, session, b.last) {
		if err != nil {
			return err
		}
		b.add(&rec)
	}
	return nil
}

func (b *book) add(rec *episode.Record) {
	if rec.Seq <= b.last {
		return
	}
	b.last = rec.Seq
	for i, c := range rec.Calls {
		b.open = append(b.open, openCall{episode: rec.ID, seq: rec.Seq, index: i, call: c})
	}
	if rec.Role == episode.User {
		for i := range b.open {
			b.open[i].interrupted = true
		}
	}
	if rec.Role == episode.Tool {
		for i, o := range b.open {
			if o.episode == rec.CallEpisode && o.index == rec.CallIndex {
				b.open = append(b.open[:i], b.open[i+1:]...)
				break
			}
		}
	}
}

// answer finds the call that a result belongs to: in the newest turn that has an open call of that id, the first of them.
func (b *book) answer(rec *episode.Record) (episode.Call, error) {
	at := -1
	for i := len(b.open) - 1; i >= 0; i-- {
		if b.open[i].call.ID != rec.CallID {
			continue
		}
		if at >= 0 && b.open[at].episode != b.open[i].episode {
			break
		}
		at = i
	}
	if at < 0 {
		return episode.Call{}, &TurnError{Field: "ToolCallID", ID: rec.CallID, Msg: "no open call of that id"}
	}
	o := b.open[at]
	rec.CallEpisode, rec.CallIndex = o.episode, o.index
	if rec.ToolName == "" {
		rec.ToolName = o.call.Name
	}
	return o.call, nil
}
