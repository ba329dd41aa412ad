package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/store"
	"sakur4/symbolic"
)

// content is what the facts of these tests were read in.
const content = "{\"a\": \"one\", \"b\": 2, \"c\": \"d\\u00e9j\\u00e0\"}"

func batchOfFacts() []symbolic.Row {
	hex := func(c string, n int) string { return strings.Repeat(c, n) }
	return []symbolic.Row{
		{FactID: "sym_" + hex("a", 32), Project: "p", QualifiedName: "fetch#01234567/a", Kind: "json_field", Source: "json", Value: "one", ASTHash: hex("1", 64), Episode: "ep", Offset: 6, Line: 1},
		{FactID: "sym_" + hex("b", 32), Project: "p", QualifiedName: "fetch#01234567/b", Kind: "json_field", Source: "json", Value: "2", ASTHash: hex("2", 64), Episode: "ep", Offset: 18, Line: 1},
		{FactID: "sym_" + hex("c", 32), Project: "p", QualifiedName: "fetch#01234567/c", Kind: "tool_output_field", FilePath: "a.txt", Source: "fields", Value: "d\u00e9j\u00e0", ASTHash: hex("3", 64), Episode: "ep", Offset: 26, Line: 1},
		{FactID: "sym_of_another_form", Project: "p", QualifiedName: "", Kind: "tool_output_field", FilePath: "a.txt", Source: "fields", Value: "", ASTHash: "short", Episode: "ep", Offset: -1, Line: 1 << 40},
		{FactID: "sym_" + hex("A", 32), Project: "p", QualifiedName: "\xff\x00", Kind: "csv_column", Source: "csv", Value: "elsewhere", ASTHash: hex("F", 64), Episode: "ep", Offset: 1 << 40, Line: -1},
		{FactID: "", Project: "p", QualifiedName: "\xff", Kind: "", Source: "", Value: content, ASTHash: "", Episode: "ep", Offset: 0, Line: 0},
	}
}

func TestFactsOfAResultAreOneText(t *testing.T) {
	t.Parallel()
	want := batchOfFacts()
	batch := store.EncodeFacts(7, content, want)
	got, err := store.DecodeFacts(batch, 7, "p", "ep", content)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatalf("DecodeFacts(EncodeFacts(…)), %v (-want +got):\n%s", err, diff)
	}
	if strings.Contains(string(batch), "one") || !strings.Contains(string(batch), "elsewhere") {
		t.Error("a value that stands in the result is written again, or one that does not stand there is left out")
	}
	// Every cut is an error that says where.
	for n := range batch {
		if got, err := store.DecodeFacts(batch[:n], 7, "p", "ep", content); !errors.Is(err, store.ErrBatch) || !strings.Contains(err.Error(), "at byte ") {
			t.Errorf("DecodeFacts of the first %d of %d bytes = %d facts, %v, want ErrBatch and where", n, len(batch), len(got), err)
		}
	}
	for name, f := range map[string]func() ([]symbolic.Row, error){
		"another position": func() ([]symbolic.Row, error) { return store.DecodeFacts(batch, 8, "p", "ep", content) },
		"a shorter result": func() ([]symbolic.Row, error) { return store.DecodeFacts(batch, 7, "p", "ep", content[:8]) },
		"more bytes": func() ([]symbolic.Row, error) {
			return store.DecodeFacts(append(batch[:len(batch):len(batch)], 0), 7, "p", "ep", content)
		},
	} {
		if got, err := f(); !errors.Is(err, store.ErrBatch) || got != nil {
			t.Errorf("%s: DecodeFacts() = %d facts, %v, want ErrBatch", name, len(got), err)
		}
	}
}

func FuzzDecodeFacts(f *testing.F) {
	whole := store.EncodeFacts(7, content, batchOfFacts())
	f.Add(whole, content)
	f.Add(whole[:40], content)
	f.Add([]byte("\x07\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "")
	f.Fuzz(func(t *testing.T, batch []byte, content string) {
		list, err := store.DecodeFacts(batch, 7, "p", "ep", content)
		if err != nil {
			if !errors.Is(err, store.ErrBatch) || list != nil {
				t.Errorf("DecodeFacts() = %d facts, %v, want none and ErrBatch", len(list), err)
			}
			return
		}
		again, err := store.DecodeFacts(store.EncodeFacts(7, content, list), 7, "p", "ep", content)
		if diff := cmp.Diff(list, again); diff != "" || err != nil {
			t.Errorf("DecodeFacts(EncodeFacts(…)), %v (-want +got):\n%s", err, diff)
		}
	})
}
