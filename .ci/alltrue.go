// Command alltrue reads one JSON object and fails unless it holds booleans and all of them are true, at any depth.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "alltrue:", err)
		os.Exit(1)
	}
}

func run() error {
	var object map[string]any
	if err := json.NewDecoder(os.Stdin).Decode(&object); err != nil {
		return fmt.Errorf("read one JSON object: %w", err)
	}
	total, wrong := count("", object)
	if total == 0 {
		return fmt.Errorf("there is no boolean in it")
	}
	if len(wrong) > 0 {
		return fmt.Errorf("not true: %q", wrong)
	}
	fmt.Printf("%d of %d checks are true\n", total, total)
	return nil
}

// count returns the number of booleans in v, and the paths of those that are false.
func count(path string, v any) (total int, wrong []string) {
	switch v := v.(type) {
	case bool:
		if !v {
			wrong = []string{path}
		}
		return 1, wrong
	case []any:
		for i, item := range v {
			n, w := count(fmt.Sprintf("%s/%d", path, i), item)
			total, wrong = total+n, append(wrong, w...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			n, w := count(path+"/"+key, v[key])
			total, wrong = total+n, append(wrong, w...)
		}
	}
	return total, wrong
}
