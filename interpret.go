package sakur4

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"sakur4/internal/episode"
	"sakur4/internal/frame"
	"sakur4/internal/store"
	"sakur4/semantic"
)

// MaxEntryBytes is the most that one interpretation may hold, in bytes. What is longer is no interpretation but a record.
const MaxEntryBytes = 32 << 10

// AnchorRef names what an interpretation is about. It is a plain name and proves nothing; the zero value names nothing.
type AnchorRef struct {
	// Type is "symbolic_fact" or "episodic_stream", ID the id of the fact or the episode.
	Type string `json:"type"`
	ID   string `json:"id"`
}

// FactAnchor names a fact, of a row by FactAnchor(FactID(row.FactID)). An interpretation of it goes stale as soon as the fact's source says something else.
func FactAnchor(id FactID) AnchorRef { return AnchorRef{Type: episode.FactAnchor, ID: string(id)} }

// EpisodeAnchor names an episode. Episodes never change, so an interpretation of one never goes stale; it is superseded with the episode.
func EpisodeAnchor(id EpisodeID) AnchorRef {
	return AnchorRef{Type: episode.EpisodeAnchor, ID: string(id)}
}

// Interpret stores what the agent thinks a fact or an episode means. The entry is found by [Engine.Recall], always with what has become of its anchor; it is
// never a fact, and extraction never replaces it. Bytes that are not valid UTF-8 become U+FFFD.
//
// The errors are [ErrAnchorMissing], [ErrInvalidEntry], [ErrTooLarge] and those of the store; nothing is stored then.
func (s *Session) Interpret(ctx context.Context, anchor AnchorRef, text string) (semantic.Entry, error) {
	if err := s.e.check(ctx); err != nil {
		return semantic.Entry{}, err
	}
	text = strings.ToValidUTF8(text, "\ufffd")
	switch {
	case anchor.ID == "" || anchor.Type != episode.FactAnchor && anchor.Type != episode.EpisodeAnchor:
		return semantic.Entry{}, fmt.Errorf("%w: %s %q", ErrAnchorMissing, cmp.Or(anchor.Type, "unnamed"), anchor.ID)
	case strings.TrimSpace(text) == "":
		return semantic.Entry{}, fmt.Errorf("%w: empty text", ErrInvalidEntry)
	case frame.Quoted(text):
		return semantic.Entry{}, fmt.Errorf("%w: the text repeats what was rendered here", ErrInvalidEntry)
	case len(text) > MaxEntryBytes:
		return semantic.Entry{}, fmt.Errorf("%w: %d bytes of at most %d", ErrTooLarge, len(text), MaxEntryBytes)
	}
	n := s.e.newEntry(anchor, semantic.Interpreted, text)
	var out semantic.Entry
	err := s.e.st.Write(ctx, func(tx *store.Tx) (err error) {
		if err := tx.EnsureSession(s.e.project, s.id); err != nil {
			return err
		}
		out, err = putEntry(tx, s.e.project, s.id, n)
		return err
	})
	s.e.dense.nudge()
	return out, wrap(err)
}

func (e *Engine) newEntry(anchor AnchorRef, origin semantic.Origin, text string) store.NewEntry {
	return store.NewEntry{ID: e.id("sem"), Text: text, AnchorType: anchor.Type, AnchorID: anchor.ID, Origin: origin, Tokens: e.counter.Count(text), Created: e.now()}
}

// putEntry writes an entry of a session that is there. What is not found then is the anchor.
func putEntry(tx *store.Tx, project, session string, n store.NewEntry) (semantic.Entry, error) {
	out, err := tx.PutEntry(project, session, n)
	if errors.Is(err, store.ErrNotFound) {
		return semantic.Entry{}, fmt.Errorf("%w: %s %q", ErrAnchorMissing, n.AnchorType, n.AnchorID)
	}
	return out, err
}
