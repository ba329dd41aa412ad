package llamacpp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"sakur4/boundary"
)

type tokenizeRequest struct {
	Content      string `json:"content"`
	AddSpecial   bool   `json:"add_special"`
	ParseSpecial bool   `json:"parse_special"`
	WithPieces   bool   `json:"with_pieces,omitempty"`
	Model        string `json:"model,omitempty"`
}

// Tokens returns the token ids of text with control tokens parsed, adding none. Each byte of text that is not valid UTF-8 counts as U+FFFD.
func (c *Client) Tokens(ctx context.Context, text string) ([]int32, error) {
	return c.Tokenize(ctx, text, false)
}

// Tokenize returns the token ids of text with control tokens parsed. With addSpecial the tokenizer adds what it puts in front of every prompt.
func (c *Client) Tokenize(ctx context.Context, text string, addSpecial bool) ([]int32, error) {
	body, err := encode(tokenizeRequest{Content: text, AddSpecial: addSpecial, ParseSpecial: true, Model: c.opts.Model})
	if err != nil {
		return nil, err
	}
	var out struct {
		Tokens []int32 `json:"tokens"`
	}
	if err := c.call(ctx, "/tokenize", body, &out); err != nil {
		return nil, err
	}
	return out.Tokens, nil
}

// TokenSpans returns the token ids of text, as [Client.Tokens] does, and for each the byte offset in text at which it ends.
// It is [boundary.ErrUnsupported] with a tokenizer that changes the text, so that its tokens have no place in it.
func (c *Client) TokenSpans(ctx context.Context, text string) (ids []int32, ends []int, err error) {
	body, err := encode(tokenizeRequest{Content: text, ParseSpecial: true, WithPieces: true, Model: c.opts.Model})
	if err != nil {
		return nil, nil, err
	}
	var out struct {
		Tokens []struct {
			ID    int32           `json:"id"`
			Piece json.RawMessage `json:"piece"`
		} `json:"tokens"`
	}
	if err := c.call(ctx, "/tokenize", body, &out); err != nil {
		return nil, nil, err
	}
	sent := text
	if !utf8.ValidString(text) {
		sent = replaceBytes(text)
	}
	ids, ends = make([]int32, len(out.Tokens)), make([]int, len(out.Tokens))
	at := 0
	for i, t := range out.Tokens {
		piece, err := pieceBytes(t.Piece)
		if err != nil {
			return nil, nil, fmt.Errorf("llamacpp: /tokenize: piece %d: %w: %w", i, err, boundary.ErrUnavailable)
		}
		if i == 0 && !strings.HasPrefix(sent, piece) {
			// Some vocabularies put a space in front of every text.
			piece = strings.TrimPrefix(piece, " ")
		}
		if !strings.HasPrefix(sent[at:], piece) {
			return nil, nil, fmt.Errorf("llamacpp: /tokenize: token %d %q is not the text at byte %d: %w", i, piece, at, boundary.ErrUnsupported)
		}
		at += len(piece)
		ids[i], ends[i] = t.ID, at
	}
	if at != len(sent) {
		return nil, nil, fmt.Errorf("llamacpp: /tokenize: the tokens end at byte %d of %d: %w", at, len(sent), boundary.ErrUnsupported)
	}
	if len(sent) != len(text) {
		originalOffsets(text, ends)
	}
	return ids, ends, nil
}

// Remote implements [boundary.Remote].
func (c *Client) Remote() {}

// replaceBytes returns s as JSON carries it: one U+FFFD for each byte that is not valid UTF-8.
func replaceBytes(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}

// originalOffsets turns ascending offsets in replaceBytes(text) into offsets in text. An offset inside a replaced byte becomes the end of it.
func originalOffsets(text string, ends []int) {
	from, to := 0, 0
	for i, end := range ends {
		for to < end && from < len(text) {
			r, size := utf8.DecodeRuneInString(text[from:])
			width := utf8.RuneLen(r)
			if r != utf8.RuneError && to+width > end {
				break
			}
			from += size
			to += width
		}
		ends[i] = from
		if to < end {
			ends[i] = from + end - to
		}
	}
}

// pieceBytes reads a token's text: a string, or a list of bytes where it is not valid UTF-8.
func pieceBytes(raw json.RawMessage) (string, error) {
	if len(raw) > 0 && raw[0] == '[' {
		var bytes []uint8
		var nums []int
		if err := json.Unmarshal(raw, &nums); err != nil {
			return "", err
		}
		for _, n := range nums {
			if n < 0 || n > 255 {
				return "", fmt.Errorf("%d is no byte", n)
			}
			bytes = append(bytes, uint8(n))
		}
		return string(bytes), nil
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}
