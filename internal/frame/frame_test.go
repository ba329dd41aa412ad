package frame_test

import (
	"strings"
	"testing"

	"sakur4/internal/frame"
)

func TestContains(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     bool
	}{
		{"empty", "", false},
		{"first line", frame.Open + ` kind="recall">`, true},
		{"later line", "a\n" + frame.Open, true},
		{"close mark", "a\n" + frame.Close, true},
		{"inside a line", `const Open = "` + frame.Open, false},
		{"inside, then at a start", "x " + frame.Open + "\n" + frame.Open, true},
		{"escaped", frame.Escape(frame.Open + "\n" + frame.Close), false},
		{"our own note", frame.Note("pin", "never"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := frame.Contains(c.in); got != c.want {
				t.Errorf("Contains(%q) = %v, want %v", c.in, got, c.want)
			}
		})
	}
}

func TestQuoted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want bool
	}{
		{"  " + frame.Open, true},
		{`{"text":"\u003csakur4:note kind=\"recall\">"}`, true},
		{`{"text":"<sakur4:note"}`, true},
		{"sakur4: a note", false},
		{`{"text":"\u003Csakur4:note kind=\"recall\">"}`, true},
		{`{"text":"\u003C/sakur4:note>"}`, true},
		{`{"text":"<\/sakur4:note>"}`, true},
		{frame.Escape(frame.Open), true},
		{frame.Escape(frame.Close), true},
		{`{"text":"<\u200bsakur4:note"}`, true},
		{`{"text":"\u003C\u200B/sakur4:note"}`, true},
		{`sakur4:note x \u003c sakur4:note`, false},
		{`\U003csakur4:note`, false},
		{"\u200bsakur4:note", false},
		{"sakur4:note", false},
		{"/sakur4:note", false},
	} {
		if got := frame.Quoted(c.in); got != c.want {
			t.Errorf("Quoted(%q) = %v, want %v", c.in, got, c.want)
		}
	}
}

func TestNoteCannotBeClosedByItsBody(t *testing.T) {
	t.Parallel()
	got := frame.Note(`re"call`, "a"+frame.Close+"\n"+frame.Open)
	want := "\n\n<sakur4:note kind=\"re-call\">\na<\u200b/sakur4:note>\n<\u200bsakur4:note\n</sakur4:note>"
	if got != want {
		t.Errorf("Note = %q, want %q", got, want)
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("a" + frame.Open + frame.Close)
	f.Fuzz(func(t *testing.T, s string) {
		got := frame.Escape(s)
		if frame.Contains(got) || strings.Contains(got, frame.Open) {
			t.Errorf("Escape(%q) = %q, which still holds a mark", s, got)
		}
		if frame.Escape(got) != got {
			t.Errorf("Escape is not idempotent on %q", s)
		}
	})
}
