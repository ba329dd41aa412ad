package sakur4_test

import (
	"errors"
	"strings"
	"testing"

	"sakur4"
)

// TestRepoMap maps a small project in many budgets.
func TestRepoMap(t *testing.T) {
	t.Parallel()
	p := newCodeProject(t, bankSource)
	full, err := p.e.RepoMap(t.Context(), sakur4.RepoMapOptions{Budget: 10000})
	if err != nil {
		t.Fatal(err)
	}
	if full.LeftOut != 0 || full.Symbols != len(full.Names) {
		t.Errorf("RepoMap = %d symbols, %d names, %d left out, want all", full.Symbols, len(full.Names), full.LeftOut)
	}
	for _, want := range []string{"account/account.go:\n", "  func (a *Account) Withdraw(cents int) bool\n", "  type Taker interface\n"} {
		if !strings.Contains(full.Text, want) {
			t.Errorf("the map has no %q:\n%s", want, full.Text)
		}
	}
	for _, names := range []bool{false, true} {
		whole, err := p.e.RepoMap(t.Context(), sakur4.RepoMapOptions{Budget: 10000, NamesOnly: names})
		if err != nil {
			t.Fatal(err)
		}
		for budget := 1; budget <= whole.Tokens; budget++ {
			m, err := p.e.RepoMap(t.Context(), sakur4.RepoMapOptions{Budget: budget, NamesOnly: names})
			var small *sakur4.BudgetError
			if errors.As(err, &small) {
				if small.Need <= budget || small.Have != budget {
					t.Errorf("budget %d: %v", budget, small)
				}
				continue
			}
			if err != nil || m.Tokens > budget || sakur4.O200kBase().Count(m.Text) != m.Tokens || !strings.HasPrefix(whole.Text, m.Text) || m.Symbols+m.LeftOut != full.Symbols {
				t.Errorf("budget %d: %+v, %v, want a beginning of %q", budget, m, err, whole.Text)
			}
		}
		for _, name := range whole.Names {
			s, err := p.e.Symbol(t.Context(), name)
			if err != nil || s.Name != name {
				t.Errorf("Symbol(%q) = %q, %v", name, s.Name, err)
			}
			if _, err := p.e.Impact(t.Context(), name, 1); err != nil {
				t.Errorf("Impact(%q): %v", name, err)
			}
		}
	}
}

// TestRepoMapIsAttached puts a map into a prompt.
func TestRepoMapIsAttached(t *testing.T) {
	t.Parallel()
	p := newCodeProject(t, bankSource)
	m, err := p.e.RepoMap(t.Context(), sakur4.RepoMapOptions{Focus: []string{"till"}})
	if err != nil {
		t.Fatal(err)
	}
	s := p.e.Session("s")
	if _, err := s.Commit(t.Context(), sakur4.Turn{Role: sakur4.RoleUser, Content: "Where is money taken out?"}); err != nil {
		t.Fatal(err)
	}
	if got := m.String(); !strings.HasPrefix(got, "<sakur4:note kind=\"repo-map\">\n"+m.Text) || !strings.HasSuffix(got, "\n</sakur4:note>") {
		t.Errorf("String = %q, want the map in a frame", got)
	}
	if _, err := s.Attach(t.Context(), sakur4.Note{Kind: sakur4.NoteRepoMap, Text: m.Text}); err != nil {
		t.Fatal(err)
	}
	w, err := s.Window(t.Context(), sakur4.Head{})
	if err != nil {
		t.Fatal(err)
	}
	if last := w.Messages[len(w.Messages)-1].Content; !strings.Contains(last, strings.TrimSpace(m.Text)) {
		t.Errorf("the prompt ends in %q, want the map in it:\n%s", last, m.Text)
	}
}

// TestRepoMapSeesEdits ranks what is in the files and not what was.
func TestRepoMapSeesEdits(t *testing.T) {
	t.Parallel()
	p := newCodeProject(t, bankSource)
	p.edit("account/account.go", ") Withdraw", ") TakeOut")
	m, err := p.e.RepoMap(t.Context(), sakur4.RepoMapOptions{NamesOnly: true})
	if err != nil || strings.Contains(m.Text, "Account.Withdraw") || !strings.Contains(m.Text, "Account.TakeOut") {
		t.Errorf("RepoMap after an edit: %v\n%s", err, m.Text)
	}
}
