package codesym_test

import (
	"testing"

	"sakur4/internal/codesym"
)

const yamlSample = `# The version.
version: "3" # not this
x-common: &c
  image: a:b
  <<: *d
services:
  web:
    build: { context: ., args: [a, b] }
    command: |
      key: not a key
      # not a comment
        deeper

    ports:
    - "80:80"
    - target: 1
      published: 2
    text: first
      second: no
    "quoted key": 'it''s: "x"'
    multi: "a
      b: c"
    deep:
      er:
        est: 1
list:
  - name: a
    run: >-
      folded: no
  - - nested: 1
other: [a,
  b: c]
---
version: 2
`

func TestYAML(t *testing.T) {
	t.Parallel()
	runGolden(t, codesym.YAML, yamlCases)
}

var yamlCases = []golden{
	{
		name: "all", src: yamlSample,
		want: `
constant version 2-2 | version: "3" | The version.
module x-common 3-5 | x-common:
constant x-common.image 4-4 | image: a:b
module services 6-25 | services:
module services.web 7-25 | web:
constant services.web.build 8-8 | build: { context: ., args: [a, b] }
constant services.web.command 9-12 | command: |; key: not a key; # not a comment; deeper
constant services.web.ports 14-17 | ports:; - "80:80"; - target: 1; published: 2
constant services.web.text 18-19 | text: first; second: no
constant services.web.quoted key 20-20 | "quoted key": 'it''s: "x"'
constant services.web.multi 21-22 | multi: "a b: c"
module services.web.deep 23-25 | deep:
module services.web.deep.er 24-25 | er:
constant list 26-30 | list:; - name: a; run: >-; folded: no; - - nested: 1
constant other 31-32 | other: [a, b: c]
constant version#2 34-34 | version: 2
`,
	},
	{name: "empty", want: "\n"},
	{name: "JSON", src: "{\n  \"a\": {\"b\": 1}\n}\n", want: "\nmodule a 2-2 | \"a\":\nconstant a.b 2-2 | \"b\": 1\n"},
	{name: "missing quote and bracket", src: "a: \"x\nb: [1, 2\nc:\n  d: 'y\n  e: 1\n", want: `
constant a 1-1 | a: "x [partial]
constant b 2-2 | b: [1, 2 [partial]
module c 3-5 | c: [partial]
constant c.d 4-4 | d: 'y [partial]
constant c.e 5-5 | e: 1
`},
}

func FuzzYAML(f *testing.F) {
	fuzz(f, codesym.YAML, yamlSample, "a: [", "a: |\n b", "- - a:\n", "a: \"\nb: '", "? a\n: b", "a:\n- b: {")
}
