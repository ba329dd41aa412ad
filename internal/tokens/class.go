package tokens

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// class is what the splitting rules need to know of a character. Every character has exactly one.
type class uint8

const (
	other   class = iota // none of the others: punctuation, symbols, controls, unassigned
	newline              // \r and \n
	space                // White_Space but for newlines
	number               // \p{N}
	upper                // \p{Lu}, \p{Lt}
	lower                // \p{Ll}
	letter               // \p{Lm}, \p{Lo}
	mark                 // \p{M}
)

// classTable gives the class of every character through pages of 256, most of which are shared.
type classTable struct {
	ascii [utf8.RuneSelf]class // the first half of the first page
	page  [(unicode.MaxRune + 1) >> 8]uint16
	pages [][256]class
}

var classes = sync.OnceValue(func() *classTable {
	t := &classTable{pages: make([][256]class, 1)} // page 0: nothing but other
	own := make(map[int]bool)
	set := func(r rune, c class) {
		p := int(r >> 8)
		if !own[p] {
			own[p] = true
			t.page[p] = uint16(len(t.pages))
			t.pages = append(t.pages, [256]class{})
		}
		t.pages[t.page[p]][r&0xff] = c
	}
	add := func(rt *unicode.RangeTable, c class) {
		for _, r := range rt.R16 {
			for x := rune(r.Lo); x <= rune(r.Hi); x += rune(r.Stride) {
				set(x, c)
			}
		}
		for _, r := range rt.R32 {
			for x := rune(r.Lo); x <= rune(r.Hi); x += rune(r.Stride) {
				set(x, c)
			}
		}
	}
	add(unicode.White_Space, space)
	add(unicode.N, number)
	add(unicode.Lu, upper)
	add(unicode.Lt, upper)
	add(unicode.Ll, lower)
	add(unicode.Lm, letter)
	add(unicode.Lo, letter)
	add(unicode.M, mark)
	for _, r := range unicode16 {
		for x := r.first; x <= r.last; x++ {
			set(x, r.class)
		}
	}
	set('\r', newline)
	set('\n', newline)
	copy(t.ascii[:], t.pages[t.page[0]][:])
	return t
})

// at returns the class and the length in bytes of the character at byte i of s; at the end of s it is 0 bytes of other.
func (t *classTable) at(s string, i int) (class, int) {
	if i < len(s) && s[i] < utf8.RuneSelf {
		return t.ascii[s[i]], 1
	}
	return t.beyond(s, i)
}

// beyond is at for what is not ASCII.
func (t *classTable) beyond(s string, i int) (class, int) {
	if i >= len(s) {
		return other, 0
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	return t.pages[t.page[r>>8]][r&0xff], n
}
