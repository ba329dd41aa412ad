//go:build !race

package codesym_test

const raceEnabled = false
