package sakur4

import (
	"context"
	"encoding/binary"
	"fmt"

	"sakur4/boundary"
	"sakur4/internal/episode"
	"sakur4/internal/prompt"
)

// resume gives a rendering that was read from the store the model of the server's cache again. It counts what was sent as it was sent, before the head, the
// pins, a fold or another template changes any of it: the server holds the old bytes, whatever the next prompt is made of.
func (s *Session) resume(ctx context.Context, l *live, backend boundary.Backend, profile boundary.Profile, fallback string) error {
	if l.cache != nil {
		return s.replay(ctx, l) // another engine may have measured what this one made
	}
	if l.counter != nil || l.Cache == nil || fallback != "" {
		return nil
	}
	l.useCounter(backend, profile, fallback)
	l.compose()
	if err := l.restoreCache(ctx); err != nil {
		// Another template may refuse what was sent under the one before. Then nothing is known of the slot; where the backend is down, the
		// count of the new prompt says so.
		l.cache, l.counter, l.counterKey, l.header = nil, nil, "", nil
		return ctx.Err()
	}
	return s.replay(ctx, l)
}

// restoreCache rebuilds the cache model from what was stored and the prompt that was sent last.
func (l *live) restoreCache(ctx context.Context) (err error) {
	if l.profile.Template.UserHeader != "" {
		if l.header, err = l.counter.Tokens(ctx, l.profile.Template.UserHeader); err != nil {
			return &countError{err}
		}
	}
	if l.reload() {
		return nil
	}
	l.cache = boundary.NewCache(l.profile)
	if l.Cache == nil || l.InSlot != "" {
		return nil
	}
	ids, sent, err := l.sentTokens(ctx)
	if err != nil {
		return err
	}
	c := boundary.RestoreCache(l.profile, *l.Cache)
	if c.Hold(ids) != nil {
		return nil
	}
	l.cache = c
	if sent != nil && l.counted == nil {
		l.counted, l.keep = sent, len(sent.Counts)
	}
	return nil
}

// sentTokens returns the tokens of the last prompt, and its count where it is made of the messages that the rendering begins with.
func (l *live) sentTokens(ctx context.Context) ([]int32, *prompt.State, error) {
	if len(l.Held) > 0 {
		return unpackTokens(l.Held), nil, nil
	}
	n := min(l.Sent+l.headItems(), len(l.items))
	switch {
	case l.Sent == 0, l.Sent > len(l.chat.Entries):
		return nil, nil, nil
	case l.items[n-1].Message.Role == episode.Assistant, n < len(l.items) && l.items[n].Message.Role == episode.Tool:
		return nil, nil, nil // what was sent has been cut since; half a call with its results is nothing that a server renders
	}
	sent, err := l.counter.Count(ctx, nil, 0, l.items[:n])
	if err != nil {
		return nil, nil, &countError{err}
	}
	return sent.Prompt(), sent, nil
}

// replay enters what was measured of the last prompt where the stored model of the cache does not know it: it was stored with the prompt, and the
// measurement came after.
func (s *Session) replay(ctx context.Context, l *live) error {
	if l.Window == "" || !l.cache.Unobserved() {
		return nil
	}
	st, err := s.receipt(ctx, l.Window)
	if err != nil {
		return err
	}
	c := st.Receipt.Cache
	if st.Usage == nil || !c.Measured {
		return nil
	}
	m := l.cache.Observe(c.Predicted, c.Reused)
	l.cache.GeneratedCount(max(st.Usage.CompletionTokens-1, 0))
	l.notes = append(l.notes, learned(m, l.cache)...)
	if l.settled = l.settled || m.Learned; !l.trial {
		s.e.settle(m.Learned, l.cache)
	}
	state := l.cache.State()
	l.Cache = &state
	return nil
}

// learned says in the words of a receipt what a measurement changed for good.
func learned(m boundary.Mismatch, c *boundary.Cache) []string {
	var notes []string
	if l := c.Learned(); m.Learned && l != nil {
		notes = append(notes, "cache profile learned from what was measured: "+l.String())
	}
	if m.NoShift {
		notes = append(notes, "the server does not move kept tokens: KV shift is not asked for any more")
	}
	if m.Distrust {
		notes = append(notes, "cache profile changed: from now on only measured rewind points are used")
	}
	return notes
}

// settle has what was learned of the server hold for every session on it.
func (e *Engine) settle(learned bool, c *boundary.Cache) {
	if l := c.Learned(); learned && l != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.settings = l
	}
}

// keepHeld stores the tokens that the server holds, for the time in which they cannot be rendered again.
func (l *live) keepHeld() {
	state := l.cache.State()
	l.Cache, l.Held = &state, packTokens(l.cache.Prompt())
}

func packTokens(ids []int32) []byte {
	b := make([]byte, 0, 3*len(ids))
	for _, id := range ids {
		b = binary.AppendUvarint(b, uint64(uint32(id)))
	}
	return b
}

// unpackTokens returns the tokens that packTokens packed. Bytes that are none end them: the digest of the model then refuses what is there.
func unpackTokens(b []byte) []int32 {
	var ids []int32
	for len(b) > 0 {
		id, n := binary.Uvarint(b)
		if n <= 0 {
			return nil
		}
		ids = append(ids, int32(uint32(id)))
		b = b[n:]
	}
	return ids
}

// unlike says what a measurement of a prompt that is not in memory differs by; "" where it does not, or where only the reply's size could tell.
func unlike(predicted, measured int) string {
	if measured >= predicted {
		return ""
	}
	return fmt.Sprintf("%d of %d predicted tokens reused", measured, predicted)
}
