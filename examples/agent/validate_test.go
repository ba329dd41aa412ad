package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestValidChat(t *testing.T) {
	t.Parallel()
	const (
		user   = `{"role":"user","content":"u"}`
		answer = `{"role":"assistant","content":"a"}`
		call   = `{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
		result = `{"role":"tool","tool_call_id":"1","content":""}`
		system = `{"role":"system","content":"s"}`
	)
	for _, c := range []struct {
		name string
		chat []string
		want string // part of the error, "" for none
	}{
		{"one turn", []string{user}, ""},
		{"a loop", []string{system, user, call, result}, ""},
		{"answered", []string{user, answer, user}, ""},
		{"nobody waits", []string{user, answer}, "nobody waits"},
		{"nothing", nil, "nobody waits"},
		{"late system", []string{user, answer, system, user}, "not at the start"},
		{"two users", []string{user, user}, "does not follow the assistant"},
		{"user after a result", []string{user, call, result, user}, "does not follow the assistant"},
		{"two assistants", []string{user, answer, answer, user}, "does not follow a user turn"},
		{"assistant first", []string{answer, user}, "does not follow a user turn"},
		{"open call", []string{user, call}, "no result"},
		{"call without result", []string{user, call, user}, "no result"},
		{"orphan", []string{user, result}, "nobody waits for"},
		{"second result", []string{user, call, result, result}, "nobody waits for"},
		{"id again", []string{user, call, result, call, result}, "id of its own"},
		{"empty user", []string{`{"role":"user","content":""}`}, "empty"},
		{"empty assistant", []string{user, `{"role":"assistant","content":" "}`, user}, "neither text nor calls"},
		{"bad arguments", []string{user, strings.Replace(call, `"{}"`, `"[1]"`, 1), result}, "no JSON object"},
		{"cut arguments", []string{user, strings.Replace(call, `"{}"`, `"{\"a\":"`, 1), result}, "no JSON object"},
		{"calls of a user", []string{strings.Replace(call, "assistant", "user", 1), result}, "calls"},
		{"unknown role", []string{user, `{"role":"robot","content":"x"}`}, "unknown role"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var chat []sent
			if err := json.Unmarshal([]byte("["+strings.Join(c.chat, ",")+"]"), &chat); err != nil {
				t.Fatal(err)
			}
			err := validChat(chat)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("validChat(%v) = %v, want %q", c.chat, err, c.want)
			}
		})
	}
}
