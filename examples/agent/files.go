package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The bounds of the file tools: a result is read by a model.
const (
	maxEntries   = 100
	maxLines     = 2000
	maxFileBytes = 8 << 20
	maxMatches   = 40
	maxLineBytes = 300
	maxWalked    = 5000 // files that a grep opens
)

// name turns a model's path into one that the root can open. The root itself refuses what leads out of it, by dots or by links.
func name(p string) string {
	if p == "" {
		return "."
	}
	return path.Clean(strings.ReplaceAll(p, `\`, "/"))
}

// skipped are folders that hold nothing to explore.
func skipped(dir string) bool {
	switch dir {
	case ".git", ".hg", ".svn", "node_modules", "vendor":
		return true
	}
	return false
}

func (a *agent) listFiles(_ context.Context, args json.RawMessage) (string, error) {
	var in struct {
		Path string `json:"path"`
	}
	if err := decode(args, &in); err != nil {
		return "", err
	}
	entries, err := fs.ReadDir(a.root.FS(), name(in.Path))
	if err != nil {
		return "", err
	}
	type entry struct {
		Name  string `json:"name"`
		Bytes int64  `json:"bytes"`
		Dir   bool   `json:"dir,omitempty"`
	}
	out := struct {
		Path    string  `json:"path"`
		Entries []entry `json:"entries"`
		LeftOut int     `json:"left_out,omitempty"`
	}{Path: name(in.Path), Entries: []entry{}}
	for _, e := range entries {
		if len(out.Entries) == maxEntries {
			out.LeftOut++
			continue
		}
		item := entry{Name: e.Name(), Dir: e.IsDir()}
		if info, err := e.Info(); err == nil && !e.IsDir() {
			item.Bytes = info.Size()
		}
		out.Entries = append(out.Entries, item)
	}
	b, err := json.Marshal(out)
	return string(b), err
}

// content reads a file below the root, up to the bound.
func (a *agent) content(p string) ([]byte, error) {
	f, err := a.root.Open(name(p))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", p)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(b) > maxFileBytes {
		err = fmt.Errorf("%s is larger than %d bytes", p, maxFileBytes)
	}
	return b, err
}

// readFile returns the lines as they are, without numbers: what is recorded are the file's own bytes.
func (a *agent) readFile(_ context.Context, args json.RawMessage) (string, error) {
	var in struct {
		Path   string `json:"path"`
		Offset int    `json:"offset"`
		Limit  int    `json:"limit"`
	}
	if err := decode(args, &in); err != nil {
		return "", err
	}
	b, err := a.content(in.Path)
	if err != nil {
		return "", err
	}
	if in.Limit <= 0 || in.Limit > maxLines {
		in.Limit = maxLines
	}
	lines := bytes.SplitAfter(b, []byte("\n"))
	from := max(in.Offset-1, 0)
	if from >= len(lines) || from == len(lines)-1 && from > 0 && len(lines[from]) == 0 {
		return "", fmt.Errorf("%s has fewer than %d lines", in.Path, in.Offset)
	}
	return string(bytes.Join(lines[from:min(from+in.Limit, len(lines))], nil)), nil
}

func (a *agent) grep(ctx context.Context, args json.RawMessage) (string, error) {
	var in struct {
		Pattern string `json:"pattern"`
		Path    string `json:"path"`
	}
	if err := decode(args, &in); err != nil {
		return "", err
	}
	re, err := regexp.Compile(in.Pattern)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	matches, walked := 0, 0
	err = a.walk(ctx, name(in.Path), func(p string) error {
		if walked++; walked > maxWalked {
			return fs.SkipAll
		}
		b, err := a.content(p)
		if err != nil || !isText(b) {
			return nil // what cannot be read has no matches
		}
		s := bufio.NewScanner(bytes.NewReader(b))
		s.Buffer(nil, maxFileBytes+1)
		for n := 1; s.Scan(); n++ {
			if !re.Match(s.Bytes()) {
				continue
			}
			if matches++; matches <= maxMatches {
				fmt.Fprintf(&out, "%s:%d:%s\n", p, n, clip(s.Text(), maxLineBytes))
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	switch {
	case matches == 0:
		return "no line matches", nil
	case matches > maxMatches:
		fmt.Fprintf(&out, "(%d more lines match)\n", matches-maxMatches)
	}
	return out.String(), nil
}

// walk visits the regular files below a path in a fixed order. It follows no links.
func (a *agent) walk(ctx context.Context, start string, visit func(string) error) error {
	return fs.WalkDir(a.root.FS(), start, func(p string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && p == start:
			return err
		case err != nil:
			return nil // a folder that cannot be read is passed by
		case d.IsDir() && skipped(d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		return visit(p)
	})
}

// isText reports whether the beginning of b looks like text.
func isText(b []byte) bool {
	head := b[:min(len(b), 4096)]
	return !bytes.ContainsRune(head, 0)
}

// clip shortens s to about n bytes at a character's border.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
