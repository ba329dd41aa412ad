package sakur4

import (
	"context"

	"sakur4/boundary"
	"sakur4/internal/rendering"
	"sakur4/internal/store"
)

// What measurements showed of a server's cache is kept with the session that measured it. A session that begins takes it over: from the engine, or from the
// session of the project that was sent last.

// withLearned returns the profile with what was learned of its server.
func (e *Engine) withLearned(ctx context.Context, p boundary.Profile) boundary.Profile {
	e.mu.Lock()
	look := !e.looked
	e.looked = true
	e.mu.Unlock()
	if look {
		if l := e.storedSettings(ctx); l != nil {
			e.mu.Lock()
			e.settings = l
			e.mu.Unlock()
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	p.Learned = e.settings
	return p
}

// storedSettings reads what the project's last session has learned. What cannot be read is not known, and is learned again.
func (e *Engine) storedSettings(ctx context.Context) *boundary.Learned {
	var row store.RenderState
	err := e.st.ReadRecord(ctx, func(r *store.Reader) (err error) {
		row, err = r.LastRenderState(e.project)
		return err
	})
	if err != nil {
		return nil
	}
	return rendering.Learned(row.Body)
}

// settle has what was learned of the server hold for every session on it; nil is nothing.
func (e *Engine) settle(l *boundary.Learned) {
	if l == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.settings = l
}
