package boundary

import "fmt"

// Kind says where a server's prompt cache can be rewound to. The zero value is [Unknown].
type Kind int

// The members of [Kind].
const (
	// Unknown: nothing is known yet. The longest common prefix is predicted until measurements say otherwise.
	Unknown Kind = iota
	// AnyToken: every token is a rewind point (llama.cpp with full attention, SGLang).
	AnyToken
	// Points: only the positions in [Geometry.Points] (llama.cpp context checkpoints on sliding-window, hybrid and recurrent models).
	Points
	// Blocks: multiples of [Geometry.Block] tokens from [Geometry.Min] on (vLLM, hosted providers).
	Blocks
	// Marked: only whole prefixes that a request marked (hosted providers with cache breakpoints), or where [Geometry.Marks] is 0 those that were a prompt.
	Marked
)

// String returns the kind's name.
func (k Kind) String() string {
	switch k {
	case Unknown:
		return "unknown"
	case AnyToken:
		return "any-token"
	case Points:
		return "points"
	case Blocks:
		return "blocks"
	case Marked:
		return "marked"
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

// Geometry is the shape of a server's prompt cache: the positions, in tokens from the start of the prompt, that a shortened prompt can reuse.
// The zero value is an unknown geometry.
type Geometry struct {
	// Kind says which of the fields below apply.
	Kind Kind
	// Points are the known rewind points in ascending order, in tokens reusable. Only with [Points] and [Marked].
	Points []int
	// Tail is the position from which on every token is a rewind point too, because the attention window before it is still held;
	// 0 for none. Only with [Points].
	Tail int
	// Block is the distance of rewind points in tokens; only with [Blocks]. Min is the shortest prefix in tokens that is cached; only with [Blocks] and
	// [Marked].
	Block, Min int
	// Marks is how many positions a request may mark; 0 is a server that takes the end of each prompt for marked. Only with [Marked].
	Marks int
	// Shift says that the server can move kept tokens behind a deleted run instead of recomputing them (llama.cpp's n_cache_reuse).
	Shift bool
	// MinChunk is the shortest kept run in tokens that such a move may use; 0 where Shift is false.
	MinChunk int
}

// CheckpointRule holds the llama-server settings that decide when it writes context checkpoints. No endpoint exposes them:
// they are given by the operator or learned, see [Learned]. A zero field means the server's default.
type CheckpointRule struct {
	// Spacing is the least distance in tokens between kept checkpoints (-cms, default 8192); less than 0 is none (-cms 0).
	Spacing int
	// Max is how many checkpoints a slot keeps (-ctxcp, default 32); less than 0 is none (-ctxcp 0).
	Max int
	// Ubatch is the physical batch in tokens (-ub, default 512).
	Ubatch int
	// Batch is the most tokens that the server processes between two looks at its checkpoints (-b, default 2048).
	Batch int
	// Window is the model's attention window in tokens; 0 where it has none (recurrent) or it is unknown.
	Window int
	// Cells is how many tokens the windowed part of the cache holds; 0 means Window + Ubatch, rounded up to a multiple of 256, as a server with
	// one slot has it. Where several slots share one cache (--kv-unified, on by default when the number of slots is not given) it is Window × slots +
	// Ubatch; too small a number only means that less reuse is predicted than measured.
	Cells int
}

// The settings of a llama-server that was started without any of its own.
const (
	// DefaultSpacing is the least distance of kept checkpoints in tokens (-cms).
	DefaultSpacing = 8192
	// DefaultCheckpoints is how many checkpoints a slot keeps (-ctxcp).
	DefaultCheckpoints = 32
	// DefaultUbatch is the physical batch in tokens (-ub).
	DefaultUbatch = 512
	// DefaultBatch is the logical batch in tokens (-b).
	DefaultBatch = 2048
)

// WithDefaults returns the rule with the server's defaults in place of zero fields. Window stays as it is.
func (r CheckpointRule) WithDefaults() CheckpointRule {
	if r.Spacing == 0 {
		r.Spacing = DefaultSpacing
	}
	if r.Max == 0 {
		r.Max = DefaultCheckpoints
	}
	if r.Ubatch == 0 {
		r.Ubatch = DefaultUbatch
	}
	if r.Batch == 0 {
		r.Batch = DefaultBatch
	}
	r.Ubatch = min(r.Ubatch, r.Batch)
	if r.Cells == 0 && r.Window > 0 {
		r.Cells = roundCells(r.Window + r.Ubatch)
	}
	return r
}

// roundCells rounds a number of cells up to one that a server has.
func roundCells(n int) int { return (n + 255) / 256 * 256 }
