// Package episode holds the values of the episodic record: an episode as stored, and the evidence that a recorded tool result is.
package episode

import (
	"time"

	"sakur4/evict"
	"sakur4/internal/digest"
)

// Role is who spoke.
type Role string

// The members of [Role].
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Valid reports whether r is a member.
func (r Role) Valid() bool {
	switch r {
	case System, User, Assistant, Tool:
		return true
	}
	return false
}

// Call is a tool call of an assistant turn. Arguments are the raw bytes as the model wrote them.
type Call struct {
	ID, Name, Arguments string
}

// Record is one episode as stored. Everything but Tier, SupersededBy, Droppable and Fold is written once and never changes.
type Record struct {
	// ID is "ep_" and hexadecimal digits; Seq the position in the store, from 1, ascending with time of recording.
	ID  string
	Seq int64
	// Project and Session together identify the session.
	Project, Session string
	Role             Role
	Content          string
	Reasoning        string
	Calls            []Call
	// CallID and ToolName belong to a tool turn; CallEpisode and CallIndex name the call that it answers:
	// the assistant episode and the position in its Calls.
	CallID, ToolName, CallEpisode string
	CallIndex                     int
	// At is when the turn happened, as the caller said; Created when it was recorded.
	At, Created time.Time
	// Tokens is the local count of Content, Reasoning and Calls with the tokenizer named Tokenizer.
	Tokens    int
	Tokenizer string
	// Digest is the digest of Content.
	Digest digest.Digest
	// The mutable part, written by eviction, correction and folding.
	Tier         evict.Tier
	SupersededBy string
	Droppable    bool
	Fold         string
}
