package toolparse_test

import (
	"fmt"

	"sakur4/toolparse"
)

func ExampleJSON() {
	err := toolparse.JSON(`{"name": "pool", "sizes": [1.50, 4]}`, func(v toolparse.JSONValue) bool {
		fmt.Println(v.Pointer(), v.Kind, v.Text())
		return true
	})
	fmt.Println(err)
	fmt.Println(toolparse.JSON(`{"name": "pool",}`, nil))
	// Output:
	// /name string pool
	// /sizes/0 number 1.50
	// /sizes/1 number 4
	// <nil>
	// toolparse: json: line 1, offset 16: expected a key
}

func ExampleExitCode() {
	st, err := toolparse.ExitCode("pool_test.go:12: deadlock\n\nCommand exited with code 2")
	fmt.Println(st.Code, st.Line, err)
	_, err = toolparse.ExitCode("I think the exit code was 2")
	fmt.Println(err)
	// Output:
	// 2 3 <nil>
	// toolparse: exit_code: line 1, offset 0: nothing states an exit code
}

func ExampleUnifiedDiff() {
	files, err := toolparse.UnifiedDiff("--- a/pool.go\n+++ b/pool.go\n@@ -1,2 +1,2 @@ func Run\n a\n-b\n+c\n")
	fmt.Println(files[0].Path(), files[0].Change, files[0].Hunks[0].Section, files[0].Hunks[0].Added, err)
	// Output: pool.go modify func Run 1 <nil>
}
