package cortex

import (
	"path"
	"strings"

	"sakur4/internal/codesym"
)

// ModulePath returns the path that a go.mod declares, "" for none.
func ModulePath(text string) string {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "module")
		if !ok || rest == "" || rest[0] != ' ' && rest[0] != '\t' && rest[0] != '"' {
			continue
		}
		if i := strings.Index(rest, "//"); i >= 0 {
			rest = rest[:i]
		}
		return strings.Trim(strings.TrimSpace(rest), "\"`")
	}
	return ""
}

// Declared returns the package that a file states by itself, "" where its language takes it from the path. Of Go it is the name of the package clause.
func Declared(f codesym.File) string {
	if f.Lang != codesym.Java && f.Lang != codesym.Go {
		return ""
	}
	for _, s := range f.Symbols {
		if s.Kind == codesym.Module {
			return s.Name
		}
	}
	return ""
}

// PackageOf returns what [File.Package] says of a file. declared is what [Declared] found in it; modules are all of the project.
func PackageOf(lang codesym.Lang, file, declared string, modules []Module) string {
	dir := path.Dir(file)
	switch lang {
	case codesym.Go:
		return goPackage(dir, modules)
	case codesym.Java:
		return declared
	case codesym.Python:
		name := strings.TrimSuffix(strings.TrimSuffix(file, path.Ext(file)), "/__init__")
		return strings.ReplaceAll(name, "/", ".")
	case codesym.JavaScript, codesym.TypeScript, codesym.TSX, codesym.Rust:
		return strings.TrimSuffix(file, path.Ext(file))
	}
	if dir == "." {
		return ""
	}
	return dir
}

// goPackage returns the import path of a folder: that of the nearest module above it, and the way from there.
func goPackage(dir string, modules []Module) string {
	best := -1
	for i, m := range modules {
		if (m.Dir == "." || m.Dir == dir || strings.HasPrefix(dir, m.Dir+"/")) && (best < 0 || len(m.Dir) > len(modules[best].Dir) || modules[best].Dir == ".") {
			best = i
		}
	}
	if best < 0 || modules[best].Path == "" {
		if dir == "." {
			return ""
		}
		return dir
	}
	m := modules[best]
	rest := dir
	switch m.Dir {
	case dir:
		rest = ""
	case ".":
	default:
		rest = dir[len(m.Dir)+1:]
	}
	if m.Path == "std" && rest != "" {
		return rest // the standard library's packages do not bear its name
	}
	return path.Join(m.Path, rest)
}
