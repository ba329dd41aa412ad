package llamacpp

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// The parsers of what a server and a model file say are not exported, so they are fuzzed from inside.

func FuzzParseHeader(f *testing.F) {
	good := binary.LittleEndian.AppendUint32([]byte("GGUF"), 3)
	good = binary.LittleEndian.AppendUint64(good, 0)
	good = binary.LittleEndian.AppendUint64(good, 1)
	good = append(binary.LittleEndian.AppendUint64(good, 20), "general.architecture"...)
	good = binary.LittleEndian.AppendUint32(good, 8)
	good = append(binary.LittleEndian.AppendUint64(good, 5), "llama"...)
	f.Add(good)
	f.Add(good[:30])
	axes := binary.LittleEndian.AppendUint64(append([]byte{}, good[:16]...), 2)
	axes = append(axes, good[24:]...)
	axes = append(binary.LittleEndian.AppendUint64(axes, 29), "llama.rope.dimension_sections"...)
	axes = binary.LittleEndian.AppendUint32(axes, ggufArray)
	axes = binary.LittleEndian.AppendUint32(axes, 5)
	axes = binary.LittleEndian.AppendUint64(axes, 2)
	axes = append(axes, 3, 0, 0, 0, 2, 0, 0, 0)
	if h, err := parseHeader(bytes.NewReader(axes)); err != nil || !h.Fixed {
		f.Errorf("parseHeader(two axes) = %+v, %v, want it fixed", h, err)
	}
	f.Add(axes)
	f.Add([]byte("GGUF\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parseHeader(bytes.NewReader(b))
		if (err == nil) == (h == header{}) {
			t.Errorf("parseHeader(%q) = %+v, %v", b, h, err)
		}
		if err != nil && !errors.Is(err, errHeader) {
			t.Errorf("parseHeader(%q) = %v, want errHeader", b, err)
		}
	})
}

// FuzzEvents: splitting a stream into events is the same however the stream is cut up, and data lines come through unchanged.
func FuzzEvents(f *testing.F) {
	f.Add("data: {}\n\ndata: [DONE]\n\n")
	f.Add(": ping\r\n\r\ndata:a\r\ndata: b\r\n\r\nerror: {}\n\n")
	f.Add("data\ndata: x")
	f.Fuzz(func(t *testing.T, s string) {
		read := func(r io.Reader) (events []string) {
			e := eventReader{r: bufio.NewReader(r)}
			for {
				data, err := e.next()
				if err != nil {
					return events
				}
				events = append(events, string(data))
			}
		}
		whole, split := read(strings.NewReader(s)), read(&oneByte{s: s})
		if strings.Join(whole, "\x00") != strings.Join(split, "\x00") {
			t.Errorf("events of %q: %q at once, %q byte by byte", s, whole, split)
		}
		if line := strings.NewReplacer("\n", "", "\r", "").Replace(s); true {
			got := read(strings.NewReader("data: " + line + "\n\n"))
			if len(got) != 1 || got[0] != line {
				t.Errorf("event of data %q = %q", line, got)
			}
		}
	})
}

type oneByte struct{ s string }

func (r *oneByte) Read(p []byte) (int, error) {
	if r.s == "" {
		return 0, io.EOF
	}
	p[0] = r.s[0]
	r.s = r.s[1:]
	return 1, nil
}

func FuzzChunk(f *testing.F) {
	f.Add([]byte(`{"choices":[{"index":0,"delta":{"content":"x","tool_calls":[{"index":0,"id":"a","function":{"name":"n","arguments":"{}"}}]}}]}`))
	f.Add([]byte(`{"error":"x"}`))
	f.Add([]byte(`{"choices":[],"usage":{"prompt_tokens":1},"timings":{"cache_n":1},"prompt_progress":{"total":1}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s stream
		d, err := s.chunk(b)
		if r := s.result(); err == nil && (r.Content != d.Content || r.Reasoning != d.Reasoning) {
			t.Errorf("chunk(%q) = %+v, result %+v", b, d, r)
		}
	})
}

// FuzzOriginalOffsets: cutting the text that is sent anywhere gives ascending places in the text that was given.
func FuzzOriginalOffsets(f *testing.F) {
	f.Add("a\xff\xfeé")
	f.Add("\xf0\x9f\x98")
	f.Fuzz(func(t *testing.T, s string) {
		sent := replaceBytes(s)
		if !utf8.ValidString(sent) {
			t.Fatalf("replaceBytes(%q) = %q", s, sent)
		}
		ends := make([]int, len(sent))
		for i := range ends {
			ends[i] = i + 1
		}
		originalOffsets(s, ends)
		before := 0
		for i, e := range ends {
			if e < before || e > len(s) {
				t.Fatalf("originalOffsets(%q) = %v: %d at %d", s, ends, e, i)
			}
			before = e
		}
		if len(s) > 0 && before != len(s) {
			t.Fatalf("originalOffsets(%q) ends at %d, want %d", s, before, len(s))
		}
	})
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte(`{"a":1,"a":2,"b":{"c":[]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var fs fields
		if err := fs.merge(b); err != nil {
			return
		}
		var again fields
		if err := again.merge(fs.body()); err != nil || !bytes.Equal(again.body(), fs.body()) {
			t.Errorf("merge(%q) = %q, merged again %q, %v", b, fs.body(), again.body(), err)
		}
	})
}
