package llamatest_test

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/llamatest"
)

// reader reads just what a model file holds; it fails the test where the file ends too early.
type reader struct {
	t    *testing.T
	data []byte
	pos  int
}

func (r *reader) take(n int) []byte {
	r.t.Helper()
	if r.pos+n > len(r.data) {
		r.t.Fatalf("file ends at %d, wanted %d bytes at %d", len(r.data), n, r.pos)
	}
	r.pos += n
	return r.data[r.pos-n : r.pos]
}

func (r *reader) u32() uint32  { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reader) u64() uint64  { return binary.LittleEndian.Uint64(r.take(8)) }
func (r *reader) text() string { return string(r.take(int(r.u64()))) }

func (r *reader) value(kind uint32) any {
	switch kind {
	case 4, 5, 6:
		return r.u32()
	case 7:
		return r.take(1)[0] == 1
	case 8:
		return r.text()
	case 9:
		element, n := r.u32(), r.u64()
		list := make([]any, 0, n)
		for range n {
			list = append(list, r.value(element))
		}
		return list
	}
	r.t.Fatalf("value of kind %d at %d", kind, r.pos)
	return nil
}

func write(t *testing.T, m llamatest.Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := llamatest.WriteModel(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestWriteModel reads a model back: magic, metadata, and tensors that lie aligned behind each other up to the end of the file.
func TestWriteModel(t *testing.T) {
	t.Parallel()
	for _, arch := range []llamatest.Arch{llamatest.Full, llamatest.Sliding, llamatest.Axes} {
		t.Run(string(arch), func(t *testing.T) {
			t.Parallel()
			r := &reader{t: t, data: write(t, llamatest.Model{Arch: arch, Context: 5000, SlidingWindow: 77, Template: llamatest.NoSystem})}
			if magic, version := string(r.take(4)), r.u32(); magic != "GGUF" || version != 3 {
				t.Fatalf("magic %q, version %d, want GGUF, 3", magic, version)
			}
			tensors, keys := r.u64(), r.u64()
			meta := map[string]any{}
			for range keys {
				name := r.text()
				meta[name] = r.value(r.u32())
			}
			name := map[llamatest.Arch]string{llamatest.Full: "llama", llamatest.Sliding: "gemma3", llamatest.Axes: "qwen3vl"}[arch]
			want := map[string]any{
				"general.architecture": name, name + ".context_length": uint32(5000), name + ".block_count": uint32(2),
				"tokenizer.chat_template": llamatest.NoSystem, "tokenizer.ggml.add_bos_token": false,
			}
			if arch == llamatest.Sliding {
				want[name+".attention.sliding_window"] = uint32(77)
			}
			for key, value := range want {
				if diff := cmp.Diff(value, meta[key]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", key, diff)
				}
			}
			tokens := meta["tokenizer.ggml.tokens"].([]any)
			for _, mark := range []string{"<|im_start|>", "<|im_end|>", "<|endoftext|>", "<start_of_turn>", "<end_of_turn>"} {
				id := slices.Index(tokens, any(mark))
				if id < 0 || meta["tokenizer.ggml.token_type"].([]any)[id] != uint32(3) {
					t.Errorf("token %q at %d is not a control token", mark, id)
				}
			}
			if slices.Contains(tokens, any("[INST]")) {
				t.Error("a mark that the template does not use is a token")
			}
			for _, merge := range meta["tokenizer.ggml.merges"].([]any) {
				if left, right, ok := strings.Cut(merge.(string), " "); !ok || !slices.Contains(tokens, any(left+right)) {
					t.Errorf("merge %q gives no token", merge)
				}
			}
			next := uint64(0)
			for range tensors {
				name, size := r.text(), uint64(4)
				for range r.u32() {
					size *= r.u64()
				}
				if kind, offset := r.u32(), r.u64(); kind != 0 || offset != next {
					t.Errorf("tensor %s: type %d at %d, want 0 at %d", name, kind, offset, next)
				}
				next = (next + size + 31) / 32 * 32
			}
			start := (r.pos + 31) / 32 * 32
			if got, want := len(r.data), start+int(next); got != want {
				t.Errorf("file has %d bytes, want %d", got, want)
			}
		})
	}
}

// TestWriteModelIsDeterministic shows that the same description gives the same file and another seed another one.
func TestWriteModelIsDeterministic(t *testing.T) {
	t.Parallel()
	a, b, c := write(t, llamatest.Model{}), write(t, llamatest.Model{}), write(t, llamatest.Model{Seed: 1})
	if !bytes.Equal(a, b) {
		t.Error("two files of one description differ")
	}
	if bytes.Equal(a, c) {
		t.Error("two seeds give the same file")
	}
}

// TestModelFileRefuses shows the errors for what cannot be written.
func TestModelFileRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		path  string
		model llamatest.Model
	}{
		{filepath.Join(dir, "a"), llamatest.Model{Arch: "hybrid"}},
		{filepath.Join(dir, "b"), llamatest.Model{Vocab: "words"}},
		{filepath.Join(dir, "none", "c"), llamatest.Model{}},
	} {
		if err := llamatest.ModelFile(c.path, c.model); err == nil || !strings.HasPrefix(err.Error(), "llamatest: ") {
			t.Errorf("ModelFile(%q, %+v) = %v, want an error of this package", c.path, c.model, err)
		}
	}
}
