package symbolic_test

import (
	"flag"
	"fmt"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sealedTypes are the values that prove something, by the package that declares them.
var sealedTypes = []string{"sakur4/symbolic.Fact", "sakur4/symbolic.FactSource", "sakur4/internal/episode.Evidence", "sakur4/internal/episode.Anchor"}

// TestPathsToProofs lists everything that the public packages export and that hands out a proof. A new line in the list is a new way to a proof: read it
// with the seal in mind before it is accepted with -update.
func TestPathsToProofs(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", "{{if .GoFiles}}{{.ImportPath}}{{end}}", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var rooms []string
	for path := range strings.FieldsSeq(string(out)) {
		if !strings.Contains(path, "/internal/") && !strings.Contains(path, "/examples/") {
			rooms = append(rooms, path)
		}
	}
	imp := exports(t, token.NewFileSet(), rooms...)
	var got []string
	for _, path := range rooms {
		pkg, err := imp.Import(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		got = append(got, paths(pkg)...)
	}
	slices.Sort(got)
	golden := filepath.Join("testdata", "paths.golden")
	text := strings.Join(got, "\n") + "\n"
	if *update {
		if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(text, "\n")); diff != "" {
		t.Errorf("exported paths to proofs (-want +got):\n%s", diff)
	}
}

// paths returns the exported names of the package that hold or return a proof.
func paths(pkg *types.Package) []string {
	var out []string
	add := func(name string, typ types.Type) {
		for _, proof := range proofs(typ, map[types.Type]bool{}) {
			out = append(out, fmt.Sprintf("%s.%s → %s", pkg.Path(), name, proof))
		}
	}
	for _, name := range pkg.Scope().Names() {
		obj := pkg.Scope().Lookup(name)
		if !obj.Exported() {
			continue
		}
		switch obj := obj.(type) {
		case *types.Var, *types.Const:
			add(name, obj.Type())
		case *types.Func:
			add(name+"()", obj.Signature().Results())
		case *types.TypeName:
			if named, ok := obj.Type().(*types.Named); ok && !obj.IsAlias() {
				for i := range named.NumMethods() {
					if m := named.Method(i); m.Exported() {
						add(name+"."+m.Name()+"()", m.Signature().Results())
					}
				}
				if s, ok := named.Underlying().(*types.Struct); ok {
					for i := range s.NumFields() {
						if f := s.Field(i); f.Exported() {
							add(name+"."+f.Name(), f.Type())
						}
					}
				}
				if iface, ok := named.Underlying().(*types.Interface); ok {
					for i := range iface.NumMethods() {
						add(name+"."+iface.Method(i).Name()+"()", iface.Method(i).Signature().Results())
					}
				}
			}
		}
	}
	return out
}

// proofs returns the sealed types that a value of the type holds or yields: through pointers, containers, exported fields, channels and the arguments of
// a function that it is or returns (an iterator hands its values to one).
func proofs(typ types.Type, seen map[types.Type]bool) []string {
	if typ == nil || seen[typ] {
		return nil
	}
	seen[typ] = true
	var out []string
	add := func(t types.Type) { out = append(out, proofs(t, seen)...) }
	switch t := types.Unalias(typ).(type) {
	case *types.Named:
		name := t.String()
		if i := slices.Index(sealedTypes, name); i >= 0 {
			return []string{name[strings.LastIndexByte(name, '.')+1:]}
		}
		for i := range t.TypeArgs().Len() {
			add(t.TypeArgs().At(i))
		}
		add(t.Underlying())
	case *types.Pointer:
		add(t.Elem())
	case *types.Slice:
		add(t.Elem())
	case *types.Array:
		add(t.Elem())
	case *types.Chan:
		add(t.Elem())
	case *types.Map:
		add(t.Key())
		add(t.Elem())
	case *types.Tuple:
		for i := range t.Len() {
			add(t.At(i).Type())
		}
	case *types.Signature:
		add(t.Params())
		add(t.Results())
	case *types.Struct:
		for i := range t.NumFields() {
			if t.Field(i).Exported() {
				add(t.Field(i).Type())
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
