package sakur4_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sakur4"
	"sakur4/internal/store"
)

// codeProject is an indexed project on the disk.
type codeProject struct {
	t   *testing.T
	dir string
	db  string
	e   *sakur4.Engine
	now time.Time
}

const bankSource = `
-- go.mod --
module bank
-- account/account.go --
package account

// Account holds money.
type Account struct{ cents int }

// Withdraw takes money out.
func (a *Account) Withdraw(cents int) bool { a.cents -= cents; return a.cents >= 0 }

// Limit is the most that a day allows.
const Limit = 1000
-- till/till.go --
package till

import "bank/account"

type Taker interface{ Withdraw(cents int) bool }

func Pay(a *account.Account) bool { return a.Withdraw(account.Limit) }

func Twice(a *account.Account) bool { return Pay(a) && Pay(a) }

func any1(t Taker) { t.Withdraw(1) }
-- till/till_test.go --
package till

import "testing"

func TestTwice(t *testing.T) { Twice(nil) }
`

func newCodeProject(t *testing.T, files string) *codeProject {
	t.Helper()
	p := &codeProject{t: t, dir: t.TempDir(), db: filepath.Join(t.TempDir(), "s.db"), now: time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)}
	name := ""
	texts := map[string]string{}
	for line := range strings.Lines(files) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "-- "); ok {
			name = strings.TrimSuffix(n, " --")
		} else if name != "" {
			texts[name] += line
		}
	}
	for name, text := range texts {
		p.write(name, text)
	}
	p.open(false)
	p.index()
	return p
}

func (p *codeProject) open(readOnly bool) {
	p.t.Helper()
	e, err := sakur4.Open(p.t.Context(), p.db, &sakur4.Options{ProjectRoot: p.dir, ReadOnly: readOnly, Now: func() time.Time { return p.now }})
	if err != nil {
		p.t.Fatal(err)
	}
	p.e = e
	p.t.Cleanup(func() { _ = e.Close() })
}

func (p *codeProject) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *codeProject) edit(name, old, new string) {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil || !strings.Contains(string(b), old) {
		p.t.Fatalf("%s has no %q: %v", name, old, err)
	}
	p.write(name, strings.Replace(string(b), old, new, 1))
}

func (p *codeProject) index() {
	p.t.Helper()
	if _, err := p.e.Index(p.t.Context(), sakur4.IndexOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *codeProject) impact(name string, o sakur4.ImpactOptions) sakur4.ImpactReport {
	p.t.Helper()
	r, err := p.e.ImpactWith(p.t.Context(), name, o)
	if err != nil {
		p.t.Fatalf("Impact(%q): %v", name, err)
	}
	return r
}

// lines lists what a report says: "distance name relation via tier state".
func impactLines(r sakur4.ImpactReport) []string {
	var out []string
	for i, level := range r.Levels {
		for _, d := range level {
			mark := ""
			if d.Test {
				mark = " test"
			}
			out = append(out, fmt.Sprintf("%d %s %s %s (%s)%s %s", i+1, d.Name, d.Relation, d.Via, d.Tier, mark, d.State))
		}
	}
	return out
}

// TestImpactFreshness edits one side of a call and then the other, with and without indexing in between.
func TestImpactFreshness(t *testing.T) {
	t.Parallel()
	p := newCodeProject(t, bankSource)
	const target = "Account.Withdraw"
	check := func(step, pay, twice string) {
		t.Helper()
		want := []string{
			"1 Pay calls Account.Withdraw (receiver type) " + pay,
			"1 any1 calls Account.Withdraw (through an interface) fresh",
			"2 Twice calls Pay (same file) " + twice,
		}
		if d := cmp.Diff(want, impactLines(p.impact(target, sakur4.ImpactOptions{Depth: 2}))); d != "" {
			t.Errorf("%s: (-want +got)\n%s", step, d)
		}
	}
	check("as written", "fresh", "fresh")
	p.edit("account/account.go", "a.cents -= cents;", "a.cents = a.cents - cents;")
	check("callee edited", "fresh", "fresh")
	p.index()
	check("callee edited and indexed", "fresh", "fresh")
	p.edit("till/till.go", "return a.Withdraw(account.Limit) }", "return a.Withdraw(account.Limit / 2) }")
	check("caller edited", "changed since it last saw this symbol", "fresh")
	p.index()
	check("caller edited and indexed", "changed since it last saw this symbol", "fresh")
	p.edit("till/till.go", "\nfunc Pay", "\n// Pay pays.\nfunc   Pay")
	check("caller moved and commented", "changed since it last saw this symbol", "fresh")
	p.edit("till/till.go", "account.Limit / 2", "account.Limit")
	check("caller edited back", "fresh", "fresh")

	r := p.impact(target, sakur4.ImpactOptions{})
	if r.Changed != 0 || r.Tests != 0 {
		t.Errorf("Impact = %d changed, %d tests, want none", r.Changed, r.Tests)
	}
	p.edit("till/till.go", "func   Pay(a *account.Account) bool", "func Pay(a *account.Account) (ok bool)")
	r = p.impact(target, sakur4.ImpactOptions{Depth: 3})
	if r.Changed != 1 || r.Tests != 1 {
		t.Errorf("Impact = %d changed, %d tests, want one of each", r.Changed, r.Tests)
	}
	for _, want := range []string{"[STALE: changed since it last saw this symbol]\n    func Pay(a *account.Account) (ok bool)", "TestTwice calls Twice", "[test]", "<sakur4:note kind=\"impact\">",
		"func (a *Account) Withdraw(cents int) bool"} {
		if !strings.Contains(r.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, r)
		}
	}
}

// TestImpactExact asks the type checker, and goes on where it cannot answer.
func TestImpactExact(t *testing.T) {
	t.Parallel()
	p := newCodeProject(t, strings.ReplaceAll(bankSource, `import "testing"`, `import testing "bank/account"`)+`
-- broken/broken.go --
package broken
import "nowhere.invalid/x"
func use(a x.A) { a.Withdraw(1) }
-- account/account.py --
def other(): pass
def caller(): other()
`)
	// The standard library is not needed, so that nothing large is read.
	r := p.impact("Account.Withdraw", sakur4.ImpactOptions{Depth: 1, GoTypes: true})
	want := []string{"1 Pay calls Account.Withdraw (exact) fresh", "1 any1 calls Account.Withdraw (through an interface) fresh"}
	if d := cmp.Diff(want, impactLines(r)); d != "" || !r.Exact {
		t.Errorf("exact %t, (-want +got)\n%s", r.Exact, d)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "packages have errors") {
		t.Errorf("Notes = %q, want one about packages with errors", r.Notes)
	}
	r = p.impact("other", sakur4.ImpactOptions{Depth: 1, GoTypes: true})
	if d := cmp.Diff([]string{"1 caller calls other (same file) fresh"}, impactLines(r)); d != "" {
		t.Errorf("Python beside Go: (-want +got)\n%s", d)
	}
	q := newCodeProject(t, "-- a.py --\ndef f(): pass\ndef g(): f()\n")
	r = q.impact("f", sakur4.ImpactOptions{GoTypes: true})
	if d := cmp.Diff([]string{"1 g calls f (same file) fresh"}, impactLines(r)); d != "" || r.Exact || len(r.Notes) != 1 {
		t.Errorf("without Go: exact %t, notes %q, (-want +got)\n%s", r.Exact, r.Notes, d)
	}
}

// TestImpactOfTypes looks at types and constants, which are implemented, named and imported.
func TestImpactOfTypes(t *testing.T) {
	t.Parallel()
	p := newCodeProject(t, bankSource)
	want := []string{"1 Account implements Taker (method set) fresh", "1 any1 mentions Taker (same package) fresh"}
	if d := cmp.Diff(want, impactLines(p.impact("Taker", sakur4.ImpactOptions{Depth: 1}))); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if d := cmp.Diff(want, impactLines(p.impact("Taker", sakur4.ImpactOptions{Depth: 1}))); d != "" {
		t.Errorf("again: (-want +got)\n%s", d)
	}
	p.edit("account/account.go", "cents int }", "cents int64 }")
	want[0] = "1 Account implements Taker (method set) changed since it last saw this symbol"
	if d := cmp.Diff(want, impactLines(p.impact("Taker", sakur4.ImpactOptions{Depth: 1}))); d != "" {
		t.Errorf("after an edit: (-want +got)\n%s", d)
	}
	r := p.impact("account.Limit", sakur4.ImpactOptions{Depth: 1})
	if d := cmp.Diff([]string{"till/till.go"}, r.Importers); d != "" {
		t.Errorf("Importers: (-want +got)\n%s", d)
	}
	if d := cmp.Diff([]string{"1 Pay mentions Limit (imported name) fresh"}, impactLines(r)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestImpactOfWhatNobodyAskedFor edits callers, users and implementers before the first report of all. A call was seen when it was indexed. What else an edited symbol
// uses, and when it was first seen to, is on no record.
func TestImpactOfWhatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	p := newCodeProject(t, bankSource)
	p.edit("till/till.go", "return a.Withdraw(account.Limit) }", "return a.Withdraw(account.Limit / 2) }")
	p.edit("till/till.go", "t.Withdraw(1) }", "t.Withdraw(1); t.Withdraw(2) }")
	p.edit("account/account.go", "cents int }", "cents int64 }")
	p.index()
	for name, want := range map[string][]string{
		"Account.Withdraw": {"1 Pay calls Account.Withdraw (receiver type) changed since it last saw this symbol",
			"1 any1 calls Account.Withdraw (through an interface) changed since it last saw this symbol"},
		"Pay":           {"1 Twice calls Pay (same file) fresh"},
		"Taker":         {"1 Account implements Taker (method set) not checked", "1 any1 mentions Taker (same package) not checked"},
		"account.Limit": {"1 Pay mentions Limit (imported name) not checked"},
	} {
		if d := cmp.Diff(want, impactLines(p.impact(name, sakur4.ImpactOptions{Depth: 1}))); d != "" {
			t.Errorf("Impact(%s) (-want +got)\n%s", name, d)
		}
	}
}

// TestImpactReadOnly writes nothing and sees edits all the same.
func TestImpactReadOnly(t *testing.T) {
	t.Parallel()
	p := newCodeProject(t, bankSource)
	if err := p.e.Close(); err != nil {
		t.Fatal(err)
	}
	p.open(true)
	p.edit("till/till.go", "return Pay(a) && Pay(a)", "return Pay(a) && a.Withdraw(3)")
	// What the file's calls had seen is in the index, which may not be written.
	want := []string{"1 Pay calls Account.Withdraw (receiver type) not checked", "1 Twice calls Account.Withdraw (receiver type) not checked",
		"1 any1 calls Account.Withdraw (through an interface) not checked"}
	got := impactLines(p.impact("Account.Withdraw", sakur4.ImpactOptions{Depth: 1}))
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestImpactRecordsEdges looks into the dependency graph after reports, and after what was reported is gone.
func TestImpactRecordsEdges(t *testing.T) {
	t.Parallel()
	p := newCodeProject(t, bankSource)
	for _, name := range []string{"Account.Withdraw", "Taker", "Limit"} {
		p.impact(name, sakur4.ImpactOptions{Depth: 1})
	}
	type edge struct {
		From, Kind, To, Site string
		Confidence           float64
		Seen                 bool
	}
	edges := func() []edge {
		t.Helper()
		project := p.e.Project()
		names := map[string]string{}
		for row, err := range p.e.Facts(t.Context(), sakur4.FactFilter{}) {
			if err != nil {
				t.Fatal(err)
			}
			names[row.FactID] = row.QualifiedName
		}
		if err := p.e.Close(); err != nil {
			t.Fatal(err)
		}
		st, err := store.Open(t.Context(), store.Config{Path: p.db, ReadOnly: true, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		var out []edge
		err = st.Read(t.Context(), func(r *store.Reader) error {
			list, err := r.Edges(project, "", "", "")
			for _, e := range list {
				out = append(out, edge{names[e.From], e.Kind, names[e.To], e.Site, e.Confidence, e.SeenHash != ""})
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(out, func(a, b edge) int { return strings.Compare(a.Kind+a.From, b.Kind+b.From) })
		p.open(false)
		return out
	}
	want := []edge{
		{"Pay", "calls", "Account.Withdraw", "till/till.go:7", 0.9, true},
		{"any1", "calls", "Account.Withdraw", "till/till.go:11", 0.54, true},
		{"Account", "implements", "Taker", "account/account.go:4", 0.85, true},
		{"bank/account", "imports", "Limit", "till/till.go:3", 1, true},
	}
	if d := cmp.Diff(want, edges(), cmpopts.EquateApprox(0, 1e-9)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	p.edit("till/till.go", "return a.Withdraw(account.Limit)", "return a != nil")
	for _, name := range []string{"Account.Withdraw", "Limit"} {
		p.impact(name, sakur4.ImpactOptions{Depth: 1})
	}
	if d := cmp.Diff(want[1:3], edges(), cmpopts.EquateApprox(0, 1e-9)); d != "" {
		t.Errorf("after the call is gone: (-want +got)\n%s", d)
	}
}

func TestImpactErrors(t *testing.T) {
	t.Parallel()
	p := newCodeProject(t, bankSource)
	var unknown *sakur4.SymbolError
	for _, name := range []string{"", "Acount.Withdraw", "Nothing"} {
		if _, err := p.e.Impact(t.Context(), name, 1); !errors.As(err, &unknown) || !errors.Is(err, sakur4.ErrNotFound) {
			t.Errorf("Impact(%q): %v, want a SymbolError", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.e.Impact(ctx, "Pay", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Impact that is cancelled: %v", err)
	}
	if r := p.impact("Account.Withdraw", sakur4.ImpactOptions{Depth: 3, Limit: 1}); r.LeftOut != 3 || len(impactLines(r)) != 1 {
		t.Errorf("Impact with a limit of 1 = %q, %d left out, want 1 and 3", impactLines(r), r.LeftOut)
	}
	empty, err := sakur4.Open(t.Context(), ":memory:", &sakur4.Options{ProjectRoot: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	if _, err := empty.Impact(t.Context(), "Pay", 1); !errors.As(err, &unknown) || !unknown.NothingIndexed {
		t.Errorf("Impact without an index: %v", err)
	}
	if _, err := empty.RepoMap(t.Context(), sakur4.RepoMapOptions{}); !errors.As(err, &unknown) || !unknown.NothingIndexed {
		t.Errorf("RepoMap without an index: %v", err)
	}
}
