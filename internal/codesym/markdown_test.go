package codesym_test

import (
	"testing"

	"sakur4/internal/codesym"
)

const markdownSample = `---
title: x
# no
---
Intro.

# One ` + "`" + `code` + "`" + ` ##

First sentence. Second one.

## Sub #

` + "`" + `` + "`" + `` + "`" + `sh
# not a heading
` + "`" + `` + "`" + `` + "`" + `
   ### Three
* item

Setext two
lines
=====
> # quoted
    # code

Another
-------
text <b>
<!-- # no
# no
-->
#no
####### no
# One
`

func TestMarkdown(t *testing.T) {
	t.Parallel()
	runGolden(t, codesym.Markdown, markdownCases)
}

var markdownCases = []golden{
	{
		name: "all", src: markdownSample,
		want: `
module One ` + "`" + `code` + "`" + ` 7-17 | # One ` + "`" + `code` + "`" + ` ## | First sentence.
module One ` + "`" + `code` + "`" + ` > Sub 11-17 | ## Sub #
module One ` + "`" + `code` + "`" + ` > Sub > Three 16-17 | ### Three
module Setext two lines 19-32 | Setext two lines
module Setext two lines > Another 25-32 | Another | text <b>
module One 33-33 | # One
`,
	},
	{name: "empty", want: "\n"},
}

func FuzzMarkdown(f *testing.F) {
	fuzz(f, codesym.Markdown, markdownSample, "# ", "a\n=", "```", "<!--", "---\n", "- a\n---\n", "> a\n===")
}
