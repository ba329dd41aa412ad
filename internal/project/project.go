// Package project names projects: the identity under which everything that is recorded is scoped.
package project

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"sakur4/internal/digest"
)

// ID returns the id of the project at root and the root's canonical form: absolute, with symbolic links resolved, cleaned.
// It fails when root does not exist or cannot be read.
func ID(root string) (id, canonical string, err error) {
	if root == "" {
		return "", "", errors.New("project: the root is empty")
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		return "", "", fmt.Errorf("project: root %q: %w", root, err)
	}
	canonical, err = filepath.EvalSymlinks(abs)
	if err != nil {
		return "", "", fmt.Errorf("project: root %q: %w", root, err)
	}
	return format("", canonical), canonical, nil
}

// Named returns the id of a project that is named instead of found by its root. No name has the id of a root.
func Named(name string) (id string, err error) {
	if name == "" {
		return "", errors.New("project: the name is empty")
	}
	return format("name:", name), nil
}

// IsID reports whether s has the form of a project's id.
func IsID(s string) bool {
	digits, ok := strings.CutPrefix(s, "proj_")
	return ok && len(digits) == 16 && strings.Trim(digits, "0123456789abcdef") == ""
}

// format hashes a root as it is, and a name behind a mark that no absolute path begins with.
func format(mark, s string) string { return fmt.Sprintf("proj_%016x", digest.Fast(mark+s)) }
