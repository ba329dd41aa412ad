package embedded

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"sakur4/boundary"
	"sakur4/internal/digest"
)

// DefaultWindow is the context of one slot in tokens where [Config] names none.
const DefaultWindow = 32768

// Tokenizer turns ordinary text into tokens. Control tokens are cut out before it sees the text. Its ids are below 1<<24.
type Tokenizer interface {
	// Name names the vocabulary.
	Name() string
	// Encode returns the token ids of text.
	Encode(text string) []int32
	// Spans returns the same ids and for each the byte offset in text at which it ends.
	Spans(text string) (ids []int32, ends []int)
}

// Config describes the server to simulate. The zero value is a full-attention server with 32768 tokens and one slot that counts bytes.
type Config struct {
	// Window is the context of one slot in tokens; 0 means [DefaultWindow].
	Window int
	// Slots is the number of slots; 0 means 1.
	Slots int
	// Kind is the shape of the cache: [boundary.AnyToken] (also the meaning of zero) or [boundary.Points].
	Kind boundary.Kind
	// Rule holds the checkpoint settings with [boundary.Points]; its zero fields mean the defaults of llama-server, and a Window of 0 a
	// recurrent model.
	Rule boundary.CheckpointRule
	// Tokenizer is the vocabulary; nil makes every byte a token.
	Tokenizer Tokenizer
}

// Server is the simulated server. It is safe for concurrent use. Make one with [New]; the zero value is not usable.
type Server struct {
	profile boundary.Profile
	vocab   vocabulary

	// mu guards what follows.
	mu    sync.Mutex
	slots []slot
	saved map[string]slot
	clock int
	busy  bool
}

// slot is one slot with what it holds.
type slot struct {
	cache *boundary.Cache
	// prompt and reply are the tokens held; used orders the slots by their last request.
	prompt, reply []int32
	used          int
}

var (
	_ boundary.Backend   = (*Server)(nil)
	_ boundary.Spanner   = (*Server)(nil)
	_ boundary.SlotSaver = (*Server)(nil)
	_ boundary.Idler     = (*Server)(nil)
	_ boundary.Chatter   = (*Server)(nil)
)

// New returns a server with empty slots.
func New(cfg Config) *Server {
	if cfg.Window <= 0 {
		cfg.Window = DefaultWindow
	}
	if cfg.Slots <= 0 {
		cfg.Slots = 1
	}
	if cfg.Tokenizer == nil {
		cfg.Tokenizer = bytesTokenizer{}
	}
	s := &Server{vocab: vocabulary{t: cfg.Tokenizer}, saved: make(map[string]slot)}
	s.profile = boundary.Profile{
		Window: cfg.Window, Slots: cfg.Slots, Tokenizer: cfg.Tokenizer.Name(), Name: "embedded", Build: "1", Model: "none",
		Geometry: boundary.Geometry{Kind: boundary.AnyToken, Shift: true, MinChunk: 1},
		Template: boundary.Template{
			Digest: digest.Of(templateVersion).String(), PreservesReasoning: true, UserHeader: userHeader, ControlTexts: controlTexts(),
		},
	}
	if cfg.Kind == boundary.Points {
		rule := cfg.Rule.WithDefaults()
		s.profile.Geometry, s.profile.Rule = boundary.Geometry{Kind: boundary.Points}, &rule
	}
	s.slots = make([]slot, cfg.Slots)
	s.Restart()
	return s
}

// Restart empties every slot, as a restart of the server does. Saved slots stay.
func (s *Server) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.slots {
		s.slots[i] = slot{cache: boundary.NewCache(s.profile)}
	}
}

// SetBusy makes [Server.Idle] say that somebody else's request is being processed, or no longer.
func (s *Server) SetBusy(busy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = busy
}

// Profile returns what the server is.
func (s *Server) Profile(ctx context.Context) (boundary.Profile, error) {
	p := s.profile
	if p.Rule != nil {
		rule := *p.Rule
		p.Rule = &rule
	}
	p.Template.ControlTexts = slices.Clone(p.Template.ControlTexts)
	return p, ctx.Err()
}

// Render returns the exact prompt text of a request. What a real server refuses is [boundary.ErrInvalidRequest].
func (s *Server) Render(ctx context.Context, req boundary.RenderRequest) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return render(req.Messages, req.Tools, req.GenerationPrompt)
}

// Tokens returns the token ids of text with control tokens parsed.
func (s *Server) Tokens(ctx context.Context, text string) ([]int32, error) {
	return s.vocab.encode(text), ctx.Err()
}

// TokenSpans returns the token ids of text and where each ends.
func (s *Server) TokenSpans(ctx context.Context, text string) (ids []int32, ends []int, err error) {
	ids, ends = s.vocab.spans(text)
	return ids, ends, ctx.Err()
}

// Idle reports whether no request is being processed.
func (s *Server) Idle(ctx context.Context) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.busy, ctx.Err()
}

// SaveSlot keeps a copy of a slot under a name and returns how many tokens it holds.
func (s *Server) SaveSlot(ctx context.Context, id int, name string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkSlot(ctx, id, name); err != nil {
		return 0, err
	}
	s.saved[name] = s.slots[id].copy(s.profile)
	return s.slots[id].size(), nil
}

// RestoreSlot puts a saved copy into a slot and returns how many tokens it holds. A name that was never saved is [boundary.ErrInvalidRequest] and
// leaves the slot empty.
func (s *Server) RestoreSlot(ctx context.Context, id int, name string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkSlot(ctx, id, name); err != nil {
		return 0, err
	}
	saved, ok := s.saved[name]
	if !ok {
		s.slots[id] = slot{cache: boundary.NewCache(s.profile)}
		return 0, fmt.Errorf("embedded: no saved slot %q: %w", name, boundary.ErrInvalidRequest)
	}
	s.slots[id] = saved.copy(s.profile)
	return s.slots[id].size(), nil
}

// EraseSlot empties a slot.
func (s *Server) EraseSlot(ctx context.Context, id int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkSlot(ctx, id, "-"); err != nil {
		return err
	}
	s.slots[id] = slot{cache: boundary.NewCache(s.profile)}
	return nil
}

func (s *Server) checkSlot(ctx context.Context, id int, name string) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case id < 0 || id >= len(s.slots):
		return fmt.Errorf("embedded: no slot %d: %w", id, boundary.ErrInvalidRequest)
	case name == "":
		return fmt.Errorf("embedded: no file name: %w", boundary.ErrInvalidRequest)
	}
	return nil
}

func (s slot) size() int { return len(s.prompt) + len(s.reply) }

// copy returns an independent copy of the slot.
func (s slot) copy(p boundary.Profile) slot {
	c := slot{cache: boundary.RestoreCache(p, s.cache.State()), prompt: s.prompt, reply: s.reply, used: s.used}
	if err := c.cache.Hold(s.prompt); err != nil {
		// The state and the tokens were taken together.
		c = slot{cache: boundary.NewCache(p)}
	}
	return c
}
