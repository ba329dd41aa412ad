package sakur4

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"

	"sakur4/evict"
	"sakur4/internal/rendering"
	"sakur4/internal/store"
	"sakur4/receipt"
)

// storedReceipt is a receipt as it is stored.
type storedReceipt struct {
	Receipt receipt.Receipt `json:"receipt"`
	// Usage is what the server said, nil before it did.
	Usage *Usage `json:"usage,omitempty"`
	// Restored is the snapshot that the slot was restored from, where this may be the first reuse after it.
	Restored SnapshotID `json:"restored,omitempty"`
}

// Observe enters what the server measured for a prompt, and returns the prompt's receipt with prediction and measurement side by side.
// What was predicted wrongly corrects the model of the server's cache. A second call for the same prompt returns the same receipt and changes nothing.
//
// The error is [ErrNotFound] where the session has no such window, and a [*TurnError] where a number of u is negative or none.
func (s *Session) Observe(ctx context.Context, u Usage) (receipt.Receipt, error) {
	if err := s.e.check(ctx); err != nil {
		return receipt.Receipt{}, err
	}
	if err := u.validate(); err != nil {
		return receipt.Receipt{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, err := s.receipt(ctx, u.Window)
	if err != nil {
		return receipt.Receipt{}, err
	}
	if stored.Usage != nil {
		return stored.Receipt, nil
	}
	u.Window = WindowID(stored.Receipt.ID)
	l := s.live
	var p *rendering.Prompt
	if l != nil {
		if last, _ := l.prompt.Last(); last == string(u.Window) {
			p = l.prompt // a measurement of an older one says nothing of what the slot holds now
		}
	}
	// Another process may measure the same prompt: the first to write it is the one that counts.
	var r receipt.Receipt
	err = s.e.st.Write(ctx, func(tx *store.Tx) error {
		row, err := tx.Receipt(s.e.project, s.id, string(u.Window))
		if err != nil {
			return err
		}
		st, err := decodeReceipt(row)
		if err != nil {
			return err
		}
		r = st.Receipt
		if st.Usage != nil {
			return errStop
		}
		c := &r.Cache
		c.Millis, c.Written, c.Provider, c.Model = u.PromptMillis, u.CacheWriteTokens, u.Provider, u.Model
		rendering.Measured(p, &r, rendering.Measurement{Prompt: u.PromptTokens, Reply: u.CompletionTokens, Cached: u.CachedTokens, ShiftRefused: u.ShiftRefused,
			Restored: string(st.Restored)})
		if p != nil {
			s.e.settle(p.Learned())
		}
		if err := s.trend(tx.Reader, &r, u, st.Restored != ""); err != nil {
			return err
		}
		body, err := json.Marshal(storedReceipt{Receipt: r, Usage: &u, Restored: st.Restored})
		if err != nil {
			return fmt.Errorf("sakur4: receipt: %w", err)
		}
		return tx.PutReceipt(s.e.project, s.id, store.ReceiptRow{WindowID: r.ID, Turn: r.Turn, Body: string(body), Observed: true, Created: row.Created})
	})
	if err != nil && !errors.Is(err, errStop) {
		s.live = nil
		return receipt.Receipt{}, wrap(err)
	}
	if p != nil && l.window != nil {
		l.window.Receipt = r
	}
	return r, nil
}

// validate refuses numbers that no server measures.
func (u *Usage) validate() error {
	bad := func(field, msg string) error { return &TurnError{Field: "Usage." + field, Msg: msg} }
	switch {
	case u.PromptTokens < 0:
		return bad("PromptTokens", "a count is not negative")
	case u.CompletionTokens < 0:
		return bad("CompletionTokens", "a count is not negative")
	case u.CachedTokens != nil && *u.CachedTokens < 0:
		return bad("CachedTokens", "a count is not negative")
	case u.CacheWriteTokens != nil && *u.CacheWriteTokens < 0:
		return bad("CacheWriteTokens", "a count is not negative")
	case !(u.PromptMillis >= 0 && u.PromptMillis <= math.MaxFloat64):
		return bad("PromptMillis", "a time is a number and not negative")
	}
	return nil
}

// Receipt returns the receipt of the session's last prompt. The error is [ErrNotFound] before the first one.
func (s *Session) Receipt(ctx context.Context) (receipt.Receipt, error) {
	if err := s.e.check(ctx); err != nil {
		return receipt.Receipt{}, err
	}
	st, err := s.receipt(ctx, "")
	return st.Receipt, err
}

// receipt reads a stored receipt; "" is the last.
func (s *Session) receipt(ctx context.Context, id WindowID) (storedReceipt, error) {
	var out storedReceipt
	err := s.e.st.ReadRecord(ctx, func(r *store.Reader) error {
		var row store.ReceiptRow
		var err error
		if id == "" {
			row, err = r.LastReceipt(s.e.project, s.id)
		} else {
			row, err = r.Receipt(s.e.project, s.id, string(id))
		}
		if err != nil {
			return err
		}
		out, err = decodeReceipt(row)
		return err
	})
	return out, wrap(err)
}

func decodeReceipt(row store.ReceiptRow) (storedReceipt, error) {
	var st storedReceipt
	if err := json.Unmarshal([]byte(row.Body), &st); err != nil {
		return st, fmt.Errorf("%w: receipt %s: %w", ErrCorrupt, row.WindowID, err)
	}
	return st, nil
}

// Receipts yields the receipts of the session's prompts in their order. An error ends the sequence.
func (s *Session) Receipts(ctx context.Context) iter.Seq2[receipt.Receipt, error] {
	return func(yield func(receipt.Receipt, error) bool) {
		if err := s.e.check(ctx); err != nil {
			yield(receipt.Receipt{}, err)
			return
		}
		err := s.e.st.ReadRecord(ctx, func(r *store.Reader) error {
			for row, err := range r.Receipts(s.e.project, s.id) {
				if err != nil {
					return err
				}
				st, err := decodeReceipt(row)
				if err != nil {
					return err
				}
				if !yield(st.Receipt, nil) {
					return errStop
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(receipt.Receipt{}, wrap(err))
		}
	}
}

// errStop ends a read because its consumer has had enough.
var errStop = errors.New("sakur4: stop")

// Eviction is one rung that one episode took.
type Eviction struct {
	// Episode is the one that moved.
	Episode EpisodeID
	// From and To are neighbouring rungs; To above From is an episode that came back in full.
	From, To evict.Tier
	// Window is the prompt that it was evicted for, or the fold that was closed over it; Reason says why, Tokens what it reclaimed.
	Window WindowID
	Reason string
	Tokens int
}

// Evictions yields every change of a tier in the session, in the order in which they happened. An error ends the sequence.
func (s *Session) Evictions(ctx context.Context) iter.Seq2[Eviction, error] {
	return func(yield func(Eviction, error) bool) {
		if err := s.e.check(ctx); err != nil {
			yield(Eviction{}, err)
			return
		}
		err := s.e.st.ReadRecord(ctx, func(r *store.Reader) error {
			for row, err := range r.Evictions(s.e.project, s.id) {
				if err != nil {
					return err
				}
				ev := Eviction{Episode: EpisodeID(row.Episode), From: row.From, To: row.To, Window: WindowID(row.WindowID), Reason: row.Reason, Tokens: row.Tokens}
				if !yield(ev, nil) {
					return errStop
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(Eviction{}, wrap(err))
		}
	}
}
