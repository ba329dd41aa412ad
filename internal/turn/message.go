package turn

import (
	"strings"
	"unicode/utf8"

	"sakur4/internal/episode"
)

// Message is one message of a rendered chat.
type Message struct {
	Role       episode.Role
	Content    string
	Reasoning  string
	Calls      []episode.Call
	ToolCallID string
}

// AppendJSON appends the message in OpenAI form to dst: fixed field order, no HTML escapes, one U+FFFD for each byte that is not valid UTF-8.
// Content is always present, also when empty: servers treat an absent and an empty one differently, and a prefix must not depend on that.
func (m Message) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"role":`...)
	dst = AppendString(dst, string(m.Role))
	dst = append(dst, `,"content":`...)
	dst = AppendString(dst, m.Content)
	if m.Reasoning != "" {
		dst = append(dst, `,"reasoning_content":`...)
		dst = AppendString(dst, m.Reasoning)
	}
	if len(m.Calls) > 0 {
		dst = append(dst, `,"tool_calls":[`...)
		for i, c := range m.Calls {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, `{"id":`...)
			dst = AppendString(dst, c.ID)
			dst = append(dst, `,"type":"function","function":{"name":`...)
			dst = AppendString(dst, c.Name)
			dst = append(dst, `,"arguments":`...)
			dst = AppendString(dst, c.Arguments)
			dst = append(dst, `}}`...)
		}
		dst = append(dst, ']')
	}
	if m.Role == episode.Tool {
		dst = append(dst, `,"tool_call_id":`...)
		dst = AppendString(dst, m.ToolCallID)
	}
	return append(dst, '}')
}

// AppendString appends s as a JSON string, with one U+FFFD for each byte that is not valid UTF-8 and no HTML escapes.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		b := s[i]
		if b >= 0x20 && b != '"' && b != '\\' && b < utf8.RuneSelf {
			i++
			continue
		}
		if b < utf8.RuneSelf {
			dst = append(dst, s[start:i]...)
			switch b {
			case '"', '\\':
				dst = append(dst, '\\', b)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\uFFFD"...)
			i++
			start = i
			continue
		}
		i += n
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// Sent returns s as a server reads it: each byte that is not valid UTF-8 becomes U+FFFD.
func Sent(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for _, r := range s {
		b.WriteRune(r) // a bad byte ranges as one U+FFFD
	}
	return b.String()
}

// AppendArray appends the messages as a JSON array.
func AppendArray(dst []byte, ms []Message) []byte {
	dst = append(dst, '[')
	for i, m := range ms {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = m.AppendJSON(dst)
	}
	return append(dst, ']')
}
