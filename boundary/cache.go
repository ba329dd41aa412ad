package boundary

// Cache models the prompt cache of one slot of a llama.cpp server. It is a plain state machine: tell it each prompt that the server
// processed and it predicts what the next one reuses.
//
// Make one with [NewCache] or [RestoreCache]; the zero value is not usable. It must not be used by two goroutines at once.
type Cache struct{ p Profile }

// Reuse is a prediction for one prompt, in tokens.
type Reuse struct {
	// Common is the longest common prefix of the prompt with what the slot holds.
	Common int
	// Reused is how much of the prompt is not processed again, moved tokens included.
	Reused int
	// Checkpoint is the rewind point that was needed, 0 for none.
	Checkpoint int
	// Shifted is how many tokens are moved by KV shift.
	Shifted int
	// Held says that the slot held anything.
	Held bool
}

// Mismatch is the difference between a prediction and a measurement. The zero value says that the server did as predicted.
type Mismatch struct {
	// Predicted and Measured are the reused tokens; both 0 in the zero value.
	Predicted, Measured int
	// InARow counts the mismatches in a row in which the server reused less than predicted, this one included.
	InARow int
	// Distrust says that the cache now uses only points that a measurement has confirmed.
	Distrust bool
	// Reason says it in words.
	Reason string
}

// CacheState is the small, storable state of a [Cache]. The tokens are not part of it.
type CacheState struct {
	// Held is the number of tokens of the last prompt, Digest their digest.
	Held   int    `json:"held"`
	Digest string `json:"digest,omitempty"`
}

// NewCache returns the model of an empty slot of a server with profile p.
func NewCache(p Profile) *Cache { return &Cache{p: p} }

// RestoreCache returns the cache that s describes. Until [Cache.Hold] gives it the tokens again it predicts nothing reused.
func RestoreCache(p Profile, s CacheState) *Cache { return &Cache{p: p} }

// Hold gives a restored cache the tokens of the last prompt again. It is an error if they are not those that the state was taken with.
func (c *Cache) Hold(tokens []int32) error { return nil }

// State returns the storable state.
func (c *Cache) State() CacheState { return CacheState{} }

// Reset empties the slot: the server restarted, or the slot was erased or taken.
func (c *Cache) Reset() {}

// Predict says what the server reuses of prompt, without changing the cache. nCacheReuse is the request's n_cache_reuse, 0 for none.
func (c *Cache) Predict(prompt []int32, nCacheReuse int) Reuse { return Reuse{} }

// Accept records that the server processed prompt. users are the ascending token positions at which user messages start in it ([UserStarts]).
func (c *Cache) Accept(prompt []int32, users []int, nCacheReuse int) {}

// Generated records reply tokens that the server appended to the slot. An engine that does not know them leaves the call out.
func (c *Cache) Generated(tokens []int32) {}

// Observe compares the prediction for the last accepted prompt with the measured count of reused tokens, and corrects the cache.
func (c *Cache) Observe(predicted, measured int) Mismatch { return Mismatch{} }

// Geometry returns the geometry with the rewind points that survive now.
func (c *Cache) Geometry() Geometry { return c.p.Geometry }
