package boundary

import "fmt"

// Verdict says how well a cut fits the server's cache. The zero value is invalid.
type Verdict int

// The members of [Verdict].
const (
	// Aligned: the server can rewind to exactly the cut; nothing kept is prefilled again.
	Aligned Verdict = iota + 1
	// Snapped: the newest rewind point lies before the cut, within the tolerance.
	Snapped
	// PartialReuse: the newest rewind point lies farther before the cut than the tolerance.
	PartialReuse
	// FullRePrefill: nothing of the held prompt can be reused.
	FullRePrefill
)

// String returns the verdict's name: aligned, snapped, partial-reuse or full-re-prefill.
func (v Verdict) String() string {
	switch v {
	case Aligned:
		return "aligned"
	case Snapped:
		return "snapped"
	case PartialReuse:
		return "partial-reuse"
	case FullRePrefill:
		return "full-re-prefill"
	}
	return fmt.Sprintf("Verdict(%d)", int(v))
}

// MarshalText returns the verdict's name. It is an error for a value that is no verdict.
func (v Verdict) MarshalText() ([]byte, error) {
	if v < Aligned || v > FullRePrefill {
		return nil, fmt.Errorf("boundary: %v is no verdict", v)
	}
	return []byte(v.String()), nil
}

// UnmarshalText sets v to the verdict of that name.
func (v *Verdict) UnmarshalText(text []byte) error {
	for w := Aligned; w <= FullRePrefill; w++ {
		if w.String() == string(text) {
			*v = w
			return nil
		}
	}
	return fmt.Errorf("boundary: unknown verdict %q", text)
}

// CacheStatus says what became of the cache on one request. The zero value is [StatusUnknown].
type CacheStatus int

// The members of [CacheStatus].
const (
	// StatusUnknown: no cached count was reported, or none is expected to be.
	StatusUnknown CacheStatus = iota
	// StatusCold: nothing of this session was held: the first request, a restart, a slot taken by another.
	StatusCold
	// StatusFullRePrefill: a prompt of this session was held, and nothing past the template's first tokens was reused.
	StatusFullRePrefill
	// StatusPartialReuse: anything was reused, appended turns included.
	StatusPartialReuse
	// StatusWarmRestored: the first reuse after a saved slot was restored.
	StatusWarmRestored
)

// String returns the status's name: unknown, cold, full-re-prefill, partial-reuse or warm-restored.
func (s CacheStatus) String() string {
	switch s {
	case StatusUnknown:
		return "unknown"
	case StatusCold:
		return "cold"
	case StatusFullRePrefill:
		return "full-re-prefill"
	case StatusPartialReuse:
		return "partial-reuse"
	case StatusWarmRestored:
		return "warm-restored"
	}
	return fmt.Sprintf("CacheStatus(%d)", int(s))
}

// MarshalText returns the status's name. It is an error for a value that is no status.
func (s CacheStatus) MarshalText() ([]byte, error) {
	if s < StatusUnknown || s > StatusWarmRestored {
		return nil, fmt.Errorf("boundary: %v is no cache status", s)
	}
	return []byte(s.String()), nil
}

// UnmarshalText sets s to the status of that name.
func (s *CacheStatus) UnmarshalText(text []byte) error {
	for t := StatusUnknown; t <= StatusWarmRestored; t++ {
		if t.String() == string(text) {
			*s = t
			return nil
		}
	}
	return fmt.Errorf("boundary: unknown cache status %q", text)
}

// StatusOf names what a server measured for one request. cached is the reported number of reused tokens, nil where none was reported;
// held says that the server held a prompt of this session before, restored that this is the first request after a saved slot was restored.
// Up to trivial tokens count as nothing: every two chats of one template begin with the same few.
func StatusOf(cached *int, held, restored bool, trivial int) CacheStatus {
	switch {
	case cached == nil:
		return StatusUnknown
	case *cached > trivial && restored:
		return StatusWarmRestored
	case *cached > trivial:
		return StatusPartialReuse
	case held || restored:
		return StatusFullRePrefill
	}
	return StatusCold
}
