package episode

import "fmt"

// The two things that an interpretation may be anchored to, by the names that the store has for them.
const (
	FactAnchor    = "symbolic_fact"
	EpisodeAnchor = "episodic_stream"
)

// Anchor is proof that a fact or an episode was in the store, with the hash that it had. It is opaque; the zero value is none and refused where an anchor is needed.
// Only this module can call [NewAnchor], and only what has just read the store does.
type Anchor struct {
	kind, id, hash string
}

// NewAnchor returns the anchor for what the store has under id. hash is a fact's hash or the digest of an episode's content.
func NewAnchor(kind, id, hash string) (Anchor, error) {
	switch {
	case kind != FactAnchor && kind != EpisodeAnchor:
		return Anchor{}, fmt.Errorf("episode: unknown anchor type %q", kind)
	case id == "" || hash == "":
		return Anchor{}, fmt.Errorf("episode: anchor %s %q has no id or no hash", kind, id)
	}
	return Anchor{kind, id, hash}, nil
}

// Valid reports whether a is an anchor and not the zero value.
func (a Anchor) Valid() bool { return a.id != "" }

// Type returns "symbolic_fact" or "episodic_stream".
func (a Anchor) Type() string { return a.kind }

// ID returns the id of the fact or the episode.
func (a Anchor) ID() string { return a.id }

// Hash returns the hash that it had when it was read.
func (a Anchor) Hash() string { return a.hash }

// String returns the type and the id, as a marker shows them.
func (a Anchor) String() string {
	if !a.Valid() {
		return "no anchor"
	}
	return a.kind + ":" + a.id
}
