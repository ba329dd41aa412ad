package sakur4_test

import (
	"os"
	"testing"

	"sakur4"
)

// TestPitfall29AppendsReadHistory counts what a turn asks of the tokenizer and of the server: as much after hundreds of turns as after few.
func TestPitfall29AppendsReadHistory(t *testing.T) {
	t.Parallel()
	server := &flaky{Server: newServer(1 << 20)}
	local := &counting{Tokenizer: sakur4.O200kBase()}
	d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: 1 << 20, Backend: server, Tokenizer: local})
	d.user("Read on.")
	cost := func(turns int) (rendered, tokenized, counted int64) {
		r, s, c := server.rendered.Load(), server.tokenized.Load(), local.bytes.Load()
		for range turns {
			d.read("f.go", d.prose(2000))
			d.windowUnchecked()
		}
		n := int64(turns)
		return (server.rendered.Load() - r) / n, (server.tokenized.Load() - s) / n, (local.bytes.Load() - c) / n
	}
	cost(20) // the first ones compare short counts with full ones
	r1, s1, c1 := cost(20)
	history := some(1, 60, 300)
	cost(history[len(history)-1])
	r2, s2, c2 := cost(20)
	t.Logf("bytes a turn after 40 turns: %d rendered, %d tokenized, %d counted locally; much later: %d, %d, %d", r1, s1, c1, r2, s2, c2)
	const slack = 1.1 // the ids and texts are not of one length
	for _, x := range []struct {
		what      string
		few, many int64
	}{{"rendered", r1, r2}, {"tokenized", s1, s2}, {"counted locally", c1, c2}} {
		if x.few == 0 || float64(x.many) > slack*float64(x.few) {
			t.Errorf("%d bytes a turn %s late in a session, %d after 40 turns", x.many, x.what, x.few)
		}
	}
}

// windowUnchecked asks for a prompt without looking at all of it, which would cost more than making it.
func (d *trial) windowUnchecked() *sakur4.Window {
	d.t.Helper()
	w, err := d.s.Window(d.t.Context(), d.head)
	if err != nil {
		d.t.Fatalf("Window() = %v", err)
	}
	return w
}

// TestPitfall29StoreSize bounds what a prompt adds to the store, whatever came before: the prompt itself is not stored, what is decided for it is.
// That the file is not much larger than what was recorded is tested where the store is.
func TestPitfall29StoreSize(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	d := newTrial(t, path, &sakur4.Options{Project: "p", Window: 8192})
	size := func() int {
		t.Helper()
		d.reopen(path, &sakur4.Options{Project: "p", Window: 8192}) // closing writes the log into the file
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return int(info.Size())
	}
	d.user("Read on.")
	for range 50 {
		d.read("f.txt", d.prose(3000))
	}
	d.windowUnchecked()
	before := size()
	prompts := func() int {
		for range 100 {
			d.read("f.txt", "ok")
			d.windowUnchecked()
		}
		after := size()
		each := (after - before) / 100
		before = after
		return each
	}
	first, second := prompts(), prompts()
	t.Logf("a turn of a few bytes with its prompt adds %d bytes, %d after 100 more", first, second)
	if most := 6000; first > most || second > most {
		t.Errorf("a turn of a few bytes with its prompt adds %d bytes, %d after 100 more, want at most %d", first, second, most)
	}
}

// TestPitfall32CountsAgain shows that a content is counted once, and that asking for the same prompt counts nothing.
func TestPitfall32CountsAgain(t *testing.T) {
	t.Parallel()
	server := &flaky{Server: newServer(32768)}
	local := &counting{Tokenizer: sakur4.O200kBase()}
	d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Backend: server, Tokenizer: local})
	d.user("Read on.")
	content := d.prose(4000)
	d.read("f.go", content)
	first := local.bytes.Load()
	for range 50 {
		d.read("f.go", content)
	}
	if more := local.bytes.Load() - first; more > 50*100 {
		t.Errorf("the same content 50 times more: %d bytes were counted, want none of its %d", more, len(content))
	}
	w := d.window()
	rendered, tokenized, counted := server.rendered.Load(), server.tokenized.Load(), local.bytes.Load()
	for range 20 {
		if again := d.window(); again.ID != w.ID {
			t.Errorf("Window() without a new turn = %s, want %s", again.ID, w.ID)
		}
		if _, err := d.eng.Status(t.Context()); err != nil {
			t.Errorf("Status() = %v", err)
		}
	}
	if server.rendered.Load() != rendered || server.tokenized.Load() != tokenized || local.bytes.Load() != counted {
		t.Errorf("the same prompt again: %d bytes rendered, %d tokenized, %d counted, want none", server.rendered.Load()-rendered,
			server.tokenized.Load()-tokenized, local.bytes.Load()-counted)
	}
}
