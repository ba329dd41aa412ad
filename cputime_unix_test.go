//go:build unix

package sakur4_test

import (
	"syscall"
	"time"
)

// cpuTime is what the process has taken of the processors: on a machine that others use as well, the only time that says something.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
