package sakur4_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"sakur4"
	"sakur4/evict"
)

// TestAnOptionThatCannotBeHonouredIsUnsupported: whatever is wrong with it, one error tells.
func TestAnOptionThatCannotBeHonouredIsUnsupported(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]sakur4.Options{
		"two projects":      {Project: "p", ProjectRoot: t.TempDir()},
		"a negative window": {Project: "p", Window: -1},
		"no room":           {Project: "p", Window: 10, Reserve: 20},
		"negative Keep":     {Project: "p", Snapshots: sakur4.SnapshotPolicy{Keep: -1}},
		"a short key":       {Project: "p", EncryptionKey: []byte("secret")},
		"Reembed alone":     {Project: "p", Reembed: true},
		"a policy":          {Project: "p", Policy: &evict.Policy{Trigger: -1}},
	} {
		e, err := sakur4.Open(t.Context(), ":memory:", &o)
		if !errors.Is(err, sakur4.ErrUnsupported) || !strings.HasPrefix(err.Error(), "sakur4: not supported: options: ") {
			t.Errorf("Open() with %s = %v, want %v", name, err, sakur4.ErrUnsupported)
		}
		if err == nil {
			e.Close()
		}
	}
}

// TestErrorsNameThisPackage: what is below it is nobody's concern.
func TestErrorsNameThisPackage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	e, err := sakur4.Open(t.Context(), path, &sakur4.Options{Project: "p"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, noPath := sakur4.Open(t.Context(), "", nil)
	exists := e.Backup(t.Context(), path)
	if !errors.Is(exists, fs.ErrExist) {
		t.Errorf("Backup() to a file that is there = %v, want %v", exists, fs.ErrExist)
	}
	for call, err := range map[string]error{"Open() without a path": noPath, "Backup() to a file that is there": exists, "Backup() without a path": e.Backup(t.Context(), "")} {
		if err == nil || !strings.HasPrefix(err.Error(), "sakur4: ") || strings.Contains(err.Error(), "store: ") {
			t.Errorf("%s = %v, want an error of this package's", call, err)
		}
	}
}
