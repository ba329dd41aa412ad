package sakur4

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"sakur4/boundary"
	"sakur4/internal/episode"
	"sakur4/internal/pin"
	"sakur4/internal/prompt"
	"sakur4/internal/store"
	"sakur4/internal/turn"
)

// Session is one conversation of a project. It is safe for concurrent use; calls that make prompts take their turn.
type Session struct {
	e  *Engine
	id string

	bookMu sync.Mutex // guards book; taken before the store's writer
	book   *book

	mu   sync.Mutex // guards live
	live *live
}

// ID returns the session's id.
func (s *Session) ID() string { return s.id }

// renderState is the stored part of a session's rendering: with the decisions it gives the same bytes in any later process.
type renderState struct {
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
	Turn       int      `json:"turn"`
	Generation int      `json:"generation"`
	Base       int      `json:"base"`
	Window     WindowID `json:"window"`
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
	InSlot   SnapshotID `json:"in_slot,omitempty"`
	Restored SnapshotID `json:"restored,omitempty"`
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

// newControls takes over control texts of the server's template that were not known when the session began, because the server was down or has since been
// restarted with another template. They are made harmless in what is taken into the chat from now on; what was sent stays as it was.
func (l *live) newControls(p boundary.Profile) {
	last := l.Controls
	if n := len(l.Later); n > 0 {
		last = l.Later[n-1].Controls
	}
	known := controls(last)
	added := slices.Clone(last)
	for _, c := range p.Template.ControlTexts {
		if !slices.Contains(known, c) {
			added = append(added, c)
		}
	}
	if len(added) == len(last) {
		return
	}
	from := l.chat.Covered + 1
	l.Later = append(slices.Clone(l.Later), laterControls{From: from, Controls: added})
	l.esc = l.esc.Then(controls(added), from)
	l.chat.UseEscaper(l.esc)
}

// stretch is a run of archived episodes.
type stretch struct {
	From string `json:"from"`
	To   string `json:"to"`
	A    int64  `json:"a"`
	B    int64  `json:"b"`
	N    int    `json:"n"`
}

// live is a session's rendering in memory. It is thrown away after any error that leaves it behind the store, and read anew.
type live struct {
	renderState
	revision int // of the stored state
	chat     *turn.Chat
	esc      *turn.Escaper
	dirty    int // entries from here on are not stored as they are
	stored   int // decisions in the store

	counter    *prompt.Counter
	counterKey string
	tokenizer  string
	fallback   string // why the local counter counts, "" if the backend does
	counted    *prompt.State
	items      []prompt.Item
	keep       int            // items that are as they were counted
	valid      turn.Validator // of the items
	out        []Message      // the items as the caller sees them

	sending sending
	cache   *boundary.Cache
	saved   *savedSlot // that the slot was restored from, while InSlot is set
	header  []int32    // tokens that open a user message
	window  *Window    // the last one, for a call without a new turn
	notes   []string
	profile boundary.Profile
	words   *vocabulary
	// trial says that nothing outside of this rendering may change: what was learned of the server, which settled says, waits until the outcome is stored.
	trial, settled bool
	// scattered says that the compaction under way takes out single turns from all over the session.
	scattered bool
	room      int // the window of the compaction under way, in tokens
}

// load returns a rendering with everything that the record holds now. It goes on from l, and reads the session's anew where that is nil or behind the store.
func (s *Session) load(ctx context.Context, l *live, profile boundary.Profile) (*live, []pin.Pin, []store.NoteRow, error) {
	var pins []pin.Pin
	var notes []store.NoteRow
	err := s.e.st.Read(ctx, func(r *store.Reader) error {
		row, err := r.RenderState(s.e.project, s.id)
		known := err == nil
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if l != nil && known && row.Generation != l.revision {
			l = nil // another process has sent a prompt of this session
		}
		if l == nil {
			if l, err = s.restore(r, row, known, profile); err != nil {
				return err
			}
		}
		l.newControls(profile)
		if err := s.extend(r, l, profile); err != nil {
			return err
		}
		rows, err := r.Pins(s.e.project, false)
		if err != nil {
			return err
		}
		pins = rendered(rows)
		notes, err = r.Notes(s.e.project, s.id, true)
		return err
	})
	if err != nil {
		return nil, nil, nil, wrap(err)
	}
	return l, pins, notes, nil
}

// restore reads a rendering from the store.
func (s *Session) restore(r *store.Reader, row store.RenderState, known bool, profile boundary.Profile) (*live, error) {
	l := &live{profile: profile, words: &vocabulary{}}
	if !known {
		t := profile.Template
		l.Controls = t.ControlTexts
		l.NoSystemRole = t.NoSystemRole
		l.Reasoning = t.PreservesReasoning || s.e.opts.KeepReasoning
		if t.PreservesReasoning {
			l.Kwargs = t.TemplateKwargs
		}
		l.esc = turn.NewEscaper(controls(l.Controls))
		l.chat = turn.NewChat(l.esc)
		return l, nil
	}
	if row.Version != turn.Version {
		return nil, fmt.Errorf("%w: session %q was rendered by version %d of the rules, this is version %d", ErrUnsupported, s.id, row.Version, turn.Version)
	}
	if err := json.Unmarshal([]byte(row.Body), &l.renderState); err != nil {
		return nil, fmt.Errorf("%w: render state of session %q: %w", ErrCorrupt, s.id, err)
	}
	l.revision = row.Generation
	l.esc = turn.NewEscaper(controls(l.Controls))
	for _, later := range l.Later {
		l.esc = l.esc.Then(controls(later.Controls), later.From)
	}
	if err := s.loadSaved(r, l); err != nil {
		return nil, err
	}
	decisions, err := r.Decisions(s.e.project, s.id)
	if err != nil {
		return nil, err
	}
	entries := make([]*turn.Entry, 0, len(decisions))
	for i, d := range decisions {
		if d.Ord != i {
			return nil, fmt.Errorf("%w: decision %d of session %q is missing", ErrCorrupt, i, s.id)
		}
		e, err := turn.Load(d.Kind, d.Episode, d.Form, d.Body)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		var rec *episode.Record
		if e.Kind == turn.KindEpisode {
			got, err := r.Episode(s.e.project, e.Episode)
			if err != nil {
				return nil, err
			}
			rec = &got
		}
		e.Render(rec, l.esc)
		entries = append(entries, e)
	}
	if len(decisions) < l.Sent {
		return nil, fmt.Errorf("%w: session %q sent %d messages, of which %d decisions are left", ErrCorrupt, s.id, l.Sent, len(decisions))
	}
	l.chat = turn.Restore(l.esc, entries, l.Covered, l.Spoken)
	l.chat.Pending = l.Pending
	l.dirty, l.stored = len(entries), len(entries)
	return l, nil
}

// learn replaces a template profile that was guessed, or is that of a server which has since been restarted with another template, by the server's own,
// and reports whether that changes the prompt. No server holds what was rendered by the old one.
func (l *live) learn(p boundary.Profile, fallback string, keep bool) bool {
	switch {
	case fallback != "":
		l.Guessed = l.Guessed || l.revision == 0
		return false
	case l.Context > 0 && p.Window > 0 && l.Context != p.Window:
		l.notes = append(l.notes, fmt.Sprintf("the server's context changed from %d to %d tokens", l.Context, p.Window))
	}
	swapped := l.Template != "" && p.Template.Digest != "" && l.Template != p.Template.Digest
	if swapped {
		l.notes = append(l.notes, "the server's template changed")
	}
	if !l.Guessed && !swapped {
		return false
	}
	l.Guessed = false
	t := p.Template
	kwargs := l.Kwargs
	l.Reasoning = t.PreservesReasoning || keep // of the turns to come
	l.Kwargs = nil
	if t.PreservesReasoning {
		l.Kwargs = t.TemplateKwargs
	}
	if l.NoSystemRole == t.NoSystemRole {
		return swapped && !bytes.Equal(kwargs, l.Kwargs)
	}
	l.NoSystemRole = t.NoSystemRole
	l.keep = 0
	if l.Turn > 0 && !swapped {
		l.notes = append(l.notes, "the server's template became known")
	}
	return true
}

// extend takes what was recorded since into the chat.
func (s *Session) extend(r *store.Reader, l *live, profile boundary.Profile) error {
	window, _ := s.e.window(profile)
	trim := s.trimBytes(profile, window)
	for rec, err := range r.SessionEpisodes(s.e.project, s.id, l.chat.Covered) {
		if err != nil {
			return err
		}
		opt := turn.Options{Reasoning: l.Reasoning}
		if rec.Role == episode.Tool {
			opt.Trim = trim
			for f, err := range r.Facts(store.FactFilter{Project: s.e.project, Episode: rec.ID, Kind: "tool_exit_code", Limit: 1}) {
				if err != nil {
					return err
				}
				opt.Exit = f.Value
			}
		}
		l.chat.Add(&rec, opt)
	}
	return nil
}

// maxBytesPerToken is more than any tokenizer reaches on text: what is longer than this many bytes for each token of its budget is trimmed
// before it is counted.
const maxBytesPerToken = 16

func (s *Session) trimBytes(p boundary.Profile, window int) int {
	return int(float64(window)*s.e.policy(p.Geometry).MaxResult) * maxBytesPerToken
}

// controls returns the server's control texts with the well-known ones.
func controls(own []string) []string {
	all := append(slices.Clone(own), turn.KnownControls...)
	slices.SortFunc(all, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		if a < b {
			return -1
		}
		if a > b {
			return 1
		}
		return 0
	})
	return slices.Compact(all)
}
