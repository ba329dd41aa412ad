package sakur4

import (
	"slices"

	"sakur4/boundary"
)

// forked returns a copy of the session's rendering to try a compaction on, nil where the rendering in memory is not just what the last prompt was made of and
// what the store holds: then it is read anew.
func (s *Session) forked(profile boundary.Profile, fallback string) *live {
	l := s.live
	switch {
	case l == nil || l.window == nil || l.counter == nil || l.counted == nil || l.cache == nil:
		return nil // nothing was made since it was read
	case fallback != "" || l.fallback != "" || l.counterKey != counterKey(profile, fallback, l) || !sameCache(l.profile, profile):
		return nil // another server counts
	case l.Turn == 0 || l.InSlot != "" || len(l.Held) > 0:
		return nil // the server holds something else than the last prompt
	case l.dirty != len(l.chat.Entries) || l.Sent != l.dirty || l.keep != len(l.items) || len(l.items) != l.dirty+l.headItems() ||
		l.Covered != l.chat.Covered || l.Spoken != l.chat.Spoken || len(l.chat.Pending) > 0 || len(l.chat.OpenCalls()) > 0:
		return nil // something came since
	}
	state := l.cache.State()
	cache := boundary.RestoreCache(l.profile, state)
	if cache.Hold(l.cache.Prompt()) != nil {
		return nil
	}
	f := &live{renderState: l.renderState, revision: l.revision, chat: l.chat.Fork(), esc: l.esc, dirty: l.dirty, stored: l.stored,
		counter: l.counter, counterKey: l.counterKey, tokenizer: l.tokenizer, counted: l.counted.Fork(), items: slices.Clip(l.items), keep: l.keep,
		out: slices.Clip(l.out), cache: cache, header: l.header, profile: l.profile, words: &vocabulary{}}
	f.Cache = &state
	f.Folded, f.Archived, f.Gone = slices.Clip(f.Folded), slices.Clone(f.Archived), slices.Clone(f.Gone)
	return f
}
