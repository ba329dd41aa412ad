package sakur4_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4"
	"sakur4/evict"
)

// TestNamesOfATrimmedResultAreThoseItShows weighs a large result as a whole in a compaction, shows its two ends in the next prompt, and lets it go: an engine that was
// there all the time then says of the names that left what one says that was opened meanwhile.
func TestNamesOfATrimmedResultAreThoseItShows(t *testing.T) {
	t.Parallel()
	run := func(reopened bool) (messages []string, text string) {
		path := storePath(t)
		options := func() *sakur4.Options {
			o := fixed(1 << 14)
			o.Policy = &evict.Policy{MaxResult: 0.05}
			return o
		}
		o := options()
		d := newTrial(t, path, o)
		lines := 20
		plain := func() string { // without a name, and no two alike
			lines++
			return strings.Repeat("the worker waits for its channel\n", lines)
		}
		d.user("Find out what the shards wait for.")
		for range 6 {
			d.read("pkg/small.go", plain())
			d.window()
		}
		middle := strings.Repeat("see only/in/the_middle.go and TheMiddleOfTheResult\n", 20)
		d.read("pkg/large.go", strings.Repeat(plain(), 5)+middle+strings.Repeat(plain(), 5))
		if p, err := d.compact(1500); err != nil || !p.Applied {
			t.Fatalf("Compact() = %+v, %v, want a compaction", p, err)
		}
		if w := d.window(); contains(w.Messages, "the_middle.go") || !contains(w.Messages, `kind="trimmed"`) {
			t.Fatal("the large result is not cut")
		}
		for range 12 {
			d.read("pkg/small.go", plain())
			d.window()
		}
		if reopened {
			again := options()
			again.NewID, again.Now = o.NewID, o.Now
			d.reopen(path, again)
			d.window()
		}
		if p, err := d.compact(1200); err != nil || !p.Applied {
			t.Fatalf("Compact() = %+v, %v, want a compaction", p, err)
		}
		d.read("pkg/small.go", "ok")
		w := d.window()
		return asJSON(t, w.Messages), texts(w.Messages)
	}
	want, _ := run(true)
	got, text := run(false)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the prompt after a compaction (-opened anew +from memory):\n%s", diff)
	}
	if !strings.Contains(text, "pkg/large.go") || strings.Contains(text, "the_middle.go") {
		t.Errorf("the archive note names what was never shown, or does not name what was:\n%s", text)
	}
}
