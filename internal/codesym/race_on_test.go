//go:build race

package codesym_test

// raceEnabled says that the race detector is on: the tests then read less, since it costs ten times the time and finds nothing in pure functions.
const raceEnabled = true
