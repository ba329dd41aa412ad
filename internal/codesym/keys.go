package codesym

const (
	// maxKeyDepth bounds how deeply the keys of JSON, YAML and TOML are listed.
	maxKeyDepth = 4
	// maxKeys bounds how many keys of a file are listed. A file with more of them is data: it is listed less deeply, so that no part of it is preferred.
	maxKeys = 2000
)

// keyList collects the keys of a file with the depth of each, from 1. A key whose value has keys of its own is a module, another one a constant.
type keyList struct {
	*builder
	depths []int
	counts [maxKeyDepth + 1]int
}

// put adds a key and returns its index, -1 where it lies too deep or enough others lie above it.
func (l *keyList) put(d decl, depth int) int {
	above := 0
	for k := 1; k <= depth && k <= maxKeyDepth; k++ {
		above += l.counts[k]
	}
	if depth == 1 && l.counts[1] > maxKeys {
		return -1
	}
	if depth > maxKeyDepth || depth > 1 && above > maxKeys || d.name == "" {
		return -1
	}
	l.counts[depth]++
	l.depths = append(l.depths, depth)
	return l.add(d)
}

// prune leaves out the deepest keys of a file that has too many.
func (l *keyList) prune() {
	keep, sum := 0, 0
	for depth := 1; depth <= maxKeyDepth; depth++ {
		if sum += l.counts[depth]; sum > maxKeys && depth > 1 {
			break
		}
		keep = depth
	}
	if l.counts[1] > maxKeys {
		l.errorAt(0, "more keys than are listed")
	}
	kept := l.decls[:0]
	for i, d := range l.decls {
		if l.depths[i] <= keep {
			kept = append(kept, d)
		}
	}
	l.decls = kept
}

// keyName returns the text of a key without its quotes, as one line of at most 200 bytes.
func keyName(s string) string {
	if n := len(s); n >= 2 && (s[0] == '"' || s[0] == '\'' || s[0] == '`') && s[n-1] == s[0] {
		s = s[1 : n-1]
	}
	return shorten(oneLine(s), maxDoc)
}
