package embedded

import (
	"slices"
	"strings"
	"sync"
)

// firstControl is the id of the first control token; the vocabulary's own ids lie below.
const firstControl = 1 << 24

// The control tokens of the template, longest first.
const (
	endOfText = "<|endoftext|>"
	turnStart = "<|im_start|>"
	turnEnd   = "<|im_end|>"
)

func controlTexts() []string { return []string{endOfText, turnStart, turnEnd} }

// maxCached bounds the text whose tokens are kept, in bytes: a few long prompts.
const maxCached = 16 << 20

// vocabulary tokenizes text with control tokens. Between two control tokens the text is independent of what is around it, so its tokens are
// kept: a prompt is tokenized again on every request and most of it is old.
type vocabulary struct {
	t Tokenizer

	// mu guards what follows.
	mu    sync.Mutex
	kept  map[string][]int32
	bytes int
}

// segments calls yield for each stretch of ordinary text and each control token of text, with its place.
func segments(text string, yield func(at, end, control int)) {
	controls := controlTexts()
	at := 0
	for i := 0; i < len(text); {
		// All control texts begin with the same character, so that one scan finds them all.
		k := strings.IndexByte(text[i:], controls[0][0])
		if k < 0 {
			break
		}
		i += k
		which := slices.IndexFunc(controls, func(c string) bool { return strings.HasPrefix(text[i:], c) })
		if which < 0 {
			i++
			continue
		}
		if i > at {
			yield(at, i, -1)
		}
		at = i + len(controls[which])
		yield(i, at, which)
		i = at
	}
	if at < len(text) {
		yield(at, len(text), -1)
	}
}

func (v *vocabulary) encode(text string) []int32 {
	var ids []int32
	segments(text, func(at, end, control int) {
		if control >= 0 {
			ids = append(ids, int32(firstControl+control))
			return
		}
		ids = append(ids, v.ordinary(text[at:end])...)
	})
	return ids
}

func (v *vocabulary) ordinary(text string) []int32 {
	v.mu.Lock()
	ids, ok := v.kept[text]
	v.mu.Unlock()
	if ok {
		return ids
	}
	ids = v.t.Encode(text)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.kept == nil || v.bytes+len(text) > maxCached {
		v.kept, v.bytes = make(map[string][]int32), 0
	}
	v.kept[strings.Clone(text)] = ids
	v.bytes += len(text)
	return ids
}

func (v *vocabulary) spans(text string) (ids []int32, ends []int) {
	segments(text, func(at, end, control int) {
		if control >= 0 {
			ids, ends = append(ids, int32(firstControl+control)), append(ends, end)
			return
		}
		some, places := v.t.Spans(text[at:end])
		ids = append(ids, some...)
		for _, p := range places {
			ends = append(ends, at+p)
		}
	})
	return ids, ends
}

// bytesTokenizer makes every byte a token.
type bytesTokenizer struct{}

func (bytesTokenizer) Name() string { return "bytes" }

func (bytesTokenizer) Encode(text string) []int32 {
	ids := make([]int32, len(text))
	for i := range len(text) {
		ids[i] = int32(text[i])
	}
	return ids
}

func (t bytesTokenizer) Spans(text string) (ids []int32, ends []int) {
	ends = make([]int, len(text))
	for i := range ends {
		ends[i] = i + 1
	}
	return t.Encode(text), ends
}
