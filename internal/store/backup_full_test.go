//go:build unix

package store_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"sakur4/internal/store"
)

// smallFilesVariable makes the test binary somebody whose files can be no larger than a few pages.
const smallFilesVariable = "SAKUR4_TEST_STORE_SMALL_FILES"

// TestAFailedBackupLeavesNoFile runs itself again under a limit, because a limit is the whole process's.
func TestAFailedBackupLeavesNoFile(t *testing.T) {
	if dir := os.Getenv(smallFilesVariable); dir != "" {
		signal.Ignore(syscall.SIGXFSZ)
		s, err := store.Open(t.Context(), store.Config{Path: filepath.Join(dir, "store.db"), ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 16 << 10, Max: 16 << 10}); err != nil {
			t.Fatal(err)
		}
		if err := s.Backup(t.Context(), filepath.Join(dir, "copies", "copy.db")); err == nil {
			t.Error("Backup() into files that are too small = nil, want an error")
		}
		return
	}
	t.Parallel()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), store.Config{Path: filepath.Join(dir, "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	ensure(t, s, "p", "s")
	// More than SQLite holds in memory, so that it writes pages before the copy is whole.
	noise := make([]byte, 4<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	add(t, s, "p", "s", "ep_1", string(noise))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	copies := filepath.Join(dir, "copies")
	if err := os.Mkdir(copies, 0o700); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestAFailedBackupLeavesNoFile$")
	cmd.Env = append(os.Environ(), smallFilesVariable+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the backup: %v\n%s", err, out)
	}
	left, err := os.ReadDir(copies)
	if err != nil || len(left) > 0 {
		t.Errorf("a backup that failed left %v, %v, want nothing", left, err)
	}
}
