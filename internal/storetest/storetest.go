// Package storetest gives tests a store that is checked when they end.
package storetest

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"sakur4/internal/store"
)

// Open opens a store, in a new file when cfg names none. When the test ends the store is verified as a whole and closed.
// A test that closes it earlier is verified all the same, through a second opening, where there is a file.
func Open(t testing.TB, cfg store.Config) *store.Store {
	t.Helper()
	if cfg.Path == "" {
		cfg.Path = filepath.Join(t.TempDir(), "store.db")
	}
	s, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("store.Open(%q) = %v", cfg.Path, err)
	}
	t.Cleanup(func() {
		check(t, s, cfg)
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return s
}

func check(t testing.TB, s *store.Store, cfg store.Config) {
	t.Helper()
	ctx := context.Background() // The test's own has ended.
	if err := s.Read(ctx, func(*store.Reader) error { return nil }); err != nil {
		if cfg.Path == store.Memory {
			return
		}
		if s, err = store.Open(ctx, cfg); err != nil {
			t.Errorf("store.Open(%q) again = %v", cfg.Path, err)
			return
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Errorf("Close() = %v", err)
			}
		}()
	}
	report, err := s.Verify(ctx)
	if err != nil {
		t.Errorf("Verify() = %v", err)
	}
	if len(report.Problems) > 0 {
		t.Errorf("Verify() found:\n  %s", strings.Join(report.Problems, "\n  "))
	}
}

// Raw opens a plain connection to a store's file, past the package that guards it.
func Raw(t testing.TB, path string) *store.Raw {
	t.Helper()
	r, err := store.OpenRaw(t.Context(), path)
	if err != nil {
		t.Fatalf("store.OpenRaw(%q) = %v", path, err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Raw.Close() = %v", err)
		}
	})
	return r
}
