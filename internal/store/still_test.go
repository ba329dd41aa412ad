//go:build unix

package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sakur4/internal/store"
	"sakur4/internal/storetest"
)

// strangerVariable makes the test binary somebody who may read a store and write nothing beside it.
const strangerVariable = "SAKUR4_TEST_STORE_STRANGER"

// TestReadOnlyWithoutTheRightToWrite runs itself again as another user, because the superuser may write anywhere.
func TestReadOnlyWithoutTheRightToWrite(t *testing.T) {
	if path := os.Getenv(strangerVariable); path != "" {
		stranger(t, path)
		return
	}
	dir, err := os.MkdirTemp("", "sakur4-still-") // t.TempDir's parents let nobody else in
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	defer os.Chmod(dir, 0o700)
	path := filepath.Join(dir, "store.db")
	s, err := store.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	ensure(t, s, "p", "s")
	add(t, s, "p", "s", "ep_1", "a needle in here")
	for _, p := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Chmod(p, 0o444); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	ask := func() string {
		t.Helper()
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestReadOnlyWithoutTheRightToWrite$")
		cmd.Env = append(os.Environ(), strangerVariable+"="+path)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("the stranger failed: %v\n%s", err, out)
		}
		return string(out)
	}
	if out := ask(); !strings.Contains(out, "found ep_1") && !strings.Contains(out, "locked") {
		t.Errorf("a store that is being written was neither read nor refused:\n%s", out)
	}
	_ = os.Chmod(dir, 0o755)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	if out := ask(); !strings.Contains(out, "found ep_1") {
		t.Errorf("a store that nobody writes was not read:\n%s", out)
	}
	_ = os.Chmod(dir, 0o755)
	if err := os.WriteFile(path+"-wal", []byte("not brought in"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	if out := ask(); !strings.Contains(out, "locked") || strings.Contains(out, "found") {
		t.Errorf("a store with a log that cannot be read was not refused:\n%s", out)
	}
}

func stranger(t *testing.T, path string) {
	if os.Getuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			t.Fatal(err)
		}
	}
	s, err := store.Open(context.Background(), store.Config{Path: path, ReadOnly: true})
	if err != nil {
		if errors.Is(err, store.ErrLocked) {
			fmt.Println("locked:", err)
			return
		}
		t.Fatalf("Open(read-only) = %v", err)
	}
	defer s.Close()
	for range 2 {
		read(t, s, func(r *store.Reader) error {
			found, err := r.SearchEpisodes(store.SearchQuery{Project: "p", Terms: []string{"needle"}, K: 1})
			for _, f := range found {
				fmt.Println("found", f.ID)
			}
			return err
		})
	}
	if report, err := s.Verify(context.Background()); err != nil || len(report.Problems) > 0 {
		t.Errorf("Verify() = %v, %v", report.Problems, err)
	}
}

// TestAStillStoreSeesThatItIsWritten: where no lock can be taken, a changed file is noticed.
func TestAStillStoreSeesThatItIsWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	w := storetest.Open(t, store.Config{Path: path})
	ensure(t, w, "p", "s")
	add(t, w, "p", "s", "ep_1", "one")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s := storetest.Open(t, store.Config{Path: path, ReadOnly: true})
	store.Still(s)
	write := func(id string) {
		t.Helper()
		w, err := store.Open(t.Context(), store.Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		add(t, w, "p", "s", id, strings.Repeat(id, 2000))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	read(t, s, func(r *store.Reader) error {
		_, err := r.Episode("p", "ep_1")
		return err
	})
	write("ep_2")
	read(t, s, func(r *store.Reader) error {
		_, err := r.Episode("p", "ep_2")
		return err
	})
	err := s.Read(t.Context(), func(r *store.Reader) error {
		_, err := r.Episode("p", "ep_1")
		write("ep_3")
		return err
	})
	if !errors.Is(err, store.ErrLocked) {
		t.Errorf("Read() while the file is written = %v, want %v", err, store.ErrLocked)
	}
}
