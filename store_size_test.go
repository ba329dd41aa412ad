package sakur4_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"sakur4"
	"sakur4/internal/storetest"
)

// language makes texts of words of which few are frequent and many rare, as in prose and logs.
type language struct {
	random *rand.Rand
	zipf   *rand.Zipf
}

func newLanguage(seed uint64) *language {
	r := rand.New(rand.NewPCG(seed, 1))
	return &language{r, rand.NewZipf(r, 1.1, 3, 20_000)}
}

// word returns the n-th word of the language: three letters or more, the frequent ones short.
func (l *language) word(n uint64) string {
	var b strings.Builder
	for n += 7; n > 0; n /= 19 {
		b.WriteByte("bcdfghjklmnprstvwxz"[n%19])
		b.WriteByte("aeiou"[n%5])
	}
	return b.String()
}

// text returns n bytes.
func (l *language) text(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(l.word(l.zipf.Uint64()))
		b.WriteByte(" \n"[l.random.IntN(9)/8])
	}
	return b.String()[:n]
}

// fours takes each four bytes for a token: what is stored is of the same size, and counting takes no time.
type fours struct{}

func (fours) Name() string { return "fours" }

func (fours) Count(text string) int { return (len(text) + 3) / 4 }

func (f fours) Encode(text string) []int32 {
	ids, _ := f.Spans(text)
	return ids
}

func (fours) Spans(text string) (ids []int32, ends []int) {
	for i := 0; i < len(text); i += 4 {
		end := min(i+4, len(text))
		id := int32(0)
		for _, b := range []byte(text[i:end]) {
			id = id<<7 | int32(b&0x7f)
		}
		ids, ends = append(ids, id), append(ends, end)
	}
	return ids, ends
}

// TestPitfall29StoreIsNotMuchLargerThanItsContent records a session as an agent's is: results of 0.5 to 6 KB, calls, a user turn now and then, and a prompt
// after each result, with the compactions that it needs. What may be subtracted is as the rule says it.
func TestPitfall29StoreIsNotMuchLargerThanItsContent(t *testing.T) {
	if testing.Short() {
		t.Skip("800 prompts")
	}
	t.Parallel()
	ctx := t.Context()
	path := storePath(t)
	eng, err := sakur4.Open(ctx, path, &sakur4.Options{Project: "p", Tokenizer: fours{}})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	s := eng.Session("session")
	l := newLanguage(1)
	content, compactions := 0, 0
	commit := func(turn sakur4.Turn) {
		t.Helper()
		content += len(turn.Content)
		for _, c := range turn.ToolCalls {
			content += len(c.Name) + len(c.Arguments)
		}
		if _, err := s.Commit(ctx, turn); err != nil {
			t.Fatalf("Commit() = %v", err)
		}
	}
	for i := range 800 {
		if i%10 == 0 {
			commit(sakur4.Turn{Role: sakur4.RoleUser, Content: l.text(100 + l.random.IntN(300))})
		}
		id := fmt.Sprint("call_", i)
		commit(sakur4.Turn{Role: sakur4.RoleAssistant, Content: l.text(l.random.IntN(200)), ToolCalls: []sakur4.ToolCall{
			{ID: id, Name: "read_file", Arguments: fmt.Sprintf(`{"path": "internal/part%d/file%d.go"}`, l.random.IntN(20), l.random.IntN(100))}}})
		commit(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: id, Content: l.text(500 + l.random.IntN(5500))})
		w, err := s.Window(ctx, sakur4.Head{System: "You are a careful engineer."})
		if err != nil {
			t.Fatalf("Window() = %v", err)
		}
		if w.Plan != nil {
			compactions++
		}
	}
	if _, err := eng.Recall(ctx, sakur4.Query{Text: l.word(100)}); err != nil { // completes the index
		t.Fatalf("Recall() = %v", err)
	}
	ratio := func() float64 {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return float64(info.Size()) / float64(content)
	}
	open := ratio() // without the log beside it, which is bounded; how far the index has been merged beside the calls is a matter of chance
	if err := eng.Close(); err != nil {
		t.Fatalf("Close() = %v", err)
	}
	all := ratio()
	raw := storetest.Raw(t, path)
	drop := func(tables ...string) float64 {
		t.Helper()
		for _, name := range tables {
			if err := raw.Exec(`DROP TABLE ` + name); err != nil {
				t.Fatal(err)
			}
		}
		if err := raw.Exec(`VACUUM; PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
			t.Fatal(err)
		}
		return ratio()
	}
	withoutReceipts := drop("receipt")
	withoutIndex := drop("episode_postings", "fact_postings", "entry_postings", "episode_fts", "fact_fts", "entry_fts", "episode_doc", "fact_doc", "entry_doc")
	t.Logf("%d bytes of content, %d compactions: the file is %.2f times that while open, %.2f after Close; without receipts %.2f, without receipts and index %.2f",
		content, compactions, open, all, withoutReceipts, withoutIndex)
	if open > 1.9 || all > 1.6 || withoutIndex > 1.3 || compactions < 20 {
		t.Errorf("the file is %.2f times its content while open and %.2f after Close, without receipts and index %.2f, %d compactions; want at most 1.9, 1.6 and 1.3, at least 20",
			open, all, withoutIndex, compactions)
	}
}
