package codesym_test

import (
	"testing"

	"sakur4/internal/codesym"
)

const tomlSample = `# Title of it.
title = "x"
a.b."c.d" = 1
multi = """
[not]
a = 1
"""
arr = [ 1, # c
  "]", [2] ]

[package]
name = 'n'
[package.metadata.docs]  # c
all = true
when = 2020-01-01T00:00:00Z
inline = { a = 1, b = { c = "}" }, d = [1,2] }
[[bin]]
name = "one"
[[bin]]
name = "two"
`

func TestTOML(t *testing.T) {
	t.Parallel()
	runGolden(t, codesym.TOML, tomlCases)
}

var tomlCases = []golden{
	{
		name: "all", src: tomlSample,
		want: `
constant title 2-2 | title = "x" | Title of it.
constant a.b.c.d 3-3 | a.b."c.d" = 1
constant multi 4-7 | multi = """ [not] a = 1 """
constant arr 8-9 | arr = [1, "]", [2]]
module package 11-12 | [package]
constant package.name 12-12 | name = 'n'
module package.metadata 13-16 | [package.metadata.docs]
module package.metadata.docs 13-16 | [package.metadata.docs]
constant package.metadata.docs.all 14-14 | all = true
constant package.metadata.docs.when 15-15 | when = 2020-01-01T00:00:00Z
module package.metadata.docs.inline 16-16 | inline =
module bin 17-18 | [[bin]]
constant bin.name 18-18 | name = "one"
module bin#2 19-20 | [[bin]]
constant bin#2.name 20-20 | name = "two"
`,
	},
	{
		name: "tables of subtables", src: "[a.b]\nx = 1\n[a.b.c]\n[d.e.f]\n[d.e]\n[[g.h]]\n[[g.h]]\n[1.2.3.4.5.6]\n",
		want: `
module a 1-2 | [a.b]
module a.b 1-2 | [a.b]
constant a.b.x 2-2 | x = 1
module a.b.c 3-3 | [a.b.c]
module d 4-4 | [d.e.f]
module d.e.f 4-4 | [d.e.f]
module d.e 5-5 | [d.e]
module g 6-6 | [[g.h]]
module g.h 6-6 | [[g.h]]
module g.h#2 7-7 | [[g.h]]
module 1 8-8 | [1.2.3.4.5.6]
module 1.2 8-8 | [1.2.3.4.5.6]
module 1.2.3 8-8 | [1.2.3.4.5.6]
module 1.2.3.4 8-8 | [1.2.3.4.5.6]
`,
	},
	{name: "empty", want: "\n"},
}

func FuzzTOML(f *testing.F) {
	fuzz(f, codesym.TOML, tomlSample, "[a", "a = [", "a = \"\"\"", "[[a]]\nb.c = {d = {", "= 1")
}
