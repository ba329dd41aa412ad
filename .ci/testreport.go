// Command testreport reads the output of "go test -json" and prints one line a package, the output of each test that failed, and how often tests were skipped
// for which reason. Its status is that of the tests: non-zero if a package failed.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// event is one line of go test -json.
type event struct {
	Action, Package, Test, Output, ImportPath string
}

func main() {
	failed, err := report(bufio.NewReader(os.Stdin))
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
	}
	if failed || err != nil {
		os.Exit(1)
	}
}

func report(r *bufio.Reader) (failed bool, err error) {
	outputs := map[string]*strings.Builder{} // by package and test, until it is known whether they matter
	skipped := map[string]int{}
	packages := 0
	for {
		line, readErr := r.ReadString('\n')
		var e event
		if json.Unmarshal([]byte(line), &e) != nil {
			fmt.Print(line) // the go command itself
			e = event{}
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "output":
			if e.Test == "" && (strings.HasPrefix(e.Output, "ok ") || strings.HasPrefix(e.Output, "FAIL\t") || strings.HasPrefix(e.Output, "? ")) {
				fmt.Print(e.Output)
				continue
			}
			if outputs[key] == nil {
				outputs[key] = &strings.Builder{}
			}
			outputs[key].WriteString(e.Output)
		case "build-output":
			fmt.Print(e.Output)
		case "skip":
			if e.Test != "" {
				skipped[reason(outputs[key])]++
			}
			delete(outputs, key)
		case "pass":
			packages++
			delete(outputs, key)
		case "fail", "build-fail":
			failed = true
			if b := outputs[key]; b != nil {
				fmt.Print(b)
			}
		}
		if readErr != nil {
			break
		}
	}
	for _, why := range slices.Sorted(maps.Keys(skipped)) {
		fmt.Printf("%d tests skipped: %s\n", skipped[why], why)
	}
	if packages == 0 && !failed {
		return false, fmt.Errorf("no test has passed: is this the output of go test -json?")
	}
	return failed, nil
}

// reason finds why a test was skipped: the last line that it logged, without place and prefix.
func reason(b *strings.Builder) string {
	if b == nil {
		return "no reason given"
	}
	why := "no reason given"
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			if _, text, ok := strings.Cut(line, ".go:"); ok {
				_, text, _ = strings.Cut(text, ": ")
				line = strings.TrimPrefix(text, "skipped: ")
			}
			why = line
		}
	}
	return why
}
