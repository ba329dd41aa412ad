//go:build !unix

package sakur4_test

import "time"

var cpuEpoch = time.Now()

// cpuTime is the time that has passed, where the system tells no better.
func cpuTime() time.Duration { return time.Since(cpuEpoch) }
