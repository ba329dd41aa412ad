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
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

// Geometry is the shape of a server's prompt cache: the positions, in tokens from the start of the prompt, that a shortened prompt can reuse.
// The zero value is an unknown geometry.
type Geometry struct {
	Kind Kind
	// Points are the known rewind points in ascending order, in tokens reusable. Only with [Points].
	Points []int
	// Block is the distance of rewind points in tokens, Min the first of them. Only with [Blocks].
	Block, Min int
	// Shift says that the server can move kept tokens behind a deleted run instead of recomputing them (llama.cpp's n_cache_reuse).
	Shift bool
	// MinChunk is the shortest kept run in tokens that such a move may use; 0 where Shift is false.
	MinChunk int
}

// CheckpointRule holds the llama-server settings that decide when it writes context checkpoints. No endpoint exposes them:
// they are given by the operator or learned. A zero field means the server's default.
type CheckpointRule struct {
	// Spacing is the least distance in tokens between kept checkpoints (-cms, default 8192).
	Spacing int
	// Max is how many checkpoints a slot keeps (-ctxcp, default 32).
	Max int
	// Ubatch is the physical batch in tokens (-ub, default 512).
	Ubatch int
	// Window is the model's attention window in tokens; 0 where it has none (recurrent) or it is unknown.
	Window int
}
