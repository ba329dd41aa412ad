package sakur4

import (
	"errors"
	"fmt"
	"sakur4/internal/store"
	"strings"
)

// Errors of [Open].
var (
	// ErrLocked is returned when another process held the store for longer than the busy timeout. Any writing call may return it.
	ErrLocked = errors.New("sakur4: store is locked")
	// ErrCorrupt is returned when the file is damaged or is no store of ours.
	ErrCorrupt = errors.New("sakur4: store is corrupt")
	// ErrWrongKey is returned when the store is encrypted with another key than was given, or not at all. Nothing has changed. An encrypted store that is
	// opened without a key is [ErrCorrupt]: it looks like no database.
	ErrWrongKey = errors.New("sakur4: wrong encryption key")
	// ErrEmbedderChanged is returned when the project's vectors were made by another model. The error is an [*EmbedderError].
	ErrEmbedderChanged = errors.New("sakur4: the embedder is another one")
	// ErrUnsupported is returned when an option or an ability is not available here; the error names it.
	ErrUnsupported = errors.New("sakur4: not supported")
)

// Errors of any call.
var (
	// ErrClosed is returned after [Engine.Close].
	ErrClosed = errors.New("sakur4: engine is closed")
	// ErrReadOnly is returned by every call that writes when the store was opened read-only.
	ErrReadOnly = errors.New("sakur4: store is read-only")
	// ErrFull is returned by a call that writes when the disk is full, or takes no more for another reason, such as a quota. Nothing of the call is stored; reading goes on.
	ErrFull = errors.New("sakur4: disk is full")
	// ErrNotFound is returned when an id names nothing in this project.
	ErrNotFound = errors.New("sakur4: not found")
)

// Errors of [Session.Commit] and [Session.Pin].
var (
	// ErrInvalidTurn is returned when a turn cannot belong to the session: a result without an open call, a second result, an empty user turn.
	// [Session.Observe] and [Session.Attach] return it for numbers and notes that cannot be. Nothing is stored. The error is a [*TurnError].
	ErrInvalidTurn = errors.New("sakur4: invalid turn")
	// ErrUnknownEpisode is returned when Corrects, or an id to extract from, names no episode of the project. Nothing is stored.
	ErrUnknownEpisode = errors.New("sakur4: unknown episode")
	// ErrTooLarge is returned when a turn is larger than [MaxTurnBytes].
	ErrTooLarge = errors.New("sakur4: turn is too large")
	// ErrConflict is returned when [Turn.After] is not the session's last Seq: somebody else has committed since.
	ErrConflict = errors.New("sakur4: session has moved on")
	// ErrInvalidPin is returned when a pin's text cannot stand verbatim in a prompt: it is empty, no valid UTF-8, or holds control-token text.
	ErrInvalidPin = errors.New("sakur4: invalid pin")
)

// Errors of [Session.Window], [Session.Plan] and [Session.Compact].
var (
	// ErrPending is returned while results of the newest assistant turn are missing. The error is a [*PendingError].
	ErrPending = errors.New("sakur4: results are missing")
	// ErrNoTurn is returned when nobody is waiting for a reply: the session is empty, or the assistant has spoken last.
	ErrNoTurn = errors.New("sakur4: no turn to answer")
	// ErrBudgetOverflow is returned when no prompt fits the window. The error is a [*BudgetError]; nothing has changed.
	ErrBudgetOverflow = errors.New("sakur4: prompt does not fit the window")
	// ErrInvalidHead is returned when the tool list of a [Head] is not a JSON array.
	ErrInvalidHead = errors.New("sakur4: invalid head")
)

// Errors of [Session.Unfold] and [Session.RecallFold].
var (
	// ErrNoFold is returned when the session has no such fold, or it is closed already.
	ErrNoFold = errors.New("sakur4: no such fold")
)

// Errors of [Engine.Rederive].
var (
	// ErrStale is returned when a fact's source has changed since it was read. The error is a [*StaleError].
	ErrStale = errors.New("sakur4: source has changed")
	// ErrUnverified is returned when the file behind a fact cannot be read, so that nothing can be said of the fact.
	ErrUnverified = errors.New("sakur4: source cannot be read")
)

// Errors of [Session.Interpret].
var (
	// ErrAnchorMissing is returned when the anchor names no fact and no episode of the project. Nothing is stored.
	ErrAnchorMissing = errors.New("sakur4: the anchor does not exist")
	// ErrInvalidEntry is returned when a text says nothing, or repeats what this module rendered. Nothing is stored.
	ErrInvalidEntry = errors.New("sakur4: invalid interpretation")
)

// Errors of [Engine.Dream].
var (
	// ErrNotIdle is returned when the server is busy, or when it cannot be proved that it is not. The error says which.
	ErrNotIdle = errors.New("sakur4: the server is not known to be idle")
)

// EmbedderError says that the project's vectors are of another model, or of another length, than the embedder's: they cannot be compared. It is
// [ErrEmbedderChanged]. [Options.Reembed] makes them anew.
type EmbedderError struct {
	// Stored and StoredDim are the model and the length of the vectors that the project has, Model and Dim those of the embedder that was given.
	Stored    string
	StoredDim int
	Model     string
	Dim       int
}

// Error names both.
func (e *EmbedderError) Error() string {
	return fmt.Sprintf("sakur4: the project's vectors are of %q with %d numbers, the embedder's of %q with %d", e.Stored, e.StoredDim, e.Model, e.Dim)
}

// Is reports whether target is [ErrEmbedderChanged].
func (e *EmbedderError) Is(target error) bool { return target == ErrEmbedderChanged }

// Errors of [Session.Snapshot] and [Session.Restore]. They come as a [*SnapshotError].
var (
	// ErrSnapshotGone is returned when the server's file is missing, damaged, or another one than was saved. The slot is empty.
	ErrSnapshotGone = errors.New("sakur4: snapshot is gone")
	// ErrSnapshotForeign is returned when a slot or a snapshot is another session's or another model's. The slot is as it was.
	ErrSnapshotForeign = errors.New("sakur4: snapshot is foreign")
)

// SnapshotError says what is wrong with a snapshot. It is [ErrSnapshotGone] or [ErrSnapshotForeign], and wraps what the server said, if it said anything.
type SnapshotError struct {
	// ID is the snapshot, "" if it was to be taken; File is the server's file.
	ID   SnapshotID
	File string
	Msg  string

	is, err error
}

// Error names the snapshot and what is wrong.
func (e *SnapshotError) Error() string {
	id := ""
	if e.ID != "" {
		id = fmt.Sprintf(" %s", e.ID)
	}
	return fmt.Sprintf("%v:%s (file %q): %s", e.is, id, e.File, e.Msg)
}

// Is reports whether target is the error's kind.
func (e *SnapshotError) Is(target error) bool { return target == e.is && target != nil }

// Unwrap returns what the server said, nil if it did not.
func (e *SnapshotError) Unwrap() error { return e.err }

// PendingError says which calls of the newest assistant turn have no result yet. It is [ErrPending].
type PendingError struct {
	// Calls are their ids, as the model gave them, in the order of the turn.
	Calls []string
}

// Error lists the ids.
func (e *PendingError) Error() string {
	return fmt.Sprintf("sakur4: results are missing for %d calls: %s", len(e.Calls), strings.Join(e.Calls, ", "))
}

// Is reports whether target is [ErrPending].
func (e *PendingError) Is(target error) bool { return target == ErrPending }

// BudgetError says what does not fit into the window. It is [ErrBudgetOverflow].
type BudgetError struct {
	// Floor names what does not give way, such as "pins"; ID is the episode or pin that stands for it, "" if it is several.
	Floor, ID string
	// Need is the least size in tokens that a prompt could be planned with, Have what the window leaves for it. Sizes of stubs and notes are
	// estimates, so that a little less than Need may do.
	Need, Have int
}

// Error says what does not fit.
func (e *BudgetError) Error() string {
	id := ""
	if e.ID != "" {
		id = " (" + e.ID + ")"
	}
	return fmt.Sprintf("sakur4: %s%s does not fit the window: %d tokens needed, %d available", e.Floor, id, e.Need, e.Have)
}

// Is reports whether target is [ErrBudgetOverflow].
func (e *BudgetError) Is(target error) bool { return target == ErrBudgetOverflow }

// TurnError says which part of a [Turn], a [Usage] or a [Note] is wrong. It is [ErrInvalidTurn].
type TurnError struct {
	// Field is the field's name, with "Usage." or "Note." in front where it is one of theirs. ID is the call id or episode id that it names, "" if none.
	Field, ID string
	Msg       string
}

// Error names the field and the reason.
func (e *TurnError) Error() string {
	what, field := "turn", e.Field
	if of, rest, ok := strings.Cut(field, "."); ok {
		what, field = strings.ToLower(of), rest
	}
	if e.ID != "" {
		return fmt.Sprintf("sakur4: invalid %s: %s %q: %s", what, field, e.ID, e.Msg)
	}
	return fmt.Sprintf("sakur4: invalid %s: %s: %s", what, field, e.Msg)
}

// Is reports whether target is [ErrInvalidTurn].
func (e *TurnError) Is(target error) bool { return target == ErrInvalidTurn }

// notFoundIsNone drops the error of what is not there.
func notFoundIsNone(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
