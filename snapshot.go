package sakur4

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"sakur4/boundary"
	"sakur4/internal/rendering"
	"sakur4/internal/store"
)

// SnapshotID names a snapshot, "snap_" and sixteen hex digits.
type SnapshotID string

// Snapshot is a saved slot of the server: the cache of a session's prompt in a file on the server's side. It is a name; what it names is checked when it is
// restored. The zero value names nothing.
type Snapshot struct {
	// ID names it, Session is whose it is.
	ID      SnapshotID
	Session string
	// Window is the session's last prompt when it was taken, Turn its number.
	Window WindowID
	Turn   int
	// Tokens is what the slot held, prompt and reply; Bytes is the size of the file, 0 if it is unknown.
	Tokens int
	Bytes  int64
	// File is the server's name of the file, Slot the slot that was saved.
	File string
	Slot int
	// Model and Backend name the server that wrote it.
	Model, Backend string
	// At is when it was taken.
	At time.Time
}

// snapshotBody is what a snapshot's row holds besides its columns.
type snapshotBody struct {
	Window  WindowID            `json:"window"`
	Turn    int                 `json:"turn"`
	Slot    int                 `json:"slot"`
	Backend string              `json:"backend"`
	Name    string              `json:"name"`
	Model   string              `json:"model"`
	Weights string              `json:"weights,omitempty"`
	Vocab   string              `json:"vocab"`
	Cache   boundary.CacheState `json:"cache"`
}

// replySlack is how many tokens a slot may hold more or less behind the prompt than the reply was reported to have: of a reply that was broken off
// nobody knows how far the server went.
const replySlack = 256

// Snapshot has the server save the session's slot to a file, so that [Session.Restore] can bring it back after the slot was taken or the server was
// restarted. The record, which is never rolled back, is not part of it. Take it when a reply is complete: the slot then holds prompt and reply.
//
// Old snapshots of the session give way by [Options.Snapshots]. The server must have one slot, or the backend must name the session's.
//
// The errors are [ErrUnsupported] where the server cannot save slots, [ErrNotFound] where nothing of the session is known to be in the slot, and
// [ErrSnapshotForeign] where the slot holds other tokens than the session's prompt; old snapshots are then as they were.
func (s *Session) Snapshot(ctx context.Context) (Snapshot, error) {
	if err := s.e.check(ctx); err != nil {
		return Snapshot{}, err
	}
	if s.e.opts.ReadOnly {
		return Snapshot{}, ErrReadOnly
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	srv, err := s.e.slotServer(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	model, err := s.slotModel(ctx, srv)
	if err != nil {
		return Snapshot{}, err
	}
	prompt, reply := model.Held()
	if prompt == 0 {
		return Snapshot{}, fmt.Errorf("%w: nothing of session %q is known to be in the server's slot", ErrNotFound, s.id)
	}
	rows, err := s.snapshotRows(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	plan := planSnapshot(rows, s.e.opts.Snapshots, snapshotBytes(rows, prompt+reply))
	row := store.SnapshotRow{File: plan.file, Ord: 1}
	for _, r := range rows {
		row.Ord = max(row.Ord, r.Ord+1)
	}
	if row.File == "" {
		// The name is recorded before the server writes the file: none is ever forgotten.
		row.File = fmt.Sprintf("sakur4-%016x.slot", s.e.newID())
		if err := s.putSnapshot(ctx, row, nil, nil); err != nil {
			return Snapshot{}, err
		}
	}
	f, err := srv.saver.SaveSlot(ctx, srv.slot, row.File)
	if err != nil {
		return Snapshot{}, srv.refused("save", err)
	}
	row.Tokens, row.Bytes = f.Tokens, f.Bytes
	more := f.Tokens - prompt
	if more < 0 || (reply > 0 && (more > reply+replySlack || more < reply-replySlack)) {
		msg := fmt.Sprintf("the slot holds %d tokens, the session's prompt and reply have %d: another request has taken it, or the server was restarted", f.Tokens, prompt+reply)
		return Snapshot{}, errors.Join(&SnapshotError{File: row.File, Msg: msg, is: ErrSnapshotForeign}, s.putSnapshot(ctx, row, nil, nil))
	}
	saved, err := model.SaveSlot(more)
	if err != nil {
		return Snapshot{}, err
	}
	p := srv.profile
	window, number := model.Last()
	body := snapshotBody{Window: WindowID(window), Turn: number, Slot: srv.slot, Backend: backendName(p), Name: p.Name, Model: p.Model, Weights: p.Weights,
		Vocab: saved.Vocab, Cache: saved.Cache}
	text, err := json.Marshal(body)
	if err != nil {
		return Snapshot{}, fmt.Errorf("sakur4: snapshot: %w", err)
	}
	row.ID, row.Body, row.Created = s.e.id("snap"), string(text), s.e.now()
	if err := s.putSnapshot(ctx, row, saved.Prompt, plan.gone); err != nil {
		return Snapshot{}, err
	}
	snap := s.snapshot(row, body)
	return snap, s.shrinkFiles(ctx, srv, snap, saved)
}

// shrinkFiles empties the files of old snapshots where they take more than the policy allows. The slot must be empty for that, so that the snapshot that
// was just taken is read back afterwards.
func (s *Session) shrinkFiles(ctx context.Context, srv slotServer, snap Snapshot, saved *rendering.Slot) error {
	most := s.e.opts.Snapshots.MaxBytes
	if most == 0 {
		return nil
	}
	rows, err := s.snapshotRows(ctx)
	if err != nil {
		return err
	}
	total, unused := int64(0), false
	for _, r := range rows {
		total += r.Bytes
		unused = unused || (r.ID == "" && r.Bytes > emptyFileBytes)
	}
	if total <= most || !unused {
		return nil
	}
	s.emptyFiles(ctx, srv, rows)
	f, err := srv.saver.RestoreSlot(ctx, srv.slot, snap.File)
	if err != nil || f.Tokens != snap.Tokens {
		s.e.log.WarnContext(ctx, "cannot read a snapshot back that was just taken", "file", snap.File, "error", err)
		return s.holds(ctx, rendering.SlotEmpty, rendering.SlotEmpty, nil)
	}
	return s.holds(ctx, snap.ID, SnapshotID(s.live.prompt.Restored()), saved)
}

// Snapshots returns the session's snapshots that can be restored, oldest first. Whether the server still has their files shows when one is restored.
func (s *Session) Snapshots(ctx context.Context) ([]Snapshot, error) {
	if err := s.e.check(ctx); err != nil {
		return nil, err
	}
	rows, err := s.snapshotRows(ctx)
	if err != nil {
		return nil, err
	}
	var list []Snapshot
	for _, row := range rows {
		if row.ID == "" {
			continue
		}
		body, err := decodeSnapshot(row)
		if err != nil {
			return nil, err
		}
		list = append(list, s.snapshot(row, body))
	}
	return list, nil
}

// Restore has the server read a snapshot back into the session's slot. The record stays as it is, with all turns since: the next [Session.Window] is the
// prompt that it would have been, of which the server reuses what it shares with the snapshot. The first reuse that [Session.Observe] is told of after it
// has the status warm-restored.
//
// The errors are [ErrNotFound] where the session has no such snapshot any more, [ErrSnapshotForeign] where it is another session's or another model's,
// [ErrSnapshotGone] where the server's file is missing, damaged or another one, and [ErrUnsupported] where the server cannot restore slots. After
// ErrSnapshotGone the slot is empty: the next prompt is processed from its beginning. Nothing else is lost in any of these cases.
//
// A server checks the shape of what it reads, not every byte, and knows no weights: a file whose bytes have changed, or that was written under other
// weights of the same name where the model's file cannot be read from here, is taken for the right one.
func (s *Session) Restore(ctx context.Context, snap Snapshot) error {
	if err := s.e.check(ctx); err != nil {
		return err
	}
	if s.e.opts.ReadOnly {
		return ErrReadOnly
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	foreign := func(format string, args ...any) error {
		return &SnapshotError{ID: snap.ID, File: snap.File, Msg: fmt.Sprintf(format, args...), is: ErrSnapshotForeign}
	}
	if snap.Session != s.id && snap.Session != "" {
		return foreign("it belongs to session %q, not to %q", snap.Session, s.id)
	}
	rows, err := s.snapshotRows(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(rows, func(r store.SnapshotRow) bool { return snap.ID != "" && r.ID == string(snap.ID) })
	if i < 0 {
		return fmt.Errorf("%w: snapshot %q of session %q: there is none, or it has given way to newer ones", ErrNotFound, snap.ID, s.id)
	}
	row := rows[i]
	snap.File = row.File
	saved, err := decodeSnapshot(row)
	if err != nil {
		return err
	}
	prompt, err := s.snapshotPrompt(ctx, row.ID)
	if err != nil {
		return err
	}
	srv, err := s.e.slotServer(ctx)
	if err != nil {
		return err
	}
	p := srv.profile
	switch {
	case saved.Name != p.Name || saved.Model != p.Model:
		return foreign("it was taken of %s %q, the server is %s %q", saved.Name, saved.Model, p.Name, p.Model)
	case saved.Weights != "" && p.Weights != "" && saved.Weights != p.Weights:
		return foreign("the server's model %q has other weights than when it was taken", p.Model)
	case saved.Vocab != p.Tokenizer:
		return foreign("the server has another vocabulary than when it was taken")
	case p.Window > 0 && row.Tokens > p.Window:
		return foreign("it holds %d tokens, the server's context has room for %d", row.Tokens, p.Window)
	}
	s.emptyFiles(ctx, srv, rows)
	f, err := srv.saver.RestoreSlot(ctx, srv.slot, row.File)
	gone := ""
	switch {
	case errors.Is(err, boundary.ErrInvalidRequest):
		gone = "the server cannot read it: " + oneLine(err.Error())
	case err != nil:
		return srv.refused("restore", err)
	case f.Tokens != row.Tokens || (f.Bytes != row.Bytes && f.Bytes > 0 && row.Bytes > 0):
		gone = fmt.Sprintf("the server read %d tokens from %d bytes, saved were %d from %d: it is another file", f.Tokens, f.Bytes, row.Tokens, row.Bytes)
		if err := srv.saver.EraseSlot(ctx, srv.slot); err != nil {
			gone += "; emptying the slot: " + oneLine(err.Error())
		}
	}
	if gone != "" {
		// The slot is empty, and the snapshot is of no use any more.
		row.ID, row.Body = "", ""
		return errors.Join(&SnapshotError{ID: snap.ID, File: row.File, Msg: gone, is: ErrSnapshotGone, err: err},
			s.putSnapshot(ctx, row, nil, nil), s.holds(ctx, rendering.SlotEmpty, rendering.SlotEmpty, nil))
	}
	return s.holds(ctx, snap.ID, snap.ID, &rendering.Slot{Vocab: saved.Vocab, Cache: saved.Cache, Prompt: prompt})
}

// holds records what the slot holds from now on, a snapshot or nothing with [rendering.SlotEmpty], and whose first measured reuse is still to come.
func (s *Session) holds(ctx context.Context, id, restored SnapshotID, saved *rendering.Slot) error {
	var revision int
	err := s.e.st.Write(ctx, func(tx *store.Tx) error {
		row, err := tx.RenderState(s.e.project, s.id)
		if err != nil {
			return err
		}
		revision = row.Generation
		body, err := rendering.HoldSlot(row.Body, string(id), string(restored))
		if err != nil {
			return s.damaged(err)
		}
		return tx.PutRenderState(s.e.project, s.id, store.RenderState{Version: row.Version, Generation: row.Generation + 1, Body: body})
	})
	if err != nil {
		s.live = nil
		return wrap(err)
	}
	l := s.live
	if l == nil || l.revision != revision {
		s.live = nil
		return nil
	}
	l.prompt.HoldSlot(string(id), string(restored), saved)
	l.revision++
	return nil
}

// emptyFiles makes the files of snapshots that are given up small, by saving the slot into them while it is empty. It may be: what it holds is about to
// be replaced. What fails is left for the next time.
func (s *Session) emptyFiles(ctx context.Context, srv slotServer, rows []store.SnapshotRow) {
	erased := false
	for _, r := range rows {
		if r.ID != "" || r.Bytes <= emptyFileBytes {
			continue
		}
		if !erased {
			if err := srv.saver.EraseSlot(ctx, srv.slot); err != nil {
				s.e.log.WarnContext(ctx, "cannot empty a slot", "error", err)
				return
			}
			erased = true
		}
		f, err := srv.saver.SaveSlot(ctx, srv.slot, r.File)
		if err == nil {
			r.Tokens, r.Bytes = f.Tokens, f.Bytes
			err = s.putSnapshot(ctx, r, nil, nil)
		}
		if err != nil {
			s.e.log.WarnContext(ctx, "cannot empty the file of an old snapshot", "file", r.File, "error", err)
			return
		}
	}
}

// emptyFileBytes is more than the file of an empty slot has.
const emptyFileBytes = 1 << 10

// slotServer is the server as one that saves slots.
type slotServer struct {
	saver   boundary.SlotSaver
	profile boundary.Profile
	slot    int
}

// slotServer asks the backend what it is now, and says which slot is the session's.
func (e *Engine) slotServer(ctx context.Context) (slotServer, error) {
	saver, ok := e.backend.(boundary.SlotSaver)
	if !ok {
		return slotServer{}, fmt.Errorf("%w: the backend cannot save slots", ErrUnsupported)
	}
	e.forget()
	_, p, problem := e.server(ctx)
	if err := ctx.Err(); err != nil {
		return slotServer{}, err
	}
	srv := slotServer{saver: saver, profile: p}
	switch {
	case problem != "":
		return slotServer{}, fmt.Errorf("sakur4: the server does not answer: %s: %w", problem, boundary.ErrUnavailable)
	case p.Slot != nil:
		srv.slot = *p.Slot
	case p.Slots > 1:
		return slotServer{}, fmt.Errorf("%w: the server has %d slots, and the backend does not say which is the session's", ErrUnsupported, p.Slots)
	}
	return srv, nil
}

// refused says what a server's refusal means.
func (srv slotServer) refused(action string, err error) error {
	if errors.Is(err, boundary.ErrUnsupported) {
		return fmt.Errorf("%w: the server was started without a folder for slots (--slot-save-path): %w", ErrUnsupported, err)
	}
	return fmt.Errorf("sakur4: %s slot %d: %w", action, srv.slot, err)
}

// slotModel returns the session's prompt with the model of the server's slot.
func (s *Session) slotModel(ctx context.Context, srv slotServer) (*rendering.Prompt, error) {
	counts := rendering.Server{Backend: s.e.asked, Profile: srv.profile}
	counts.Window, counts.Limit = s.e.window(srv.profile)
	l, _, err := s.load(ctx, s.live, counts)
	if err != nil {
		return nil, err
	}
	s.live = l
	err = l.prompt.ModelSlot(ctx, counts)
	s.e.settle(l.prompt.Learned())
	return l.prompt, err
}

// savedSlot reads the snapshot that the slot holds. One that has given way since leaves the slot unknown.
func (s *Session) savedSlot(r *store.Reader, id string) (*rendering.Slot, error) {
	rows, err := r.Snapshots(s.e.project, s.id)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(rows, func(row store.SnapshotRow) bool { return row.ID == id })
	if i < 0 {
		return nil, nil
	}
	body, err := decodeSnapshot(rows[i])
	if err != nil {
		return nil, err
	}
	prompt, err := r.SnapshotPrompt(s.e.project, s.id, id)
	return &rendering.Slot{Vocab: body.Vocab, Cache: body.Cache, Prompt: prompt}, err
}

func (s *Session) snapshot(row store.SnapshotRow, body snapshotBody) Snapshot {
	return Snapshot{ID: SnapshotID(row.ID), Session: s.id, Window: body.Window, Turn: body.Turn, Tokens: row.Tokens, Bytes: row.Bytes, File: row.File,
		Slot: body.Slot, Model: body.Model, Backend: body.Backend, At: row.Created}
}

func decodeSnapshot(row store.SnapshotRow) (snapshotBody, error) {
	var body snapshotBody
	if err := json.Unmarshal([]byte(row.Body), &body); err != nil {
		return body, fmt.Errorf("%w: snapshot %s: %w", ErrCorrupt, row.ID, err)
	}
	return body, nil
}

func (s *Session) snapshotRows(ctx context.Context) (rows []store.SnapshotRow, err error) {
	err = s.e.st.Read(ctx, func(r *store.Reader) error {
		rows, err = r.Snapshots(s.e.project, s.id)
		return err
	})
	return rows, wrap(err)
}

func (s *Session) snapshotPrompt(ctx context.Context, id string) (prompt []int32, err error) {
	err = s.e.st.Read(ctx, func(r *store.Reader) error {
		prompt, err = r.SnapshotPrompt(s.e.project, s.id, id)
		return err
	})
	return prompt, wrap(err)
}

// putSnapshot records a file, and that others are given up.
func (s *Session) putSnapshot(ctx context.Context, row store.SnapshotRow, prompt []int32, gone []store.SnapshotRow) error {
	return wrap(s.e.st.Write(ctx, func(tx *store.Tx) error {
		for _, g := range gone {
			g.ID, g.Body = "", ""
			if err := tx.PutSnapshot(s.e.project, s.id, g, nil); err != nil {
				return err
			}
		}
		return tx.PutSnapshot(s.e.project, s.id, row, prompt)
	}))
}
