package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sakur4"
)

// maxLine bounds one turn in bytes.
const maxLine = 64 << 20

// session is a recorded session as it is replayed.
type session struct {
	file  string
	turns []turn
	// leftOut says which lines are not replayed, and why.
	leftOut []string
}

// turn is one recorded turn with what is measured of it.
type turn struct {
	sakur4.Turn
	// asked says that a prompt was sent which this turn answers.
	asked bool
	// names are the identifiers, paths and error codes in it; used are those of an answer that appeared in an earlier turn. Sorted, without repeats.
	names, used []string
	// rules are the user's rules that it states.
	rules []string
}

// lineError is a line of a session that cannot be read.
type lineError struct {
	file string
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.file, e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// sessionFiles returns the files that -in names, those of a folder in the order of their names.
func sessionFiles(in []string) ([]string, error) {
	var files []string
	for _, path := range in {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		n := len(files)
		entries, err := os.ReadDir(path) // sorted
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.Type()&fs.ModeType == 0 && filepath.Ext(e.Name()) == ".jsonl" {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
		if len(files) == n {
			return nil, fmt.Errorf("%s: no *.jsonl in this folder", path)
		}
	}
	return files, nil
}

// readSession reads a file.
func readSession(ctx context.Context, file string, cfg config) (*session, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	turns, lines, err := parse(file, data)
	if err != nil {
		return nil, err
	}
	s := &session{file: file}
	if err := s.keep(ctx, cfg, turns, lines); err != nil {
		return nil, err
	}
	s.measure()
	if !slices.ContainsFunc(s.turns, func(t turn) bool { return t.asked }) {
		return nil, fmt.Errorf("%s: no assistant turn answers anything", file)
	}
	return s, nil
}

// parse reads the lines of a session and the number of each turn's line. Empty lines are skipped.
func parse(file string, data []byte) (turns []sakur4.Turn, lines []int, err error) {
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, maxLine)
	line := 0
	for sc.Scan() {
		line++
		raw := bytes.TrimSpace(sc.Bytes())
		if len(raw) == 0 {
			continue
		}
		t, err := parseTurn(raw)
		if err != nil {
			return nil, nil, &lineError{file, line, err}
		}
		turns, lines = append(turns, t), append(lines, line)
	}
	if err := sc.Err(); err != nil {
		return nil, nil, &lineError{file, line + 1, err}
	}
	return turns, lines, nil
}

// parseTurn reads one line.
func parseTurn(raw []byte) (sakur4.Turn, error) {
	var r struct {
		Role      string `json:"role"`
		Content   string `json:"content"`
		Thinking  string `json:"thinking"`
		ToolName  string `json:"tool_name"`
		CallID    string `json:"tool_call_id"`
		ToolCalls []struct {
			ID        string `json:"id"`
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return sakur4.Turn{}, err
	}
	t := sakur4.Turn{Role: sakur4.Role(r.Role), Content: r.Content}
	switch t.Role {
	case sakur4.RoleUser, sakur4.RoleSystem:
	case sakur4.RoleAssistant:
		t.Reasoning = r.Thinking
		for _, c := range r.ToolCalls {
			t.ToolCalls = append(t.ToolCalls, sakur4.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
		}
	case sakur4.RoleTool:
		t.ToolCallID, t.ToolName = r.CallID, r.ToolName
	default:
		return sakur4.Turn{}, fmt.Errorf("role %q is none of user, assistant, tool, system", r.Role)
	}
	return t, nil
}

// keep takes the turns that can be recorded, so that all policies get the same, and the rules that the user states in them and that can be pinned.
func (s *session) keep(ctx context.Context, cfg config, turns []sakur4.Turn, lines []int) (err error) {
	eng, err := sakur4.Open(ctx, ":memory:", &sakur4.Options{Project: "replay", Window: cfg.window})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	ses := eng.Session("replay")
	for i, t := range turns {
		c, err := ses.Commit(ctx, t)
		if errors.Is(err, sakur4.ErrInvalidTurn) {
			s.leftOut = append(s.leftOut, fmt.Sprintf("%s:%d: left out: %v", s.file, lines[i], err))
			continue
		}
		if err != nil {
			return &lineError{s.file, lines[i], err}
		}
		k := turn{Turn: t}
		for _, p := range c.PinProposals {
			if _, err := ses.Pin(ctx, p.Text, p.Kind); err == nil {
				k.rules = append(k.rules, p.Text)
			} else if !errors.Is(err, sakur4.ErrInvalidPin) && !errors.Is(err, sakur4.ErrBudgetOverflow) {
				return &lineError{s.file, lines[i], err}
			}
		}
		s.turns = append(s.turns, k)
	}
	return nil
}

// measure finds which turns answer a prompt, the names of each turn, and which of them an answer uses again.
func (s *session) measure() {
	seen := map[string]bool{}
	open := map[string]bool{} // calls that wait: a result that comes later is a remark, which nobody answers
	waits := false
	for i := range s.turns {
		t := &s.turns[i]
		switch t.Role {
		case sakur4.RoleUser:
			clear(open)
			waits = true
		case sakur4.RoleTool:
			waits = waits || open[t.ToolCallID]
			delete(open, t.ToolCallID)
		case sakur4.RoleAssistant:
			t.asked, waits = waits, false
			clear(open)
			for _, c := range t.ToolCalls {
				open[c.ID] = true
			}
		}
		t.names = namesOf(t.Content, t.ToolCalls)
		if t.asked {
			for _, n := range t.names {
				if seen[n] {
					t.used = append(t.used, n)
				}
			}
		}
		for _, n := range t.names {
			seen[n] = true
		}
	}
}
