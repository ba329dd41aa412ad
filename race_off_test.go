//go:build !race

package sakur4_test

const raceEnabled = false
