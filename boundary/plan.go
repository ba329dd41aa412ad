package boundary

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

// CacheStatus says what became of the cache on one request. The zero value is [StatusUnknown].
type CacheStatus int

// The members of [CacheStatus].
const (
	// StatusUnknown: no cached count was reported, or none is expected to be.
	StatusUnknown CacheStatus = iota
	// StatusCold: nothing of this session was held: the first request, a restart, a slot taken by another.
	StatusCold
	// StatusFullRePrefill: a prompt of this session was held and nothing of it was reused.
	StatusFullRePrefill
	// StatusPartialReuse: anything was reused, appended turns included.
	StatusPartialReuse
	// StatusWarmRestored: the first reuse after a saved slot was restored.
	StatusWarmRestored
)

// DefaultSnapTolerance is how many tokens a rewind point may lie before a cut and still count as [Snapped]: one physical batch of a llama.cpp server,
// which is what it costs at most to prefill them again in one step.
const DefaultSnapTolerance = 512

// Plan is the arithmetic of one cut. All counts are in tokens.
type Plan struct {
	// Verdict is how well the cut fits.
	Verdict Verdict `json:"verdict"`
	// Status is what the server is expected to make of it.
	Status CacheStatus `json:"status"`
	// Cut is the position of the first changed token.
	Cut int `json:"cut"`
	// Checkpoint is the rewind point that is used, 0 for none; Snap is how far before the cut it lies.
	Checkpoint int `json:"checkpoint"`
	Snap       int `json:"snap"`
	// Reused and Prefilled make up Total, the size of the new prompt.
	Reused    int `json:"reused"`
	Prefilled int `json:"prefilled"`
	Total     int `json:"total"`
	// Reason is the arithmetic in words.
	Reason string `json:"reason"`
}

// Resolve says what a server of geometry g reuses of a prompt of total tokens whose first changed token is at cut.
// A tolerance of 0 or less means [DefaultSnapTolerance]. At least one token is always evaluated.
func Resolve(g Geometry, cut, total, tolerance int) Plan { return Plan{} }

// Rewind returns the newest position at or before pos to which the geometry can rewind, 0 if there is none.
func (g Geometry) Rewind(pos int) int { return 0 }
