package consolidate

// maxWait is the most items that are done without the model before it is asked again.
const maxWait = 64

// Backoff says when a model that failed is asked again: after one item, then after two, four and so on. It counts items, not time, so that the same
// work gives the same result. The zero value asks at once.
type Backoff struct {
	// Failures counts the failures since the last success, Wait the items that are still done without the model.
	Failures, Wait int
}

// Next reports whether the model is asked for the next item, and returns the state after it has been passed by otherwise.
func (b Backoff) Next() (bool, Backoff) {
	if b.Wait == 0 {
		return true, b
	}
	b.Wait--
	return false, b
}

// Failed returns the state after a failure.
func (b Backoff) Failed() Backoff {
	b.Failures++
	b.Wait = 1
	for range b.Failures - 1 {
		if b.Wait *= 2; b.Wait >= maxWait {
			b.Wait = maxWait
			break
		}
	}
	return b
}
