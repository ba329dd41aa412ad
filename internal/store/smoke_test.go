package store_test

import (
	"path/filepath"
	"testing"

	"sakur4/internal/episode"
	"sakur4/internal/store"
)

func TestSmoke(t *testing.T) {
	for _, path := range []string{store.Memory, filepath.Join(t.TempDir(), "a b#?%.db")} {
		s, err := store.Open(t.Context(), store.Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Write(t.Context(), func(tx *store.Tx) error {
			if err := tx.EnsureProject("p", "/r"); err != nil {
				return err
			}
			if err := tx.EnsureSession("p", "s"); err != nil {
				return err
			}
			return tx.AppendEpisode(&episode.Record{ID: "ep_1", Project: "p", Session: "s", Role: episode.User, Content: "a\x00\xff", Calls: []episode.Call{{ID: "x\xff", Arguments: "<\x00"}}})
		})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Read(t.Context(), func(r *store.Reader) error {
			e, err := r.Episode("p", "ep_1")
			t.Logf("%+v %v", e, err)
			ss, err := r.Sessions("p")
			t.Logf("%+v %v", ss, err)
			v, err := s.Version(t.Context())
			t.Log(v, err)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
