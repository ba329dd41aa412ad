package toolparse_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"sakur4/toolparse"
)

func leaves(src string) ([]string, error) {
	var out []string
	err := toolparse.JSON(src, func(v toolparse.JSONValue) bool {
		out = append(out, fmt.Sprintf("%s %s %q @%d:%d", v.Pointer(), v.Kind, v.Text(), v.Offset, v.Line))
		return true
	})
	return out, err
}

func TestJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"scalar", " 1e400 ", []string{` number "1e400" @1:1`}},
		{"exact numbers", `[1.0,-0,1E+2,123456789012345678901234567890]`, []string{
			`/0 number "1.0" @1:1`, `/1 number "-0" @5:1`, `/2 number "1E+2" @8:1`, `/3 number "123456789012345678901234567890" @13:1`,
		}},
		{"empty containers", `{"a":{},"b":[]}`, []string{`/a empty object "{}" @5:1`, `/b empty array "[]" @12:1`}},
		{"pointer escapes", `{"a/b":{"~":1},"":2}`, []string{`/a~1b/~0 number "1" @12:1`, `/ number "2" @18:1`}},
		{"duplicate keys stay apart", `{"a":1,"a":2}`, []string{`/a number "1" @5:1`, `/a number "2" @11:1`}},
		{"escaped keys and strings", `{"\u0061":"\ud83d\ude00\n\/"}`, []string{`/a string "😀\n/" @10:1`}},
		{"lone surrogates", `["\ud83d","\ude00x","\ud83d\u0041"]`, []string{
			`/0 string "` + "\ufffd" + `" @1:1`, `/1 string "` + "\ufffd" + `x" @10:1`, `/2 string "` + "\ufffd" + `A" @20:1`,
		}},
		{"lines", "{\n \"a\":\n 1,\r\n\"b\":null}", []string{`/a number "1" @9:3`, `/b null "null" @17:4`}},
		{"byte order mark", "\ufefftrue", []string{` bool "true" @3:1`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := leaves(c.in)
			if err != nil {
				t.Fatalf("JSON(%q) = %v", c.in, err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("JSON(%q) (-want +got):\n%s", c.in, diff)
			}
		})
	}
}

func TestJSONErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in           string
		offset, line int
	}{
		{"", 0, 1},
		{"  ", 2, 1},
		{"[1,]", 3, 1},
		{"{\"a\":1,\n}", 8, 2},
		{"{\"a\" 1}", 5, 1},
		{"[1 2]", 3, 1},
		{"01", 0, 1},
		{"1.", 2, 1},
		{"[1}", 2, 1},
		{"\"a\nb\"", 2, 1},
		{"\"\xff\"", 1, 1},
		{"\"\\x\"", 1, 1},
		{"\"abc", 0, 1},
		{"nul", 0, 1},
		{"1 2", 2, 1},
		{"NaN", 0, 1},
		{"+1", 0, 1},
		{"'a'", 0, 1},
	} {
		err := toolparse.JSON(c.in, nil)
		var syntax *toolparse.SyntaxError
		if !errors.As(err, &syntax) || syntax.Offset != c.offset || syntax.Line != c.line || syntax.Parser != "json" {
			t.Errorf("JSON(%q) = %v, want a SyntaxError at line %d, offset %d", c.in, err, c.line, c.offset)
		}
	}
}

func TestJSONDepthIsBounded(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	if err := toolparse.JSON(nested(toolparse.MaxJSONDepth+1), nil); err != nil {
		t.Errorf("JSON at the bound = %v", err) // the innermost array is empty and opens nothing
	}
	if err := toolparse.JSON(nested(toolparse.MaxJSONDepth+2), nil); err == nil {
		t.Error("JSON beyond the bound is accepted")
	}
	if err := toolparse.JSON(strings.Repeat("[", 5_000_000), nil); err == nil {
		t.Error("JSON of five million open arrays is accepted")
	}
}

func TestJSONVisitStops(t *testing.T) {
	t.Parallel()
	n := 0
	err := toolparse.JSON(`[1,2,3,x]`, func(toolparse.JSONValue) bool { n++; return false })
	if n != 1 || err == nil {
		t.Errorf("JSON visited %d leaves, error %v, want 1 and an error about the rest", n, err)
	}
}

func TestCanonicalJSON(t *testing.T) {
	t.Parallel()
	same := func(a, b string) bool {
		x, ok1 := toolparse.CanonicalJSON(a)
		y, ok2 := toolparse.CanonicalJSON(b)
		return ok1 && ok2 && x == y
	}
	for _, c := range [][2]string{
		{`{"a":1,"b":[1,{"c":2,"d":3}]}`, "{\n\"b\" : [1, {\"d\":3,\"c\":2}], \"a\":1}"},
		{`{"a":"\u0062"}`, `{"a":"b"}`},
		{`{}`, ` { } `},
	} {
		if !same(c[0], c[1]) {
			t.Errorf("CanonicalJSON tells %s and %s apart", c[0], c[1])
		}
	}
	for _, c := range [][2]string{
		{`{"a":1}`, `{"a":"1"}`}, {`{"a":1}`, `{"a":1.0}`}, {`[1,2]`, `[2,1]`}, {`{"a":[1]}`, `{"a":{"0":1}}`}, {`{"a":1,"a":2}`, `{"a":2,"a":1}`},
		{`{"a":{"b":1}}`, `{"a/b":1}`}, {`{"a":null}`, `{}`}, {`{"a":[]}`, `{"a":{}}`}, {`{"~0":1}`, `{"~":1}`}, {`{"~~0":1}`, `[1]`}, {`[null]`, `["null"]`},
	} {
		if same(c[0], c[1]) {
			t.Errorf("CanonicalJSON takes %s and %s for the same", c[0], c[1])
		}
	}
	for _, bad := range []string{``, `{`, `x`, strings.Repeat("[", 3000) + strings.Repeat("]", 3000)} {
		if _, ok := toolparse.CanonicalJSON(bad); ok {
			t.Errorf("CanonicalJSON(%.20q) has a text", bad)
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,"\ud83d\ude00",null,{}]}`, `[1.5e-3]`, `"\u00e9"`, `[[[[`, "\ufeff{}", `{"a":1,"a":2}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n := 0
		err := toolparse.JSON(s, func(v toolparse.JSONValue) bool {
			n++
			if s[v.Offset:v.Offset+len(v.Raw)] != v.Raw && v.Kind != toolparse.JSONEmptyArray && v.Kind != toolparse.JSONEmptyObject {
				t.Errorf("JSON(%q): leaf %q is not at %d", s, v.Raw, v.Offset)
			}
			_ = v.Pointer()
			if v.Kind == toolparse.JSONString {
				var want string
				if json.Unmarshal([]byte(v.Raw), &want) != nil || want != v.Text() {
					t.Errorf("JSON(%q): %s decodes to %q, encoding/json has %q", s, v.Raw, v.Text(), want)
				}
			}
			return true
		})
		body := strings.TrimPrefix(s, "\ufeff")
		// encoding/json accepts invalid UTF-8 in strings, and nothing else that this parser refuses within the depth bound.
		if valid := json.Valid([]byte(body)); valid != (err == nil) && (utf8.ValidString(body) || err == nil) && !strings.Contains(fmt.Sprint(err), "open containers") {
			t.Errorf("JSON(%q) = %v, encoding/json says %v", s, err, valid)
		}
		if err == nil && n == 0 {
			t.Errorf("JSON(%q) has no leaf", s)
		}
	})
}
