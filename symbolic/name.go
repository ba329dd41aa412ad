package symbolic

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"sakur4/internal/digest"
	"sakur4/toolparse"
)

// MaxValueBytes bounds a fact's value. A longer one is cut between two characters and ends with the count of bytes that follow;
// its hash still covers all of them. Values are there to be shown and compared, the whole bytes stay in the record.
const MaxValueBytes = 4096

func clip(s string) string {
	if len(s) <= MaxValueBytes {
		return valid(s)
	}
	n := MaxValueBytes
	for n > MaxValueBytes-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return valid(s[:n]) + "… [" + strconv.Itoa(len(s)-n) + " more bytes]"
}

// valid returns s with U+FFFD for each run of bytes that are no UTF-8.
func valid(s string) string {
	if utf8.ValidString(s) { // which looks at eight bytes at a time
		return s
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

// shortDigits is the length of [digest.Digest.Short].
const shortDigits = 8

// namePrefix returns the part of the qualified names that the call gives: tool name, "#" and 8 hexadecimal digits over the canonical arguments.
// A file that the cortex read has no call; its path is part of the key already.
func namePrefix(ev Evidence) string {
	if ev.IsFile() {
		return ""
	}
	var room [512]byte
	b := room[:0]
	if arguments, ok := toolparse.CanonicalJSON(ev.Arguments()); ok {
		b = append(append(b, "json\n"...), arguments...)
	} else {
		b = append(append(b, "raw\n"...), ev.Arguments()...)
	}
	return ev.ToolName() + "#" + digest.OfBytes(b).Short()
}

// callEnd returns the length of what [namePrefix] put in front of a qualified name, or of the whole name where it put nothing there.
func callEnd[T string | []byte](qualifiedName T) int {
	for at := range len(qualifiedName) {
		if qualifiedName[at] == '#' {
			if end := at + 1 + shortDigits; end <= len(qualifiedName) {
				return end
			}
			break
		}
	}
	return len(qualifiedName)
}

// uniquer gives equal names of a kind the suffixes #2, #3 … in source order, and never the name that another place has taken.
type uniquer struct {
	first named // the first name that was taken, in by as soon as there is another
	some  bool
	by    map[named]use
	hint  int // how many names there may be
}

type named struct{ kind, name string }

// use is how often a name was asked for, and whether it was given.
type use struct {
	asked int
	taken bool
}

// free reports whether nobody has asked for or been given the name.
func (u *uniquer) free(kind string, name []byte) bool {
	if u.by == nil {
		return !u.some || u.first.kind != kind || u.first.name != string(name)
	}
	_, known := u.by[named{kind, string(name)}]
	return !known
}

// take gives out a name that is free.
func (u *uniquer) take(kind, name string) {
	if !u.some {
		u.first, u.some = named{kind, name}, true
		return
	}
	u.many()[named{kind, name}] = use{asked: 1, taken: true}
}

func (u *uniquer) many() map[named]use {
	if u.by == nil {
		u.by = make(map[named]use, u.hint)
		u.by[u.first] = use{asked: 1, taken: true}
	}
	return u.by
}

// another gives out a name in place of one that is not free.
func (u *uniquer) another(kind, name string) string {
	by := u.many()
	key := named{kind, name}
	for {
		of := by[key]
		of.asked++
		by[key] = of
		unique := name
		if of.asked > 1 {
			unique += "#" + strconv.Itoa(of.asked)
		}
		given := named{kind, unique}
		if of := by[given]; !of.taken {
			of.taken = true
			by[given] = of
			return unique
		}
	}
}
