package sakur4_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"sakur4"
)

// TestEncryptionKey: a session in an encrypted store goes on with its key and with no other, and nothing of it can be read beside it.
func TestEncryptionKey(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	o := fixed(4096)
	o.EncryptionKey = bytes.Repeat([]byte{1, 2, 3, 4}, 8)
	d := newTrial(t, path, o)
	d.pin("never push to the lighthouse")
	d.user("Where is the lighthouse?")
	for range 6 {
		d.read("kap-arkona.go", "lighthouse\n"+d.prose(3000))
		d.window()
	}
	d.reopen(path, o)
	d.window()
	hits, err := d.eng.Recall(t.Context(), sakur4.Query{Text: "lighthouse"})
	if err != nil || len(hits.Items) == 0 {
		t.Errorf("Recall() = %d hits, %v", len(hits.Items), err)
	}
	backup := filepath.Join(filepath.Dir(path), "copy.db")
	if err := d.eng.Backup(t.Context(), backup); err != nil {
		t.Fatalf("Backup() = %v", err)
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil || len(files) < 3 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"lighthouse", "kap-arkona", "deadlock", "render_state", "SQLite"} {
			if bytes.Contains(b, []byte(word)) {
				t.Errorf("%s holds %q", filepath.Base(f), word)
			}
		}
	}
	d.complete()
	if err := d.eng.Close(); err != nil {
		t.Fatal(err)
	}
	wrong := *o
	wrong.EncryptionKey = bytes.Repeat([]byte{9}, sakur4.KeyBytes)
	if _, err := sakur4.Open(t.Context(), path, &wrong); !errors.Is(err, sakur4.ErrWrongKey) {
		t.Errorf("Open() with another key = %v, want %v", err, sakur4.ErrWrongKey)
	}
	wrong.EncryptionKey = nil
	if _, err := sakur4.Open(t.Context(), path, &wrong); !errors.Is(err, sakur4.ErrCorrupt) {
		t.Errorf("Open() without a key = %v, want %v", err, sakur4.ErrCorrupt)
	}
	for _, bad := range [][]byte{{}, []byte("secret"), make([]byte, 33)} {
		wrong.EncryptionKey = bad
		if _, err := sakur4.Open(t.Context(), path, &wrong); err == nil || errors.Is(err, sakur4.ErrWrongKey) {
			t.Errorf("Open() with a key of %d bytes = %v, want a refusal", len(bad), err)
		}
	}
	eng := openEngine(t, backup, o)
	if report, err := eng.Verify(t.Context()); err != nil {
		t.Errorf("Verify() of the backup = %+v, %v", report, err)
	}
}
