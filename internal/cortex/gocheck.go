package cortex

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sakur4/internal/codesym"
)

// GoConfig says where the packages of a Go project are found.
type GoConfig struct {
	// Root is the project's folder.
	Root fs.FS
	// Std is the src folder of the Go distribution, Cache the module cache; nil where there is none.
	Std, Cache fs.FS
}

// ErrNoGo is returned when a source has no Go files, or the standard library cannot be found.
var ErrNoGo = errors.New("cortex: no Go module to check")

// goChecker checks packages, each once.
type goChecker struct {
	ctx          context.Context
	cfg          GoConfig
	g            *Graph
	fset         *token.FileSet
	projectFiles map[*token.File]int
	packages     map[string]*types.Package // by import path; nil while one is being checked
	mods         map[string]goMod          // by folder
	exact        *Exact
}

// CheckGo type-checks the Go packages of a graph's source with go/types, their tests included, for the platform that the program runs on. Other packages are read
// from their sources, without the bodies of their functions. What cannot be resolved is counted, and is no error; [ErrNoGo] and that of the context are.
func CheckGo(ctx context.Context, g *Graph, cfg GoConfig) (*Exact, error) {
	dirs := map[string][]int{}
	for i, f := range g.src.Files {
		if f.Lang == codesym.Go {
			dirs[path.Dir(f.Path)] = append(dirs[path.Dir(f.Path)], i)
		}
	}
	switch {
	case len(dirs) == 0:
		return nil, fmt.Errorf("%w: no Go files", ErrNoGo)
	case !isDir(cfg.Std, "fmt"):
		return nil, fmt.Errorf("%w: the sources of the standard library are not there", ErrNoGo)
	}
	c := &goChecker{ctx: ctx, cfg: cfg, g: g, fset: token.NewFileSet(), projectFiles: map[*token.File]int{},
		packages: map[string]*types.Package{"unsafe": types.Unsafe}, mods: map[string]goMod{},
		exact: &Exact{files: map[int]bool{}, uses: map[spot]spot{}, usedAt: map[spot][]spot{}, objects: map[spot][]*types.TypeName{}}}
	var order []string
	for dir := range dirs {
		order = append(order, dir)
	}
	slices.Sort(order)
	for _, dir := range order {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c.dir(dir, dirs[dir])
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.exact.finish()
	return c.exact, nil
}

// dir checks the packages of a folder of the project: the package itself, again with its own tests, and the external tests.
func (c *goChecker) dir(dir string, files []int) {
	pkg := c.g.src.Files[files[0]].Package
	base, err := c.Import(pkg)
	if err != nil {
		c.problem(err)
	}
	var own, tests, external []*ast.File
	name := ""
	if base != nil {
		name = base.Name()
	}
	for _, f := range c.parse(c.cfg.Root, dir, true) {
		at := c.fset.Position(f.FileStart).Filename
		switch isTest := strings.HasSuffix(at, "_test.go"); {
		case isTest && strings.HasSuffix(f.Name.Name, "_test") && f.Name.Name != name:
			external = append(external, f)
		case isTest:
			tests = append(tests, f)
		default:
			own = append(own, f)
		}
	}
	seen := base
	if len(tests) > 0 {
		seen = c.check(pkg, append(own, tests...), c, true)
	}
	if len(external) > 0 {
		c.check(pkg+"_test", external, &variant{c, pkg, seen}, true)
	}
}

// variant imports a package with its own tests, as its external tests see it.
type variant struct {
	*goChecker
	path string
	pkg  *types.Package
}

// ImportFrom returns the package of a path.
func (v *variant) ImportFrom(p, dir string, mode types.ImportMode) (*types.Package, error) {
	if p == v.path && v.pkg != nil {
		return v.pkg, nil
	}
	return v.goChecker.ImportFrom(p, dir, mode)
}

// Import returns the package of a path, for one without vendored packages.
func (c *goChecker) Import(p string) (*types.Package, error) { return c.ImportFrom(p, "", 0) }

// ImportFrom returns the package of a path as the packages of a folder import it.
func (c *goChecker) ImportFrom(p, dir string, _ types.ImportMode) (*types.Package, error) {
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	key := p
	fsys, at, own, err := c.find(p)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(at, "vendor/") {
		key = at
	}
	if got, ok := c.packages[key]; ok {
		if got == nil {
			return nil, fmt.Errorf("%s: imports itself", p)
		}
		return got, nil
	}
	c.packages[key] = nil
	files := c.parse(fsys, at, own)
	files = slices.DeleteFunc(files, func(f *ast.File) bool { return strings.HasSuffix(c.fset.Position(f.FileStart).Filename, "_test.go") })
	if len(files) == 0 {
		delete(c.packages, key)
		return nil, fmt.Errorf("%s: no Go files", p)
	}
	got := c.check(p, files, c, own)
	c.packages[key] = got
	return got, nil
}

// find returns where the files of a package are. own says that they belong to the project.
func (c *goChecker) find(p string) (fsys fs.FS, dir string, own bool, err error) {
	if p == "unsafe" {
		return nil, "", false, nil
	}
	for _, f := range c.g.byPackage[p] {
		if c.g.src.Files[f].Lang == codesym.Go {
			return c.cfg.Root, c.g.dirOf(int(f)), true, nil
		}
	}
	if isDir(c.cfg.Root, path.Join("vendor", p)) {
		return c.cfg.Root, path.Join("vendor", p), false, nil
	}
	first, _, _ := strings.Cut(p, "/")
	if !strings.Contains(first, ".") || strings.HasPrefix(p, "golang.org/x/") && isDir(c.cfg.Std, path.Join("vendor", p)) {
		for _, dir := range []string{p, path.Join("vendor", p)} {
			if isDir(c.cfg.Std, dir) {
				return c.cfg.Std, dir, false, nil
			}
		}
		return nil, "", false, fmt.Errorf("%s: not in the standard library", p)
	}
	for _, m := range c.g.src.Modules {
		mod, ok := c.mods[m.Dir]
		if !ok {
			text, err := fs.ReadFile(c.cfg.Root, path.Join(m.Dir, "go.mod"))
			if err != nil {
				text = nil // then it requires nothing
			}
			mod = readGoMod(string(text))
			c.mods[m.Dir] = mod
		}
		if dir, ok := mod.find(p); ok && isDir(c.cfg.Cache, dir) {
			return c.cfg.Cache, dir, false, nil
		}
	}
	return nil, "", false, fmt.Errorf("%s: not in the module cache", p)
}

// parse reads the Go files of a folder that belong to the platform. own says that it is one of the project, whose tests are read too.
func (c *goChecker) parse(fsys fs.FS, dir string, own bool) []*ast.File {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil
	}
	match := build.Default
	match.CgoEnabled = false // a package that needs a C compiler is not read further
	match.OpenFile = func(p string) (io.ReadCloser, error) { return fsys.Open(p) }
	match.JoinPath = path.Join
	var out []*ast.File
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || !strings.HasSuffix(name, ".go") || !own && strings.HasSuffix(name, "_test.go") {
			continue
		}
		p := path.Join(dir, name)
		file := c.g.FileAt(p)
		if ok, err := match.MatchFile(dir, name); err != nil || !ok {
			continue
		}
		text, err := fs.ReadFile(fsys, p)
		if err != nil {
			continue
		}
		f, err := parser.ParseFile(c.fset, p, text, parser.SkipObjectResolution)
		if f == nil || err != nil && !own {
			continue
		}
		if own && file >= 0 { // a generated file is in no index, and is needed all the same
			c.projectFiles[c.fset.File(f.FileStart)] = file
		}
		out = append(out, f)
	}
	return out
}

// check checks the files of one package.
func (c *goChecker) check(p string, files []*ast.File, from types.ImporterFrom, own bool) *types.Package {
	broken := false
	conf := types.Config{Importer: from, FakeImportC: true, IgnoreFuncBodies: !own, Sizes: types.SizesFor("gc", build.Default.GOARCH),
		Error: func(err error) {
			if own {
				broken = true
				c.problem(err)
			}
		}}
	info := &types.Info{}
	if own {
		info.Uses, info.Defs = map[*ast.Ident]types.Object{}, map[*ast.Ident]types.Object{}
	}
	got, _ := conf.Check(p, c.fset, files, info) // what is wrong went to Error; what is right is there
	if own {
		c.record(c.exact, info, files)
		c.exact.Packages++
		if broken {
			c.exact.Broken++
		}
	}
	return got
}

func (c *goChecker) problem(err error) {
	if c.exact.Problem == "" && c.ctx.Err() == nil {
		c.exact.Problem = err.Error()
	}
}
