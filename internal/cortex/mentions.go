package cortex

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"sakur4/internal/codesym"
)

// hasWord reports whether a text has a name as a whole word.
func hasWord(text, name string) bool { return wordAt(text, name, 0) >= 0 }

// wordAt returns the offset of the next whole word of that name, -1 for none.
func wordAt(text, name string, from int) int {
	for name != "" && from <= len(text) {
		at := strings.Index(text[from:], name)
		if at < 0 {
			return -1
		}
		at += from
		end := at + len(name)
		if (at == 0 || !identRune(rune(text[at-1]))) && (end == len(text) || !identRune(rune(text[end]))) {
			return at
		}
		from = end
	}
	return -1
}

// mentions yields the uses of a symbol that are no calls, in the files that can name it: those of its package and those that import it. Without texts there
// are none.
func (r *Resolver) mentions(symbol int, yield func(Dependent)) {
	if r.Text == nil {
		return
	}
	g := r.g
	s := &g.src.Symbols[symbol]
	if s.Kind == codesym.Module {
		return
	}
	if r.Exact != nil && g.lang(s.File) == codesym.Go {
		r.exactUses(symbol, yield)
	}
	for _, file := range r.namers(symbol) {
		if r.stopped() {
			return
		}
		text, ok := r.Text(file)
		if !ok || r.Exact.has(file) || !hasWord(text, s.Short) {
			continue
		}
		if g.lang(file) == codesym.Go {
			if !onlyCalled(text, s.Short) {
				r.goMentions(symbol, file, yield)
			}
		} else {
			r.wordMentions(symbol, file, text, yield)
		}
	}
}

// namers returns the files that can name a symbol, sorted.
func (r *Resolver) namers(symbol int) []int {
	g := r.g
	home := g.src.Symbols[symbol].File
	pkg := g.src.Files[home].Package
	if g.lang(home) == codesym.Go {
		var out []int
		for _, i := range r.importsOf(symbol) {
			out = append(out, g.src.Imports[i].File)
		}
		for _, f := range g.byPackage[pkg] {
			out = append(out, int(f))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	out := []int{home}
	if g.lang(home) == codesym.Java { // which knows its package without imports
		out = out[:0]
		for _, f := range g.byPackage[pkg] {
			out = append(out, int(f))
		}
	}
	for _, i := range r.importsOf(symbol) {
		if m := &g.src.Imports[i]; out[len(out)-1] != m.File && r.provides(m, symbol) {
			out = append(out, m.File)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// wordMentions finds a name by its letters.
func (r *Resolver) wordMentions(symbol, file int, text string, yield func(Dependent)) {
	g := r.g
	s := &g.src.Symbols[symbol]
	for at := wordAt(text, s.Short, 0); at >= 0; at = wordAt(text, s.Short, at+1) {
		end := at + len(s.Short)
		if file == s.File && at >= s.Start && at < s.End || strings.HasPrefix(text[end:], "(") || r.inProse(file, text, at) {
			continue
		}
		tier := SameWord
		if s.Kind == codesym.Method {
			if tier = r.memberAt(symbol, file, text, at); tier == 0 {
				continue
			}
		}
		r.mention(symbol, file, at, r.line(file, at), tier, yield)
	}
}

// memberAt says how sure it is that a name in a text means a method, by what stands before its dot; 0 where it is not.
func (r *Resolver) memberAt(symbol, file int, text string, at int) Tier {
	g := r.g
	end := at
	switch {
	case strings.HasSuffix(text[:at], "."):
		end--
	case strings.HasSuffix(text[:at], "::"), strings.HasSuffix(text[:at], "->"):
		end -= 2
	default:
		return 0
	}
	start := end
	for start > 0 && (identRune(rune(text[start-1])) || text[start-1] == '.') {
		start--
	}
	if start == end {
		return 0
	}
	ref := Ref{From: g.SymbolAt(file, at, ""), File: file, Callee: g.src.Symbols[symbol].Short, Receiver: text[start:end], Offset: at}
	p := place{ref: &ref, lang: g.lang(file), callee: ref.Callee, owner: r.ownerOf(ref.From)}
	p.cands = r.sakes(callables, p.callee, p.lang)
	for _, e := range r.resolveMember(&p) {
		if e.Tier < SameWord && g.key(e.To) == g.key(symbol) {
			return e.Tier
		}
	}
	return 0
}

func (r *Resolver) mention(symbol, file, offset, line int, tier Tier, yield func(Dependent)) {
	g := r.g
	from := g.SymbolAt(file, offset, g.src.Symbols[symbol].Short) // of several names that one line hands on
	if from >= 0 && g.key(from) == g.key(symbol) || r.inImport(file, offset) {
		return
	}
	d := Dependent{Symbol: from, File: file, Relation: Mentions, Tier: tier, Confidence: tier.confidence(), Lines: []int{line}}
	r.place(&d)
	yield(d)
}

// inImport reports whether an offset lies in an import declaration.
func (r *Resolver) inImport(file, offset int) bool {
	for _, m := range r.imports(file) {
		if m.Symbol < 0 || r.g.src.Symbols[m.Symbol].Kind != codesym.ImportOf { // what an export hands on breaks with it
			continue
		}
		if s := &r.g.src.Symbols[m.Symbol]; offset >= s.Start && offset < s.End {
			return true
		}
	}
	return false
}

// goMentions finds the uses of a name in a syntax tree.
func (r *Resolver) goMentions(symbol, file int, yield func(Dependent)) {
	if r.gofer == nil {
		r.gofer = newGoInfer(r)
	}
	g := r.g
	s := &g.src.Symbols[symbol]
	f := r.gofer.load(file)
	if f == nil {
		return
	}
	key := g.key(symbol)
	method := s.Kind == codesym.Method
	top := !method && topLevel(g, symbol)
	bare := top && (r.samePackage(file, s.File) || slices.Contains(r.gofer.dotted(file), g.src.Files[s.File].Package))
	for _, use := range f.names()[s.Short] {
		at := int(use.id.Pos()) - f.base
		tier := SamePackage
		switch {
		case use.key && s.Kind != codesym.Constant:
			continue // a field, which may well have the name of a type or a function
		case use.of == nil:
			if _, local := r.gofer.binding(f, s.Short, use.id.Pos()); local || !bare || declares(g, file, at, symbol) {
				continue
			}
		default:
			if pkg, ok := r.gofer.imported(f, use.of); ok {
				if !top || pkg != g.src.Files[s.File].Package {
					continue
				}
				tier = ImportedName
			} else if tier = ReceiverType; !method || !r.gofer.reaches(f, use.of, s.Short, key) {
				continue
			}
		}
		r.mention(symbol, file, at, r.line(file, at), tier, yield)
	}
}

// reaches reports whether a method of a value, or of a type, is the one of that key.
func (n *goInfer) reaches(f *goFile, x ast.Expr, name string, key int32) bool {
	n.busy = 0
	t, ok := n.typeOf(f, x)
	if !ok {
		n.busy = 0
		t, ok = n.resolveType(f, x) // a method expression
	}
	if !ok || t.symbol < 0 && t.expr == nil {
		return false
	}
	m := n.method(&t, name, 0)
	return m >= 0 && n.r.g.key(m) == key
}

// goUse is a name in a file that is neither called nor declared there.
type goUse struct {
	id  *ast.Ident
	of  ast.Expr // what stands before the dot, nil for nothing
	key bool     // of a composite literal
}

// names returns the uses of names in a file that are no calls, in the order of the source.
func (f *goFile) names() map[string][]goUse {
	if f.uses != nil {
		return f.uses
	}
	f.uses = map[string][]goUse{}
	taken := map[*ast.Ident]bool{f.ast.Name: true}
	keys := map[*ast.Ident]bool{}
	put := func(id *ast.Ident, of ast.Expr) {
		if !taken[id] {
			f.uses[id.Name] = append(f.uses[id.Name], goUse{id, of, keys[id]})
		}
		taken[id] = true
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if id := calleeOf(n); id != nil {
				taken[id] = true
			}
		case *ast.KeyValueExpr:
			if id, ok := n.Key.(*ast.Ident); ok {
				keys[id] = true
			}
		case *ast.Field:
			for _, id := range n.Names {
				taken[id] = true
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				taken[id] = true
			}
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				if id, ok := x.(*ast.Ident); ok && n.Tok == token.DEFINE {
					taken[id] = true
				}
			}
		case *ast.SelectorExpr:
			put(n.Sel, n.X)
			taken[n.Sel] = true
		case *ast.Ident:
			put(n, nil)
		}
		return true
	})
	return f.uses
}

// declares reports whether an offset lies in the declaration of a symbol, where its own name is no use.
func declares(g *Graph, file, offset, symbol int) bool {
	for i := range g.variants(symbol) {
		if s := &g.src.Symbols[i]; s.File == file && offset >= s.Start && offset < s.End {
			return true
		}
	}
	return false
}
