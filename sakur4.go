package sakur4

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sakur4/boundary"
	"sakur4/evict"
	"sakur4/internal/codeindex"
	"sakur4/internal/consolidate"
	"sakur4/internal/embedded"
	"sakur4/internal/frame"
	"sakur4/internal/project"
	"sakur4/internal/recall"
	"sakur4/internal/store"
	"sakur4/internal/tokens"
	"sakur4/internal/vector"
	"sakur4/symbolic"
)

// Defaults of [Options].
const (
	// DefaultWindow is the context in tokens where neither the options nor the backend name one.
	DefaultWindow = 32768
	// KeyBytes is the length of [Options.EncryptionKey].
	KeyBytes = 32
	// DefaultMaxFacts is the most facts that one result gives.
	DefaultMaxFacts = 512
	// reserveShare is the part of the window left for the reply by default.
	reserveShare = 8
	// countCacheEntries bounds the remembered counts: contents repeat within a session, not over months.
	countCacheEntries = 1 << 13
)

// Backend is what the engine needs of an inference server; see package boundary.
type Backend = boundary.Backend

// Tokenizer counts tokens where the backend cannot. It must be safe for concurrent use.
type Tokenizer interface {
	// Name names the vocabulary.
	Name() string
	// Count returns the number of tokens of text.
	Count(text string) int
	// Encode returns the token ids of text.
	Encode(text string) []int32
	// Spans returns the token ids of text, and for each the byte offset in text at which it ends.
	Spans(text string) (ids []int32, ends []int)
}

// Embedder gives dense vectors for texts, for [Engine.Recall]; one of a llama.cpp server is in package llamacpp. It must be safe for concurrent use, honour its
// context, and answer the same for the same text. See also [QueryEmbedder].
type Embedder interface {
	// Model names the model; vectors of two models are never compared. It is not empty and does not change.
	Model() string
	// Dim is the length of a vector, in numbers: at least 1 and at most 65,536. It does not change.
	Dim() int
	// Embed returns one unit vector a text, in order. Texts are valid UTF-8 of 1,200 bytes at most, and not blank. An error about some of the texts makes
	// the engine ask for each by itself.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Summarizer writes interpretations with a model, for [Engine.Dream]. [ChatSummarizer] makes one of a chat server. It must be safe for concurrent use.
type Summarizer interface {
	// Summarize returns the model's text for a request. Whatever it returns is judged: an empty text, a call or a text that is not shorter is not taken.
	Summarize(ctx context.Context, req SummaryRequest) (string, error)
}

// SummaryRequest asks for a summary.
type SummaryRequest struct {
	// Messages are the session's prompt as it was sent last; empty where nothing was sent. They end with the assistant, so that a user may speak next.
	Messages []Message
	// Instruction says what is to be summarised and how; it belongs behind the messages, as the user's.
	Instruction string
	// MaxTokens bounds the summary.
	MaxTokens int
	// Tools and Hints are those of the session's last request: with them and the messages the server has all but the instruction in its cache.
	Tools json.RawMessage
	Hints Hints
}

// O200kBase and CL100kBase return the two vocabularies that are built in.
func O200kBase() Tokenizer { return tokens.O200k() }

// CL100kBase returns the vocabulary cl100k_base; see [O200kBase].
func CL100kBase() Tokenizer { return tokens.CL100k() }

// Options configure [Open]. A nil *Options and zero fields mean the documented defaults. An option that cannot be honoured makes Open fail
// with [ErrUnsupported]; none is ignored.
type Options struct {
	// ProjectRoot is the folder of the project; "" is the working directory. It is canonicalised, and its path is the project's identity.
	ProjectRoot string
	// Project names the project explicitly instead.
	Project string
	// Backend is the server; nil is an embedded simulator of one.
	Backend Backend
	// Tokenizer counts where the backend cannot; nil is o200k_base.
	Tokenizer Tokenizer
	// Window is the context in tokens; 0 is the backend's, else [DefaultWindow]. Reserve is what it leaves for the reply; 0 is an eighth.
	Window, Reserve int
	// Policy says when to compact and what; nil is chosen from what the backend can do.
	Policy *evict.Policy
	// KVShift allows compactions that rely on the server's KV shift: they take whole turns out, and the server moves what stays behind them instead of
	// computing it again, so that a compaction costs next to no prefill. It is approximate: the kept keys and values were computed with the
	// deleted text in view. Receipts say when it was used. A server that cannot is found out, by what it says of itself or by what it
	// measures, or by its refusal ([Usage].ShiftRefused), and compactions are then as without this option. With a backend of [Hosted] whose geometry does not
	// shift, Open fails with [ErrUnsupported].
	KVShift bool
	// Snapshots bounds what [Session.Snapshot] leaves on the server's disk; the zero value keeps the newest [DefaultSnapshots] of a session.
	Snapshots SnapshotPolicy
	// KeepReasoning sends reasoning back within the running loop where the template does not preserve it.
	KeepReasoning bool
	// Embedder gives dense vectors for recall, of what is committed and interpreted. They are computed beside the calls, stored, and never part of a commit;
	// an embedder that fails or is slow holds up no commit and no prompt, and [Hits] say what is missing. nil is recall by words.
	Embedder Embedder
	// Reembed accepts an Embedder whose model or dimension is not that of the project's stored vectors, throws these away, and computes new ones: beside the
	// calls, or at once with [Engine.Embed]. Without it such an embedder makes Open fail with [ErrEmbedderChanged]. Where the embedder is the same it does nothing.
	Reembed bool
	// Summarizer interprets episodes when the server is idle, see [Engine.Dream]; nil selects sentences of theirs instead.
	Summarizer Summarizer
	// EncryptionKey encrypts the store's file, its log and its backups at rest with AES-256-XTS; nil is plain text. It has [KeyBytes] random bytes: derive
	// it from a password with a slow function. Whoever sees the file at two times sees which of its sectors changed, and changes to it are found as those of a
	// plain file are, by accident and not by intent. A store keeps its key; another one is [ErrWrongKey].
	EncryptionKey []byte
	// ReadOnly opens the store without writing to it.
	ReadOnly bool
	// MaxFacts is the most facts that one result gives; 0 is [DefaultMaxFacts]. Further ones are counted.
	MaxFacts int
	// Logger receives what went wrong beside a call; nil is silence.
	Logger *slog.Logger
	// Now is the clock; nil is [time.Now].
	Now func() time.Time
	// NewID gives the part of an id behind its prefix; nil is a source that starts at random and goes up, so that what is recorded together lies together. Values must
	// not repeat within a store.
	NewID func() uint64
}

// Engine is an open store for one project. It is safe for concurrent use.
type Engine struct {
	st       *store.Store
	opts     Options
	project  string
	root     string
	alias    []string // other names of the root's folder
	backend  boundary.Backend
	asked    boundary.Backend // the backend, with a time limit on each question
	counter  *tokens.Counter
	local    *embedded.Server // renders and counts where the backend cannot
	log      *slog.Logger
	now      func() time.Time
	newID    func() uint64
	maxFacts int
	parsers  symbolic.Table

	code  *codeindex.Index
	dense *dense // nil without an embedder

	dreaming sync.Mutex // held by Dream; guards backoff and problem; taken before mu and a session's mutex
	backoff  consolidate.Backoff
	problem  string // the summarizer's newest failure

	mu        sync.Mutex // guards what follows
	tree      fs.FS      // the files of the project where they were given, see [IndexOptions]; nil is the root's folder
	sessions  map[string]*Session
	profile   *boundary.Profile // nil until the backend has answered, and after it has failed
	known     boundary.Profile  // its last answer, zero before the first
	settings  *boundary.Learned // of the server's cache, as measurements showed them; nil where nothing did
	looked    bool              // for them in the store
	hung      error             // why it is not asked before restUntil, nil if it is
	restUntil time.Time
	closed    bool
}

// Open opens or creates the store at path for one project. ":memory:" is a store that lives as long as the engine, with identical semantics.
//
// The errors are [ErrLocked], [ErrCorrupt], [ErrWrongKey], [ErrUnsupported], [ErrEmbedderChanged], those of the file system, and [ErrReadOnly] for a store of an earlier
// version that is opened read-only: opened for writing it is brought up to date, which a process of that version that has it open notices by errors. A server that is down
// is no error: it is asked when it is needed.
//
// The end of a process, however it comes, loses nothing that a call has returned. Neither does a loss of power, but for a prompt behind which nothing was stored: see
// [Session.Window]. The store is whole after both, where the disk keeps what it says that it keeps.
func Open(ctx context.Context, path string, opts *Options) (*Engine, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	e := &Engine{opts: o, sessions: map[string]*Session{}, log: o.Logger, now: o.Now, newID: o.NewID, maxFacts: o.MaxFacts, parsers: symbolic.DefaultTable()}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	if e.now == nil {
		e.now = time.Now
	}
	if e.newID == nil {
		e.newID = newIDs()
	}
	if e.maxFacts == 0 {
		e.maxFacts = DefaultMaxFacts
	}
	if e.opts.Tokenizer == nil {
		e.opts.Tokenizer = tokens.O200k()
	}
	e.counter = tokens.NewCounter(e.opts.Tokenizer, countCacheEntries)
	e.local = embedded.New(embedded.Config{Window: max(o.Window, DefaultWindow), Tokenizer: e.opts.Tokenizer})
	e.backend = o.Backend
	if e.backend == nil {
		w := o.Window
		if w == 0 {
			w = DefaultWindow
		}
		e.backend = embedded.New(embedded.Config{Window: w, Tokenizer: e.opts.Tokenizer})
	}
	e.asked = bound(e.backend)
	var err error
	if o.Project != "" {
		e.project, err = project.Named(o.Project)
	} else {
		root := o.ProjectRoot
		if root == "" {
			if root, err = os.Getwd(); err != nil {
				return nil, fmt.Errorf("sakur4: working directory: %w", err)
			}
		}
		e.project, e.root, err = project.ID(root)
		if given, bad := filepath.Abs(root); bad == nil && given != e.root {
			e.alias = []string{given}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("sakur4: project: %w", err)
	}
	e.st, err = store.Open(ctx, store.Config{Path: path, Key: o.EncryptionKey, ReadOnly: o.ReadOnly, Now: e.now, Analyze: indexText})
	if err != nil {
		return nil, wrap(err)
	}
	if !o.ReadOnly {
		label := e.root
		if o.Project != "" {
			label = o.Project
		}
		err := e.st.Write(ctx, func(tx *store.Tx) error {
			if err := tx.EnsureProject(e.project, label); err != nil {
				return err
			}
			return e.useModel(tx)
		})
		if err != nil {
			return nil, errors.Join(wrap(err), e.st.Close())
		}
	} else if o.Embedder != nil {
		err := e.st.Read(ctx, func(r *store.Reader) error { return notFoundIsNone(e.checkModel(r, e.project)) })
		if err != nil {
			return nil, errors.Join(wrap(err), e.st.Close())
		}
	}
	e.code = &codeindex.Index{Store: e.st, Project: e.project, ReadOnly: o.ReadOnly, Now: e.now, Log: e.log, Open: e.sources}
	if o.Embedder != nil {
		e.dense = startDense(ctx, e)
	}
	return e, nil
}

// indexText gives the terms under which a text is found. What an agent read from memory is framed as our own words: it is not found again,
// or each recall would quote the one before.
func indexText(text string) string {
	if frame.Contains(text) {
		return ""
	}
	return recall.IndexText(text)
}

// validate returns all violations in one error.
func (o *Options) validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: options: "+format, append([]any{ErrUnsupported}, args...)...))
	}
	if o.ProjectRoot != "" && o.Project != "" {
		bad("ProjectRoot and Project are both set")
	}
	if o.Window < 0 || o.Reserve < 0 || o.MaxFacts < 0 {
		bad("Window, Reserve and MaxFacts must not be negative")
	}
	if o.Window > 0 && o.Reserve >= o.Window {
		bad("Reserve %d leaves nothing of a Window of %d tokens", o.Reserve, o.Window)
	}
	if h, ok := o.Backend.(*hosted); ok && o.KVShift && !h.p.Geometry.Shift {
		bad("KVShift on the hosted provider %q, whose cache does not shift: %w", h.p.Name, ErrUnsupported)
	}
	if o.Snapshots.Keep < 0 || o.Snapshots.MaxBytes < 0 {
		bad("Snapshots.Keep and Snapshots.MaxBytes must not be negative")
	}
	if o.Embedder != nil && (o.Embedder.Model() == "" || o.Embedder.Dim() <= 0 || o.Embedder.Dim() > vector.MaxDim) {
		bad("Embedder has the model %q and vectors of %d numbers; it needs a name and 1 to %d", o.Embedder.Model(), o.Embedder.Dim(), vector.MaxDim)
	}
	if o.Reembed && (o.Embedder == nil || o.ReadOnly) {
		bad("Reembed needs an Embedder and a store that can be written")
	}
	if o.EncryptionKey != nil && len(o.EncryptionKey) != KeyBytes {
		bad("EncryptionKey has %d bytes, not %d", len(o.EncryptionKey), KeyBytes)
	}
	if o.Policy != nil {
		if err := o.Policy.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("%w: options: Policy: %w", ErrUnsupported, err))
		}
	}
	return errors.Join(errs...)
}

// Close waits for what is under way, and closes the store. Further calls return [ErrClosed]. A second Close does nothing.
// An iterator is under way until its loop ends: Close called from inside such a loop would wait for itself for ever.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	e.mu.Unlock()
	e.dense.close()
	return wrap(e.st.Close())
}

// Project returns the id of the engine's project: "proj_" and hexadecimal digits.
func (e *Engine) Project() string { return e.project }

// Backend returns the server that the engine asks: the one of the options, or the embedded simulator, which can answer chats
// ([boundary.Chatter]).
func (e *Engine) Backend() Backend { return e.backend }

// Session returns the session of that id in the engine's project. Equal ids give the same session. Nothing is stored before the first turn.
func (e *Engine) Session(id string) *Session {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sessions[id]
	if s == nil {
		s = &Session{e: e, id: id}
		e.sessions[id] = s
	}
	return s
}

func (e *Engine) check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return ErrClosed
	}
	return nil
}

// id returns a new id with that prefix.
func (e *Engine) id(prefix string) string {
	var room [24]byte
	b := append(append(room[:0], prefix...), '_')
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], e.newID())
	return string(hex.AppendEncode(b, n[:]))
}

// server returns the backend with its profile, or the local counter with the reason where the backend does not answer.
func (e *Engine) server(ctx context.Context) (boundary.Backend, boundary.Profile, string) {
	e.mu.Lock()
	p := e.profile
	e.mu.Unlock()
	if p != nil {
		return e.asked, e.withLearned(ctx, *p), ""
	}
	if hung := e.resting(); hung != nil {
		return e.without(ctx, boundary.Profile{}, hung)
	}
	got, err := e.asked.Profile(ctx)
	if err == nil && got.Tokenizer == "" {
		err = errors.New("it cannot tokenize")
	}
	if err != nil {
		e.log.WarnContext(ctx, "backend does not answer; counting locally", "error", err)
		e.rest(err)
		return e.without(ctx, got, err)
	}
	if e.opts.KVShift && got.Geometry.Kind == boundary.Unknown && got.Name == "llama.cpp" {
		// Most models can, and what is measured at the first compaction says whether this one does.
		got.Geometry.Shift, got.Geometry.MinChunk = true, 1
	}
	e.mu.Lock()
	e.profile, e.known = &got, got
	e.mu.Unlock()
	return e.asked, e.withLearned(ctx, got), ""
}

// without returns the local counter in place of a backend that failed with cause. What it said of itself, now or when it answered last, still holds:
// its context does not grow because it is down.
func (e *Engine) without(ctx context.Context, got boundary.Profile, cause error) (boundary.Backend, boundary.Profile, string) {
	e.mu.Lock()
	if got.Window == 0 {
		got.Window = e.known.Window
	}
	if got.Geometry.Kind == boundary.Unknown {
		got.Geometry, got.Rule = e.known.Geometry, e.known.Rule
	}
	if got.Name == "" {
		got.Name = e.known.Name
	}
	if got.Slot == nil {
		got.Slot = e.known.Slot
	}
	e.mu.Unlock()
	local, err := e.local.Profile(ctx)
	if err != nil {
		local = boundary.Profile{}
	}
	local.Geometry, local.Rule, local.Window, local.Name, local.Slot = got.Geometry, got.Rule, got.Window, got.Name, got.Slot
	return e.local, local, oneLine(cause.Error())
}

// window returns the context and the limit of a prompt, in tokens.
func (e *Engine) window(p boundary.Profile) (window, limit int) {
	window = e.opts.Window
	if window == 0 || (p.Window > 0 && p.Window < window) {
		window = p.Window
	}
	if window == 0 {
		window = DefaultWindow
	}
	reserve := e.opts.Reserve
	if reserve == 0 || reserve >= window {
		reserve = window / reserveShare
	}
	return window, window - reserve
}

// policy returns the policy with its defaults: chosen from what the cache can do where the options do not say.
func (e *Engine) policy(g boundary.Geometry) evict.Policy {
	profile := evict.CacheFirst
	switch g.Kind {
	case boundary.Unknown, boundary.Points, boundary.Marked:
		profile = evict.Balanced
	case boundary.Blocks:
		if g.Min > 0 || g.Block > 1024 {
			profile = evict.Balanced
		}
	}
	var p evict.Policy
	if e.opts.Policy != nil {
		p = *e.opts.Policy
	}
	return p.WithDefaults(profile)
}

// wrap turns an error of the store into one of ours, keeping its text.
func wrap(err error) error {
	for _, m := range [...]struct{ from, to error }{
		{store.ErrNotFound, ErrNotFound}, {store.ErrClosed, ErrClosed}, {store.ErrLocked, ErrLocked}, {store.ErrReadOnly, ErrReadOnly},
		{store.ErrCorrupt, ErrCorrupt}, {store.ErrWrongKey, ErrWrongKey}, {store.ErrUnsupported, ErrUnsupported},
		{store.ErrNewer, ErrUnsupported}, {store.ErrOlder, ErrUnsupported}, {store.ErrFull, ErrFull},
		{store.ErrExists, fs.ErrExist},
	} {
		if errors.Is(err, m.from) && !errors.Is(err, m.to) {
			return &storeError{err: err, is: m.to}
		}
	}
	if err != nil && strings.HasPrefix(err.Error(), storePrefix) {
		return &storeError{err: err}
	}
	return err
}

// storePrefix begins the text of the store's errors.
const storePrefix = "store: "

// storeError carries the store's text under our sentinel; is is nil where there is none.
type storeError struct{ err, is error }

func (e *storeError) Error() string {
	return "sakur4: " + strings.TrimPrefix(e.err.Error(), storePrefix)
}
func (e *storeError) Unwrap() error        { return e.err }
func (e *storeError) Is(target error) bool { return target == e.is }

// oneLine makes an error's text fit for a receipt.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 200 {
		s = s[:200] + "…"
	}
	return s
}
