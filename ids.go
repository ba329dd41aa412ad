package sakur4

import (
	"math/rand/v2"
	"sync/atomic"
)

// idNoise is how many of an id's lowest bits are random: a model that gets a digit of one wrong names nothing, and not its neighbour.
const idNoise = 20

// newIDs returns the source of ids of one engine. It starts anywhere and goes up: ids that follow each other lie side by side in the index of the store, where
// random ones would each change a page of their own. Two engines on one store meet as rarely as two random numbers of all bits do.
func newIDs() func() uint64 {
	var n atomic.Uint64
	n.Store(rand.Uint64())
	return func() uint64 { return n.Add(1)<<idNoise | rand.Uint64N(1<<idNoise) }
}
