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
		return strings.ToValidUTF8(s, "\ufffd")
	}
	n := MaxValueBytes
	for n > MaxValueBytes-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.ToValidUTF8(s[:n], "\ufffd") + "… [" + strconv.Itoa(len(s)-n) + " more bytes]"
}

// shortDigits is the length of [digest.Digest.Short].
const shortDigits = 8

// namePrefix returns the part of the qualified names that the call gives: tool name, "#" and 8 hexadecimal digits over the canonical arguments.
// A file that the cortex read has no call; its path is part of the key already.
func namePrefix(ev Evidence) string {
	if ev.IsFile() {
		return ""
	}
	arguments, ok := toolparse.CanonicalJSON(ev.Arguments())
	if ok {
		arguments = "json\n" + arguments
	} else {
		arguments = "raw\n" + ev.Arguments()
	}
	return ev.ToolName() + "#" + digest.Of(arguments).Short()
}

// callOf returns what [namePrefix] put in front of a qualified name, or the whole name where it put nothing there.
func callOf(qualifiedName string) string {
	at := strings.IndexByte(qualifiedName, '#')
	if end := at + 1 + shortDigits; at >= 0 && end <= len(qualifiedName) {
		return qualifiedName[:end]
	}
	return qualifiedName
}

// uniquer gives equal names of a kind the suffixes #2, #3 … in source order, and never the name that another place has taken.
type uniquer map[named]use

type named struct{ kind, name string }

// use is how often a name was asked for, and whether it was given.
type use struct {
	asked int
	taken bool
}

func (u *uniquer) unique(kind, name string) string {
	if *u == nil {
		*u = uniquer{}
	}
	key := named{kind, name}
	for {
		of := (*u)[key]
		of.asked++
		(*u)[key] = of
		unique := name
		if of.asked > 1 {
			unique += "#" + strconv.Itoa(of.asked)
		}
		given := named{kind, unique}
		if of := (*u)[given]; !of.taken {
			of.taken = true
			(*u)[given] = of
			return unique
		}
	}
}
