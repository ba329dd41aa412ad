package archtest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// edges lists, for each room, the rooms that its source may import. Imports point down. "." is the root; a room that is not listed may import nothing of this
// module and is reported. Test files may import what they like, except where another rule says no.
var edges = map[string][]string{
	".": {
		"boundary", "evict", "receipt", "semantic", "symbolic", "toolparse",
		"internal/codeindex", "internal/codesym", "internal/consolidate", "internal/cortex", "internal/digest", "internal/embedded", "internal/episode", "internal/fold",
		"internal/frame", "internal/pin", "internal/project", "internal/recall", "internal/rendering", "internal/sight", "internal/sourcefile", "internal/store", "internal/tokens", "internal/turn",
		"internal/vector", // the engine packs what the model gave before it is stored
	},

	// The public rooms.
	"boundary":          {"internal/digest"},
	"boundary/llamacpp": {"boundary", "internal/digest"},
	"evict":             {},
	"receipt":           {"boundary"},
	"semantic":          {"internal/digest", "internal/episode"},
	"symbolic":          {"toolparse", "internal/codesym", "internal/digest", "internal/episode"},
	"toolparse":         {"internal/eight"},

	// Values and pure rooms.
	"internal/codesym":     {"internal/digest"},
	"internal/consolidate": {}, // plain values in and out: it can reach neither the mint nor the store
	"internal/digest":      {},
	"internal/eight":       {},
	"internal/episode":     {"evict", "toolparse", "internal/digest", "internal/frame"},
	"internal/fold":        {"evict", "internal/digest", "internal/episode", "internal/frame"},
	"internal/frame":       {},
	"internal/names":       {},
	"internal/pin":         {},
	"internal/recall":      {"internal/digest"},
	"internal/turn":        {"boundary", "evict", "receipt", "internal/digest", "internal/episode", "internal/frame"},
	"internal/vector":      {}, // numbers only: the store searches with it what it holds

	// Rooms that ask a backend, and do nothing else in the world.
	"internal/prompt": {"boundary", "receipt", "internal/digest", "internal/episode", "internal/turn"},
	"internal/rendering": { // it decides on what the session's store and server say; both are interfaces to it
		"boundary", "evict", "receipt", "internal/episode", "internal/names", "internal/pin", "internal/prompt", "internal/turn",
	},

	// Rooms that reach the world.
	"internal/cortex":     {"internal/codesym", "internal/digest", "internal/episode"},
	"internal/embedded":   {"boundary", "internal/digest", "internal/tokens"},
	"internal/project":    {"internal/digest"},
	"internal/codeindex":  {"symbolic", "toolparse", "internal/codesym", "internal/cortex", "internal/digest", "internal/episode", "internal/sourcefile", "internal/store"},
	"internal/sight":      {"evict", "semantic", "symbolic", "internal/episode", "internal/sourcefile", "internal/store"},
	"internal/sourcefile": {},
	"internal/store":      {"evict", "semantic", "symbolic", "internal/digest", "internal/episode", "internal/project", "internal/recall", "internal/vector"},
	"internal/tokens":     {"internal/digest", "internal/eight"},

	// For tests and checks only.
	".ci":                              {},
	"internal/archtest":                {},
	"internal/llamatest":               {"internal/tokens"},
	"internal/llamatest/cmd/tinymodel": {"internal/llamatest"},
	"internal/storetest":               {"internal/store"},
}

// editEdges is what to do about a new edge.
const editEdges = "edit the edge list in internal/archtest and say why in the same change"

// TestImportGraph holds every import to the edge list.
func TestImportGraph(t *testing.T) {
	t.Parallel()
	check(t, importGraph, `
-- evict/plan.go --
package evict
import "sakur4/boundary"
-- evict/plan_test.go --
package evict_test
import "sakur4/boundary"
-- newroom/new.go --
package newroom
import _ "fmt"
-- receipt/receipt.go --
package receipt
import "sakur4"
`,
		`evict/plan.go: "evict" may not import "boundary": `+editEdges,
		`newroom/new.go: the room "newroom" is not in the edge list: `+editEdges,
		`receipt/receipt.go: "receipt" may not import ".": `+editEdges,
	)
}

func importGraph(t tree) []string {
	var list []string
	for _, f := range t.own() {
		if f.test || strings.HasPrefix(f.path, "examples/") {
			continue // the rules below are for them
		}
		allowed, known := edges[f.room()]
		if !known {
			list = append(list, fmt.Sprintf("%s: the room %q is not in the edge list: %s", f.path, f.room(), editEdges))
		}
		for _, room := range f.rooms() {
			if known && !slices.Contains(allowed, room) {
				list = append(list, fmt.Sprintf("%s: %q may not import %q: %s", f.path, f.room(), room, editEdges))
			}
		}
	}
	return list
}

// TestNothingImportsRoot holds the root free of importers: only examples and tests use it, as agents do.
func TestNothingImportsRoot(t *testing.T) {
	t.Parallel()
	check(t, func(t tree) []string {
		var list []string
		for _, f := range t.files {
			if slices.Contains(f.rooms(), ".") && !f.test && !strings.HasPrefix(f.path, "examples/") {
				list = append(list, f.path+": imports the root: move what it needs down into a room")
			}
		}
		return list
	}, `
-- examples/agent/main.go --
package main
import "sakur4"
-- internal/turn/turn.go --
package turn
import "sakur4"
-- evict/a_test.go --
package evict_test
import "sakur4"
`, "internal/turn/turn.go: imports the root")
}

// TestExamplesArePublic holds examples, in modules of their own too, to what an outside agent can import. Their tests may start servers like others.
func TestExamplesArePublic(t *testing.T) {
	t.Parallel()
	check(t, func(t tree) []string {
		var list []string
		for _, f := range t.files {
			for _, room := range f.rooms() {
				helper := f.test && slices.Contains(testRooms, room)
				if strings.HasPrefix(f.path, "examples/") && strings.HasPrefix(room, "internal/") && !helper {
					list = append(list, fmt.Sprintf("%s: imports %q: an example may use public packages only", f.path, room))
				}
			}
		}
		return list
	}, `
-- examples/agent/main.go --
package main
import _ "sakur4/internal/store"
-- examples/agent/main_test.go --
package main
import _ "sakur4/internal/llamatest"
import _ "sakur4/internal/tokens"
-- examples/outside/go.mod --
module sakur4/examples/outside
-- examples/outside/main.go --
package main
import _ "sakur4/internal/turn"
import _ "sakur4/evict"
`, `examples/agent/main.go: imports "internal/store"`, `examples/agent/main_test.go: imports "internal/tokens"`, `examples/outside/main.go: imports "internal/turn"`)
}

// forbiddenReach lists rooms that must not reach others by any path. The edge list alone would allow it step by step.
var forbiddenReach = []struct{ from, to, why string }{
	{"internal/consolidate", "symbolic", "what a model wrote must never come near the mint of facts"},
	{"internal/consolidate", "toolparse", "what a model wrote must never come near the mint of facts"},
	{"semantic", "symbolic", "an interpretation is not a fact"},
	{"toolparse", "symbolic", "parsers never see a fact"},
	{"internal/codesym", "symbolic", "parsers never see a fact"},
}

// TestForbiddenReach follows the imports of tests' subjects to the end.
func TestForbiddenReach(t *testing.T) {
	t.Parallel()
	check(t, func(t tree) []string {
		imports := graph(t)
		var list []string
		for _, rule := range forbiddenReach {
			if way := reach(imports, rule.from, rule.to); way != nil {
				list = append(list, fmt.Sprintf("%s: %s", strings.Join(way, " imports "), rule.why))
			}
		}
		for _, room := range pureRooms {
			for _, other := range reachable(imports, room) {
				if !slices.Contains(pureRooms, other) {
					list = append(list, fmt.Sprintf("%s: a pure room reaches a room that is not pure", strings.Join(reach(imports, room, other), " imports ")))
				}
			}
		}
		return list
	}, `
-- internal/consolidate/a.go --
package consolidate
import _ "sakur4/internal/store"
-- internal/store/a.go --
package store
import _ "sakur4/symbolic"
-- evict/a.go --
package evict
import _ "sakur4/internal/project"
`, "internal/consolidate imports internal/store imports symbolic: ", "evict imports internal/project: a pure room",
		"internal/consolidate imports internal/store: a pure room")
}

func graph(t tree) map[string][]string {
	imports := map[string][]string{}
	for _, f := range t.own() {
		if !f.test {
			imports[f.room()] = append(imports[f.room()], f.rooms()...)
		}
	}
	for room := range imports {
		slices.Sort(imports[room])
		imports[room] = slices.Compact(imports[room])
	}
	return imports
}

// reach returns a shortest way from one room to another, nil if there is none.
func reach(imports map[string][]string, from, to string) []string {
	ways := [][]string{{from}}
	seen := map[string]bool{from: true}
	for len(ways) > 0 {
		way := ways[0]
		ways = ways[1:]
		for _, next := range imports[way[len(way)-1]] {
			if seen[next] {
				continue
			}
			seen[next] = true
			longer := append(slices.Clone(way), next)
			if next == to {
				return longer
			}
			ways = append(ways, longer)
		}
	}
	return nil
}

func reachable(imports map[string][]string, from string) []string {
	var list []string
	for _, room := range slices.Sorted(func(yield func(string) bool) {
		for name := range edges {
			if !yield(name) {
				return
			}
		}
	}) {
		if room != from && reach(imports, from, room) != nil {
			list = append(list, room)
		}
	}
	return list
}

// testRooms are for tests only; the command inside one of them is for people.
var testRooms = []string{"internal/archtest", "internal/llamatest", "internal/storetest"}

// TestTestRoomsStayInTests holds the test helpers out of the library.
func TestTestRoomsStayInTests(t *testing.T) {
	t.Parallel()
	check(t, func(t tree) []string {
		var list []string
		for _, f := range t.files {
			for _, room := range f.rooms() {
				if slices.Contains(testRooms, room) && !f.test && !slices.ContainsFunc(testRooms, func(r string) bool { return strings.HasPrefix(f.room(), r) }) {
					list = append(list, fmt.Sprintf("%s: imports %q, which is for tests only", f.path, room))
				}
			}
		}
		return list
	}, `
-- internal/store/a.go --
package store
import _ "sakur4/internal/storetest"
-- internal/llamatest/cmd/tinymodel/main.go --
package main
import _ "sakur4/internal/llamatest"
`, `internal/store/a.go: imports "internal/storetest"`)
}

// thirdParty says in which rooms a module may be used. An empty list means tests anywhere, and only those.
var thirdParty = []struct {
	prefix string
	rooms  []string
}{
	{"github.com/ncruces/go-sqlite3", []string{"internal/store"}},
	{"github.com/cespare/xxhash", []string{"internal/digest"}},
	{"github.com/tiktoken-go/tokenizer", []string{"internal/tokens"}},
	{"golang.org/x/sync", []string{".", "internal/consolidate"}},
	{"github.com/google/go-cmp", nil},
}

// TestThirdParty holds each third-party module to its room, tests included. What an adapter needs lives in its own module below examples.
func TestThirdParty(t *testing.T) {
	t.Parallel()
	check(t, func(t tree) []string {
		var list []string
		for _, f := range t.own() {
			for _, name := range f.imports() {
				first, _, _ := strings.Cut(name, "/")
				if !strings.Contains(first, ".") {
					continue
				}
				ok := false
				for _, m := range thirdParty {
					if name == m.prefix || strings.HasPrefix(name, m.prefix+"/") {
						ok = slices.Contains(m.rooms, f.room()) || m.rooms == nil && f.test
					}
				}
				if !ok {
					list = append(list, fmt.Sprintf("%s: imports %q, which this room may not use", f.path, name))
				}
			}
		}
		return list
	}, `
-- evict/a.go --
package evict
import _ "github.com/google/go-cmp/cmp"
-- evict/a_test.go --
package evict_test
import _ "github.com/google/go-cmp/cmp"
-- internal/digest/a.go --
package digest
import _ "github.com/cespare/xxhash/v2"
-- internal/turn/a.go --
package turn
import _ "github.com/cespare/xxhash/v2"
import _ "example.com/new"
`, `evict/a.go: imports "github.com/google/go-cmp/cmp"`, `internal/turn/a.go: imports "github.com/cespare/xxhash/v2"`, `internal/turn/a.go: imports "example.com/new"`)
}
