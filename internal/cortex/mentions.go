package cortex

import (
	"go/ast"
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
	for _, file := range r.namers(symbol) {
		text, ok := r.Text(file)
		if !ok || !hasWord(text, s.Short) {
			continue
		}
		if g.lang(file) == codesym.Go {
			r.goMentions(symbol, file, yield)
		} else if s.Kind != codesym.Method {
			r.wordMentions(symbol, file, text, yield)
		}
	}
}

// namers returns the files that can name a symbol, sorted.
func (r *Resolver) namers(symbol int) []int {
	g := r.g
	home := g.src.Symbols[symbol].File
	var out []int
	next := 0 // in the imports, which are sorted by file as well
	for file := range g.src.Files {
		ok := file == home || g.lang(file) == codesym.Go && g.src.Files[file].Package == g.src.Files[home].Package
		for ; next < len(g.src.Imports) && g.src.Imports[next].File == file; next++ {
			ok = ok || r.provides(file, &g.src.Imports[next], symbol)
		}
		if ok {
			out = append(out, file)
		}
	}
	return out
}

// wordMentions finds a name by its letters.
func (r *Resolver) wordMentions(symbol, file int, text string, yield func(Dependent)) {
	g := r.g
	s := &g.src.Symbols[symbol]
	for at := wordAt(text, s.Short, 0); at >= 0; at = wordAt(text, s.Short, at+1) {
		end := at + len(s.Short)
		if file == s.File && at >= s.Start && at < s.End || strings.HasPrefix(text[end:], "(") || inComment(text, at) {
			continue
		}
		r.mention(symbol, file, at, 1+strings.Count(text[:at], "\n"), SameWord, yield)
	}
}

// inComment reports whether the line of an offset is a comment up to there.
func inComment(text string, at int) bool {
	line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	trimmed := strings.TrimLeft(line, " \t")
	return strings.Contains(line, "//") || strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, "*") || strings.HasPrefix(trimmed, "/*")
}

func (r *Resolver) mention(symbol, file, offset, line int, tier Tier, yield func(Dependent)) {
	g := r.g
	from := g.SymbolAt(file, offset, "")
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
	called := map[*ast.Ident]bool{}
	text, _ := r.Text(file)
	say := func(id *ast.Ident, tier Tier) {
		at := int(id.Pos()) - f.base
		r.mention(symbol, file, at, 1+strings.Count(text[:at], "\n"), tier, yield)
	}
	method := s.Kind == codesym.Method
	bare := r.samePackage(file, s.File) && !method && topLevel(g, symbol)
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if id := calleeOf(n); id != nil {
				called[id] = true
			}
		case *ast.KeyValueExpr:
			if id, ok := n.Key.(*ast.Ident); ok && s.Kind != codesym.Constant {
				called[id] = true // a field, which may well have the name of a type or a function
			}
		case *ast.Field:
			for _, id := range n.Names {
				called[id] = true
			}
		case *ast.SelectorExpr:
			id := n.Sel
			seen := called[id]
			called[id] = true
			if seen || id.Name != s.Short {
				return true
			}
			if pkg, ok := r.gofer.imported(f, n.X); ok {
				if !method && topLevel(g, symbol) && pkg == g.src.Files[s.File].Package {
					say(id, ImportedName)
				}
				return true
			}
			if !method {
				return true
			}
			r.gofer.busy = 0
			if t, ok := r.gofer.typeOf(f, n.X); ok && (t.symbol >= 0 || t.expr != nil) {
				if m := r.gofer.method(&t, id.Name, 0); m >= 0 && g.key(m) == key {
					say(id, ReceiverType)
				}
			} else if t, ok := r.gofer.resolveType(f, n.X); ok && t.symbol >= 0 { // a method expression
				if m := r.gofer.method(&t, id.Name, 0); m >= 0 && g.key(m) == key {
					say(id, ReceiverType)
				}
			}
		case *ast.Ident:
			if !bare || called[n] || n.Name != s.Short || declares(g, file, int(n.Pos())-f.base, symbol) {
				return true
			}
			if _, local := r.gofer.binding(f, n.Name, n.Pos()); local {
				return true
			}
			say(n, SamePackage)
		}
		return true
	})
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
