package store

import "github.com/ncruces/go-sqlite3"

// maxKnown bounds how many sessions, tokenizers and episodes are remembered, of each.
const maxKnown = 256

// known is what the writer's connection has read or written of where the next episode goes. It holds as long as no other connection has written: a commit then has
// nothing to look up. It is guarded by the store's writer.
type known struct {
	valid      bool
	version    uint32 // SQLite's number of the state that it was read in
	top        int64  // the highest position in the store; 0 where it is not known
	revision   int64  // the highest of a fact; 0 where it is not known
	sessions   map[sessionName]session
	tokenizers map[string]int64
	episodes   map[string]episodePlace
}

type sessionName struct{ project, session string }

// session has the numbers of a session and its project, and the highest position in it.
type session struct{ project, num, last int64 }

type episodePlace struct{ project, seq int64 }

// check forgets everything where another connection has written since. It is called in a transaction, which fixes the state.
func (k *known) check(c *conn) {
	if now, ok := dataVersion(c); !ok {
		k.forget()
	} else if !k.valid || k.version != now {
		*k = known{valid: true, version: now, sessions: map[sessionName]session{}, tokenizers: map[string]int64{}, episodes: map[string]episodePlace{}}
	}
}

// keep is called after each commit, which makes a state of its own.
func (k *known) keep(c *conn) {
	if k.valid {
		k.version, k.valid = dataVersion(c)
	}
}

// dataVersion returns SQLite's number of the state of the file that the connection has seen last.
func dataVersion(c *conn) (uint32, bool) {
	v, err := c.FileControl("main", sqlite3.FCNTL_DATA_VERSION)
	n, ok := v.(uint32)
	return n, ok && err == nil
}

// forget is for when a transaction of which something was learned is rolled back.
func (k *known) forget() { *k = known{} }

// place returns where the next episode of a session goes.
func (k *known) place(project, name string) (place, bool) {
	s, ok := k.sessions[sessionName{project, name}]
	if !ok || k.top == 0 {
		return place{}, false
	}
	return place{projectID: project, sessionID: name, project: s.project, session: s.num, last: s.last, top: k.top}, true
}

// learn takes over what a write has found and done, once none of it can be lost but with the whole transaction.
func (k *known) learn(tx *Tx) {
	if len(tx.appended) > maxKnown {
		k.forget()
	}
	if !k.valid {
		return
	}
	k.revision = max(k.revision, tx.revision)
	if len(k.sessions) >= maxKnown {
		clear(k.sessions)
	}
	if len(k.tokenizers) >= maxKnown {
		clear(k.tokenizers)
	}
	if len(k.episodes)+len(tx.appended) > maxKnown {
		clear(k.episodes)
	}
	for _, e := range tx.appended {
		k.top = e.place.top
		k.sessions[sessionName{e.place.projectID, e.place.sessionID}] = session{e.place.project, e.place.session, e.place.last}
		k.tokenizers[e.tokenizer] = e.place.tokenizer
		k.episodes[e.id] = episodePlace{e.place.project, e.place.top}
	}
}
