package codesym_test

import (
	"testing"

	"sakur4/internal/codesym"
)

const pySample = `#!/usr/bin/env python
"""Module."""
import os, sys as system
from . import sibling
from a.b import (
    c as d,  # why
    e,
)

MAX_SIZE: int = 10
lower = 1

# not a doc of A

@decorated(
    x=")",
)
@plain
class A(Base[int], metaclass=M, *others):
    r"""A is documented. Well."""
    KIND = "x"

    def __init__(self, a: int = 1, *, b="def f():") -> "A":
        super().__init__()
        self.x = f"{a['}']}" + rb'\''

    @property
    async def name(self) -> dict[str, int]: return self.call(lambda: x)(1)

    if True:
        def inner_if(self): pass
    class Inner: x = 1

def outer(a,
          b=lambda x: {1: 2}[x]):
    '''
    Outer docs
    go on

    def not_a_function(): pass
    '''
    LOCAL = 1
    def nested():
        return """
def neither():
"""
    match = nested()
    print(match, \
      "x")

# Comment doc.
def test_it(): os.path.join("a")
type Alias[T] = list[T]
try: import json
except ImportError: json = None
class _T(unittest.TestCase): pass
`

func TestPython(t *testing.T) {
	t.Parallel()
	runGolden(t, codesym.Python, pythonCases)
}

var pythonCases = []golden{
	{
		name: "all", src: pySample,
		want: `
import os 3-3 | import os, sys as system
import sys 3-3 | import os, sys as system
import . 4-4 | from . import sibling
import a.b 5-8 | from a.b import (c as d, e)
constant MAX_SIZE 10-10 | MAX_SIZE: int = 10
class A 15-32 | class A(Base[int], metaclass=M, *others) | A is documented. <Base[int] *others>
constant A.KIND 21-21 | KIND = "x"
method A.__init__ 23-25 | def __init__(self, a: int = 1, *, b="def f():") -> "A"
method A.name 27-28 | async def name(self) -> dict[str, int]
method A.inner_if 31-31 | def inner_if(self)
class A.Inner 32-32 | class Inner
function outer 34-49 | def outer(a, b=lambda x: {1: 2}[x]) | Outer docs go on
function outer.nested 43-46 | def nested()
function test_it 52-52 | def test_it() | Comment doc. [test]
type Alias 53-53 | type Alias[T] = list[T]
import json 54-54 | import json
class _T 56-56 | class _T(unittest.TestCase) <unittest.TestCase>
`,
		calls: []string{
			"A: |decorated", "A.__init__: |super", "A.__init__: |__init__", "A.name: self|call", "outer: |nested", "outer: |print", "test_it: os.path|join",
		},
		imports: []string{"os||", "sys||system", ".|sibling|", "a.b|c|d", "a.b|e|", "json||"},
	},
	{name: "empty", want: "\n"},
	{
		name: "missing colon", src: "def a()\n    x\n\nclass B\n    def c(self): pass\n",
		want: `
function a 1-2 | def a() [partial]
class B 4-5 | class B [partial]
method B.c 5-5 | def c(self)
`,
	},
	{
		name: "missing bracket", src: "def a(x:\n    y = [1,\n    return x\n\ndef b(): pass\n",
		want: `
function a 1-3 | def a(x: y = [1, [partial]
function b 5-5 | def b()
`,
	},
	{
		name: "missing quote of a docstring", src: "class A:\n    \"\"Doc of A.\n\n    It's long.\n    \"\"\"\n    def a(self):\n        \"\"\"Doc.\"\"\"\n\n    def b(self):\n        \"\"\"Doc.\"\"\"\n\nXX = \"\"\"\ndef no(): pass\n\"\"\"\n",
		want: `
class A 1-10 | class A [partial]
method A.a 6-7 | def a(self) | Doc.
method A.b 9-10 | def b(self) | Doc.
constant XX 12-14 | XX = """ def no(): pass """
`,
	},
	{
		name: "tabs and carriage returns", src: "class A:\r\n\tdef a(self):\r\n\t\tpass\r\n\r\n        def b(self):\r\n\t\tpass\r\n",
		want: `
class A 1-6 | class A
method A.a 2-3 | def a(self)
method A.b 5-6 | def b(self)
`,
	},
}

func FuzzPython(f *testing.F) {
	fuzz(f, codesym.Python, pySample, "def a(\nclass b", "\"\"\"", "f'{x['")
}
