package cortex

import (
	"io/fs"
	"path"
	"strings"
)

// goMod is what a go.mod says of other modules.
type goMod struct {
	require map[string]string // versions by module path
	replace map[string]string // by module path: a folder, which begins with a dot, or "path version"
}

// readGoMod reads the lines of a go.mod that name modules. What it does not understand it leaves out: a package that cannot be found is reported anyway.
func readGoMod(text string) goMod {
	m := goMod{require: map[string]string{}, replace: map[string]string{}}
	block := ""
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(strings.NewReplacer("\"", "", "`", "").Replace(line))
		switch {
		case len(words) == 0:
			continue
		case block == "" && len(words) == 2 && words[1] == "(":
			block = words[0]
			continue
		case words[0] == ")":
			block = ""
			continue
		}
		verb := block
		if verb == "" {
			verb, words = words[0], words[1:]
		}
		switch {
		case verb == "require" && len(words) >= 2:
			m.require[words[0]] = words[1]
		case verb == "replace":
			for i, w := range words {
				if w == "=>" && i > 0 && i+1 < len(words) {
					m.replace[words[0]] = strings.Join(words[i+1:], " ")
				}
			}
		}
	}
	return m
}

// find returns the folder in the module cache of the module that provides a package, and the package's folder in it.
func (m goMod) find(pkg string) (dir string, ok bool) {
	for module := pkg; module != "."; module = path.Dir(module) {
		version, required := m.require[module]
		if !required {
			continue
		}
		at := module
		if to, replaced := m.replace[module]; replaced {
			var has bool
			if at, version, has = strings.Cut(to, " "); !has {
				return "", false // a folder, which may lie outside of the project
			}
		}
		return path.Join(escaped(at)+"@"+escaped(version), strings.TrimPrefix(pkg, module)), true
	}
	return "", false
}

// escaped writes capitals as the module cache does, which must not rely on them.
func escaped(p string) string {
	var b strings.Builder
	for i := range len(p) {
		if c := p[i]; c >= 'A' && c <= 'Z' {
			b.WriteByte('!')
			b.WriteByte(c + 'a' - 'A')
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// isDir reports whether a folder is there.
func isDir(fsys fs.FS, dir string) bool {
	if fsys == nil {
		return false
	}
	info, err := fs.Stat(fsys, dir)
	return err == nil && info.IsDir()
}
