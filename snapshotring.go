package sakur4

import (
	"cmp"
	"slices"

	"sakur4/internal/store"
)

// DefaultSnapshots is how many snapshots of a session are kept by default.
const DefaultSnapshots = 4

// SnapshotPolicy bounds what the snapshots of one session take on the server's disk. The zero value means the defaults.
//
// A server has no call that deletes a file, so the files of old snapshots are written over: a session writes at most Keep + 1 of them, the one more
// so that the oldest is not given up before the new one is whole. Files that are not wanted any more are emptied by the next [Session.Restore], and by
// [Session.Snapshot] where they take more than MaxBytes: it then has the server read back what it has just saved.
type SnapshotPolicy struct {
	// Keep is how many snapshots of a session can be restored; 0 is [DefaultSnapshots].
	Keep int
	// MaxBytes is what their files may take together, in bytes; 0 is no bound. Older snapshots give way to it, also while a new one is written, whose
	// size is estimated from the one before; the newest is kept whatever its size.
	MaxBytes int64
}

// snapshotPlan says which file the next snapshot goes to and which snapshots can then no longer be restored.
type snapshotPlan struct {
	// file is one that is there; "" asks for a new one.
	file string
	// gone are the snapshots that are given up once the new one is written, oldest first. The one in file is none of them.
	gone []store.SnapshotRow
}

// planSnapshot decides where a snapshot of about that many bytes goes. rows are the session's files.
func planSnapshot(rows []store.SnapshotRow, p SnapshotPolicy, bytes int64) snapshotPlan {
	keep := p.Keep
	if keep == 0 {
		keep = DefaultSnapshots
	}
	var held, spare []store.SnapshotRow
	total := bytes
	for _, r := range rows {
		total += r.Bytes
		if r.ID == "" {
			spare = append(spare, r)
		} else {
			held = append(held, r)
		}
	}
	// The largest of the files without use comes first: writing over it gives back the most.
	slices.SortFunc(spare, func(a, b store.SnapshotRow) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.File, b.File))
	})
	slices.SortFunc(held, func(a, b store.SnapshotRow) int {
		return cmp.Or(cmp.Compare(a.Ord, b.Ord), cmp.Compare(a.File, b.File))
	})
	var plan snapshotPlan
	if len(spare) > 0 {
		plan.file = spare[0].File
		total -= spare[0].Bytes
	}
	over := func() bool { return p.MaxBytes > 0 && total > p.MaxBytes }
	if plan.file == "" && over() && len(held) > 0 {
		// There is no room for one more file.
		plan.file = held[0].File
		total -= held[0].Bytes
		held = held[1:]
	}
	for len(held) > 0 && (len(held) >= keep || over()) {
		plan.gone = append(plan.gone, held[0])
		total -= held[0].Bytes
		held = held[1:]
	}
	return plan
}

// snapshotBytes estimates the size of a file for that many tokens by the newest file that holds any; 0 is unknown.
func snapshotBytes(rows []store.SnapshotRow, tokens int) int64 {
	for _, r := range slices.Backward(rows) {
		if r.ID != "" && r.Tokens > 0 {
			return int64(float64(r.Bytes) / float64(r.Tokens) * float64(tokens))
		}
	}
	return 0
}
