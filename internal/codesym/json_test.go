package codesym_test

import (
	"testing"

	"sakur4/internal/codesym"
)

const jsonSample = `{
  // what it is
  "name": "x", "scripts": { "build": "tsc -p .", "test": { "unit": "a", "deep": { "er": { "no": 1 } } } },
  "list": [ { "a": 1 }, 2 ], "empty": {}, "n": -1.5e3, "t": true,
  'single': 'it', bare: null,
}
`

func TestJSON(t *testing.T) {
	t.Parallel()
	runGolden(t, codesym.JSON, jsonCases)
}

var jsonCases = []golden{
	{
		name: "all", src: jsonSample,
		want: `
constant name 3-3 | "name": "x" | what it is
module scripts 3-3 | "scripts":
constant scripts.build 3-3 | "build": "tsc -p ."
module scripts.test 3-3 | "test":
constant scripts.test.unit 3-3 | "unit": "a"
module scripts.test.deep 3-3 | "deep":
module scripts.test.deep.er 3-3 | "er":
constant list 4-4 | "list": [{ "a": 1 }, 2]
constant empty 4-4 | "empty": {}
constant n 4-4 | "n": -1.5e3
constant t 4-4 | "t": true
constant single 5-5 | 'single': 'it'
constant bare 5-5 | bare: null
`,
	},
	{name: "empty", want: "\n"},
}

func FuzzJSON(f *testing.F) {
	fuzz(f, codesym.JSON, jsonSample, "{\"a\":", "[{\"a\"", "{a:{b:{c:{d:{e:1}}}}}", "{\"a")
}
