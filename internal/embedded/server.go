package embedded

import (
	"context"
	"fmt"
	"maps"
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
	// Model names the model; "" means "none".
	Model string
}

// Server is the simulated server. It is safe for concurrent use. Make one with [New]; the zero value is not usable.
type Server struct {
	profile boundary.Profile
	vocab   vocabulary

	// mu guards what follows.
	mu    sync.Mutex
	slots []slot
	saved map[string]saved
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
	if cfg.Model == "" {
		cfg.Model = "none"
	}
	if cfg.Tokenizer == nil {
		cfg.Tokenizer = bytesTokenizer{}
	}
	s := &Server{vocab: vocabulary{t: cfg.Tokenizer}, saved: make(map[string]saved)}
	s.profile = boundary.Profile{
		Window: cfg.Window, Slots: cfg.Slots, Tokenizer: cfg.Tokenizer.Name(), Name: "embedded", Build: "1", Model: cfg.Model,
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

// SaveSlot keeps a copy of a slot under a name and says what is in it. An existing copy of that name is replaced.
func (s *Server) SaveSlot(ctx context.Context, id int, name string) (boundary.SlotFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkSlot(ctx, id, name); err != nil {
		return boundary.SlotFile{}, err
	}
	sl := s.slots[id]
	s.saved[name] = saved{sl.cache.State(), sl.prompt, sl.reply}
	return sl.file(), nil
}

// RestoreSlot puts a saved copy into a slot and says what was read. A name that was never saved, and a copy that the context has no room for, is
// [boundary.ErrInvalidRequest] and leaves the slot empty.
func (s *Server) RestoreSlot(ctx context.Context, id int, name string) (boundary.SlotFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkSlot(ctx, id, name); err != nil {
		return boundary.SlotFile{}, err
	}
	f, ok := s.saved[name]
	sl := slot{cache: boundary.NewCache(s.profile), used: s.slots[id].used}
	s.slots[id] = sl
	if !ok || len(f.prompt)+len(f.reply) > s.profile.Window {
		return boundary.SlotFile{}, fmt.Errorf("embedded: cannot restore slot %q: %w", name, boundary.ErrInvalidRequest)
	}
	if err := sl.cache.Reload(f.state, f.prompt, f.reply); err != nil {
		return boundary.SlotFile{}, fmt.Errorf("embedded: cannot restore slot %q: %w: %w", name, boundary.ErrInvalidRequest, err)
	}
	sl.prompt, sl.reply = f.prompt, f.reply
	s.slots[id] = sl
	return sl.file(), nil
}

// SlotFiles returns the saved slots by name.
func (s *Server) SlotFiles() map[string]boundary.SlotFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	files := make(map[string]boundary.SlotFile, len(s.saved))
	for name, f := range s.saved {
		files[name] = slot{prompt: f.prompt, reply: f.reply}.file()
	}
	return files
}

// Adopt takes over the saved slots of another server, as one that is started on the same folder does.
func (s *Server) Adopt(other *Server) {
	other.mu.Lock()
	files := maps.Clone(other.saved)
	other.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved = files
}

// RemoveSlotFile forgets a saved slot, as deleting its file does.
func (s *Server) RemoveSlotFile(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.saved, name)
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

// Sizes of the files that the simulation would write, in bytes: those of a tiny model.
const (
	fileHeaderBytes = 36
	fileTokenBytes  = 144
)

func (s slot) file() boundary.SlotFile {
	return boundary.SlotFile{Tokens: s.size(), Bytes: fileHeaderBytes + fileTokenBytes*int64(s.size())}
}

// saved is what a slot file holds.
type saved struct {
	state         boundary.CacheState
	prompt, reply []int32
}
