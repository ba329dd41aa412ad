package store

import (
	"slices"
	"sync"
)

// maxKnownPostings bounds how many postings are remembered, of all terms together: 8 MB. Beyond it all are forgotten, and those that are asked for read anew.
const maxKnownPostings = 1 << 20

// knownTerms remembers the postings of terms. Words that are asked for often are mostly common ones, and the index hands out its postings one by one. It
// is kept for the tracks whose documents are added and never changed, so that what was read stays right, also where another process adds to it: what
// came since is read, and an older snapshot sees what its own last document had. What a search finds does not depend on it.
type knownTerms struct {
	mu    sync.Mutex // guards the fields below
	terms map[termKey]knownTerm
	size  int
}

// termKey is a term of a track, with its project.
type termKey struct{ track, term string }

// knownTerm are the postings of a term in their order, which nobody changes. Either all up to the document upTo are there, or those that hold the term once.
type knownTerm struct {
	postings []posting
	upTo     int64
	complete bool
}

// get returns what is remembered of a term, as a snapshot with that last document has it.
func (k *knownTerms) get(key termKey, top int64) knownTerm {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.terms[key]
	if t.upTo > top {
		i, _ := slices.BinarySearch(t.postings, newPosting(top+1, 0))
		t.postings, t.upTo = t.postings[:i:i], top
	}
	return t
}

// put remembers what was read of a term, unless more is known.
func (k *knownTerms) put(key termKey, t knownTerm) {
	k.mu.Lock()
	defer k.mu.Unlock()
	old, known := k.terms[key]
	if old.complete && !t.complete || old.complete == t.complete && old.upTo >= t.upTo {
		return
	}
	if known {
		k.size -= old.size()
	}
	if k.size += t.size(); k.terms == nil || k.size > maxKnownPostings {
		k.terms, k.size = map[termKey]knownTerm{}, t.size()
	}
	k.terms[key] = t
}

func (k *knownTerms) forget(key termKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if old, ok := k.terms[key]; ok {
		k.size -= old.size()
		delete(k.terms, key)
	}
}

// size counts the postings, and the term like some of them.
func (t knownTerm) size() int { return 16 + len(t.postings) }

const (
	// blockDocuments is how many documents are read together and remembered: about as many as the context of one.
	blockDocuments = 8
	// maxKnownBlocks bounds them: 12 MB.
	maxKnownBlocks = 1 << 15
)

// knownDocuments remembers what the index says of documents of episodes, which are added and never changed.
type knownDocuments struct {
	mu     sync.Mutex // guards blocks
	blocks map[int64][]document
}

// get returns the documents of a block, and whether it is remembered.
func (k *knownDocuments) get(block int64) ([]document, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	docs, ok := k.blocks[block]
	return docs, ok
}

// put remembers documents in their order, of whole blocks up to the last of which there are all.
func (k *knownDocuments) put(docs []document, top int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(docs) > 0 {
		block := docs[0].number / blockDocuments
		end, _ := slices.BinarySearchFunc(docs, (block+1)*blockDocuments, byNumber)
		if (block+1)*blockDocuments-1 <= top {
			if k.blocks == nil || len(k.blocks) >= maxKnownBlocks {
				k.blocks = map[int64][]document{}
			}
			k.blocks[block] = slices.Clone(docs[:end])
		}
		docs = docs[end:]
	}
}
