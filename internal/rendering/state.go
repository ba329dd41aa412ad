package rendering

import (
	"encoding/json"
	"fmt"

	"sakur4/boundary"
	"sakur4/internal/episode"
	"sakur4/internal/pin"
	"sakur4/internal/turn"
)

// state is the stored part of a session's prompt: with the decisions it gives the same bytes in any later process.
type state struct {
	// Head as it was sent, with the pins in it. The tools are kept as bytes: encoded as JSON inside JSON they would come back in other ones,
	// and every restart would look like a changed head.
	System string    `json:"system"`
	Tools  []byte    `json:"tools,omitempty"`
	Pins   []pin.Pin `json:"pins,omitempty"`
	// The template profile that the decisions were taken under.
	Controls []string `json:"controls,omitempty"`
	// Later are control texts that became known when a part had been sent already: they hold from a position of the record on.
	Later        []laterControls `json:"later_controls,omitempty"`
	NoSystemRole bool            `json:"no_system_role,omitempty"`
	Reasoning    bool            `json:"reasoning,omitempty"`
	Kwargs       []byte          `json:"kwargs,omitempty"`
	// Guessed says that the server did not answer when the profile was recorded: it is that of the local counter.
	Guessed bool `json:"guessed,omitempty"`
	// Context is the server's context in tokens when the last prompt was made, Template the digest of its template; zero is unknown.
	Context  int    `json:"context,omitempty"`
	Template string `json:"template,omitempty"`
	// Covered is the Seq of the last episode that was taken into the chat, SentSeq that of the last one that stood in a prompt.
	Covered int64 `json:"covered"`
	// Spoken is the role that spoke last up to there.
	Spoken  episode.Role `json:"spoken"`
	SentSeq int64        `json:"sent_seq"`
	// Sent is the number of entries that have been sent.
	Sent int `json:"sent"`
	// Turn numbers the windows, Generation the compactions. Base is the prompt's size after the last compaction, in tokens.
	Turn       int    `json:"turn"`
	Generation int    `json:"generation"`
	Base       int    `json:"base"`
	Window     string `json:"window"`
	// Fresh is how many tokens of the prompts were new, Again how many the server had to process again because of compactions.
	Fresh int `json:"fresh,omitempty"`
	Again int `json:"again,omitempty"`
	// Folded are the closed folds whose turns have been taken out.
	Folded []string `json:"folded,omitempty"`
	// Archived are the stretches of the record that are out of the prompt.
	Archived []stretch `json:"archived,omitempty"`
	// Gone are names that turns used which are out of the prompt, the likeliest to be needed again first.
	Gone []goneName `json:"gone,omitempty"`
	// Cache is the model of the server's slot after the last prompt.
	Cache *boundary.CacheState `json:"cache,omitempty"`
	// Run is the shortest run in tokens that stays behind what was deleted since the last prompt, 0 where the server has nothing to move;
	// Hint is the n_cache_reuse of the last request.
	Run  int `json:"run,omitempty"`
	Hint int `json:"hint,omitempty"`
	// Held are the tokens of the last prompt, packed, where what was sent cannot be rendered any more: from a compaction between two prompts
	// to the next one.
	Held []byte `json:"held,omitempty"`
	// Marks are the messages of the last prompt that were to be marked.
	Marks []int `json:"marks,omitempty"`
	// InSlot is the snapshot that was restored and behind which nothing was sent, Restored that of which no reuse has been measured yet.
	InSlot   string `json:"in_slot,omitempty"`
	Restored string `json:"restored,omitempty"`
	// Named are notes of the next receipt: what a compaction between two prompts took in.
	Named []string `json:"named,omitempty"`
	// Pending are notes that wait for a message.
	Pending []turn.Note `json:"pending,omitempty"`
}

// laterControls are the control texts from a position of the record on.
type laterControls struct {
	From     int64    `json:"from"`
	Controls []string `json:"controls"`
}

// stretch is a run of archived episodes.
type stretch struct {
	From string `json:"from"`
	To   string `json:"to"`
	A    int64  `json:"a"`
	B    int64  `json:"b"`
	N    int    `json:"n"`
}

// readState reads what [Prompt.Changes] gave as its body.
func readState(body string) (state, error) {
	var st state
	if err := json.Unmarshal([]byte(body), &st); err != nil {
		return st, &DamageError{fmt.Errorf("render state: %w", err)}
	}
	return st, nil
}

// SentSeq returns the Seq of the last episode that stood in a prompt, 0 before the first. body is what is stored of a session. The error is a [*DamageError].
func SentSeq(body string) (int64, error) {
	st, err := readState(body)
	return st.SentSeq, err
}

// Learned returns what a session's measurements showed of its server, nil where they did not. body is what is stored of the session; of one that cannot be read nothing
// is known.
func Learned(body string) *boundary.Learned {
	var st struct {
		Cache *struct {
			Learned *boundary.Learned `json:"learned"`
		} `json:"cache"`
	}
	if json.Unmarshal([]byte(body), &st) != nil || st.Cache == nil {
		return nil
	}
	return st.Cache.Learned
}

// DamageError says what is wrong with what was stored of a session.
type DamageError struct{ err error }

// Error says what is wrong.
func (e *DamageError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *DamageError) Unwrap() error { return e.err }
