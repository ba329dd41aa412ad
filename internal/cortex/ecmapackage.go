package cortex

import (
	"path"
	"strings"

	"sakur4/internal/codesym"
)

// ecmaPackage is a package of JavaScript that the project holds: a folder with a package.json.
type ecmaPackage struct {
	dir string
	// entries are the files that the package.json says to begin with, without extensions.
	entries []string
}

// ecmaPackages returns the packages of a project by their names, in the order of the source.
func ecmaPackages(src *Source) map[string][]ecmaPackage {
	var all map[string][]ecmaPackage
	for i := range src.Files {
		f := &src.Files[i]
		if f.Lang != codesym.JSON || path.Base(f.Path) != "package.json" {
			continue
		}
		name, p := "", ecmaPackage{dir: path.Dir(f.Path)}
		for _, s := range src.Symbols[f.Symbols[0]:f.Symbols[1]] {
			if s.Parent >= 0 {
				continue
			}
			_, value, _ := strings.Cut(s.Signature, ":")
			switch value = strings.Trim(value, " \""); s.Name {
			case "name":
				name = value
			case "main", "module", "types", "typings", "source":
				p.entries = append(p.entries, ecmaBare(path.Clean(value)))
			}
		}
		if name != "" {
			if all == nil {
				all = map[string][]ecmaPackage{}
			}
			all[name] = append(all[name], p)
		}
	}
	return all
}

// ecmaBare is a path without what names the kind of file.
func ecmaBare(p string) string { return strings.TrimSuffix(strings.TrimSuffix(p, path.Ext(p)), ".d") }

// ecmaTargets returns the files that an import in one file may mean, without extensions: of a relative path, or of a package of the project by its name. The sources of a
// package stand in its folder or in "src" or "lib" below it, whatever its package.json says of what is built from them.
func (g *Graph) ecmaTargets(from, p string) []string {
	if strings.HasPrefix(p, ".") {
		p = path.Join(path.Dir(from), p)
		return []string{p, strings.TrimSuffix(p, path.Ext(p)), path.Join(p, "index")}
	}
	name, rest := p, ""
	for g.packages[name] == nil {
		i := strings.LastIndexByte(name, '/')
		if i < 0 {
			return nil // of somebody else
		}
		name, rest = name[:i], p[i+1:]
	}
	var out []string
	for _, pkg := range g.packages[name] {
		ways := []string{rest, path.Join(rest, "index")}
		if rest == "" {
			ways = []string{"index"}
			for _, e := range pkg.entries {
				ways = append(ways, e, path.Base(e))
			}
		}
		for _, w := range ways {
			bare := w
			switch path.Ext(w) {
			case ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx":
				bare = strings.TrimSuffix(w, path.Ext(w))
			}
			for _, folder := range [...]string{"", "src", "lib"} {
				out = append(out, path.Join(pkg.dir, folder, bare))
			}
		}
	}
	return out
}
