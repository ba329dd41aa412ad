package semantic

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"sakur4/internal/episode"
)

// Anchor is proof that a fact or an episode was in the store, with the hash that it had. It is opaque and comes from the store only;
// the zero value is refused with [ErrNoAnchor].
type Anchor = episode.Anchor

// The errors of [New].
var (
	// ErrNoAnchor is returned when the anchor is the zero Anchor.
	ErrNoAnchor = errors.New("semantic: no anchor")
	// ErrEmpty is returned when the text says nothing.
	ErrEmpty = errors.New("semantic: empty text")
)

// Origin is who wrote an entry.
type Origin int

// The members of [Origin]. The zero value is none.
const (
	// Extracted entries are sentences of the episode itself.
	Extracted Origin = iota + 1
	// Summarized entries were written by a model on behalf of the consolidator.
	Summarized
	// Interpreted entries were written by the agent. Extraction never replaces one.
	Interpreted
)

// String returns the name of the origin.
func (o Origin) String() string {
	switch o {
	case Extracted:
		return "extracted"
	case Summarized:
		return "summarized"
	case Interpreted:
		return "interpreted"
	}
	return fmt.Sprintf("Origin(%d)", int(o))
}

// ParseOrigin returns the origin with the name, 0 for another name.
func ParseOrigin(name string) Origin {
	for o := Extracted; o <= Interpreted; o++ {
		if o.String() == name {
			return o
		}
	}
	return 0
}

// Entry is an interpretation as stored: an open value that may be read and copied. It claims nothing by itself; its anchor is compared whenever it is read.
type Entry struct {
	// ID is "sem_" and hexadecimal digits.
	ID string
	// Project and Session say where it was written.
	Project, Session string
	// Text is the interpretation.
	Text string
	// AnchorType is "symbolic_fact" or "episodic_stream", AnchorID the id of what is interpreted, AnchorHash the hash that it had when the text was written.
	AnchorType, AnchorID, AnchorHash string
	Origin                           Origin
	// Replaces is the id of the entry that this one was written in place of; "" for none. The older one stays readable.
	Replaces string
	// Retired says that the anchor was gone when the consolidator last came by.
	Retired bool
	Created time.Time
}

// New returns the entry with the text anchored to a. The caller sets ID, Project, Session and Created.
func New(a Anchor, origin Origin, text string) (Entry, error) {
	if !a.Valid() {
		return Entry{}, ErrNoAnchor
	}
	if strings.TrimSpace(text) == "" {
		return Entry{}, ErrEmpty
	}
	return Entry{Text: text, AnchorType: a.Type(), AnchorID: a.ID(), AnchorHash: a.Hash(), Origin: origin}, nil
}

// Anchored returns the anchor's type and id, as a marker shows them: "symbolic_fact:sym_1f".
func (e Entry) Anchored() string { return e.AnchorType + ":" + e.AnchorID }
