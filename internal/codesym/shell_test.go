package codesym_test

import (
	"testing"

	"sakur4/internal/codesym"
)

const shellSample = `#!/bin/bash
# The name of it.
NAME="x $(echo "}" '{') y"
lower=1
readonly fixed=2 other='3'
declare -r CONST=4
export PATH="$HOME/bin:$PATH"
ARR=(a b
 "c d")
source ./lib.sh
. "$DIR/more.sh"

# Says hello. Twice.
hello() {
  local A=1
  case "$1" in
    a|b) echo "x" ;;
    (c) foo ;;
    *) bar; ;;
  esac
  cat <<-EOT
	}
	bye() {
	EOT
  if [ -n "${x#a}" ]; then baz "$(inner arg)"; fi
  x=` + "`" + `old` + "`" + `; y=$((1 << 2))
  awk '
function f(x) {
}
' file
}
function two {
  echo $# ${#x} a#b } # c
}
function three() ( sub; )
four ()
{
  nested() { :; }
  [[ $a =~ (b|c) ]] && hello | two
}
cat <<'E1' <<E2
hello() {
E1
E2
after() { true; }
`

func TestShell(t *testing.T) {
	t.Parallel()
	runGolden(t, codesym.Shell, shellCases)
}

var shellCases = []golden{
	{
		name: "all", src: shellSample,
		want: `
constant NAME 3-3 | NAME="x $(echo "}" '{') y" | The name of it.
constant fixed 5-5 | readonly fixed=2
constant other 5-5 | readonly other='3'
constant CONST 6-6 | declare -r CONST=4
constant PATH 7-7 | export PATH="$HOME/bin:$PATH"
constant ARR 8-9 | ARR=(a b; "c d")
import ./lib.sh 10-10 | source ./lib.sh
import $DIR/more.sh 11-11 | . "$DIR/more.sh"
function hello 14-31 | hello() | Says hello.
function two 32-34 | function two
function three 35-35 | function three()
function four 36-40 | four ()
function four.nested 38-38 | nested()
function after 45-45 | after()
`,
		calls:   []string{"NAME: |echo", ": |readonly", ": |declare", ": |export", "./lib.sh: |source", "$DIR/more.sh: |.", "hello: |local", "hello: |echo", "hello: |foo", "hello: |bar", "hello: |cat", "hello: |baz", "hello: |inner", "hello: |awk", "two: |echo", "three: |sub", "four.nested: |:", "four: |hello", "four: |two", ": |cat", "after: |true"},
		imports: []string{"./lib.sh||", "$DIR/more.sh||"},
	},
	{name: "empty", want: "\n"},
	{name: "missing brace and quote", src: "a() {\n  if x; then\n    y\n  fi\n\nb() {\n  echo \"c\n}\n\nd() {\n  e\n}\n", want: `
function a 1-4 | a() [partial]
function b 6-8 | b() [partial]
function d 10-12 | d()
`},
}

func FuzzShell(f *testing.F) {
	fuzz(f, codesym.Shell, shellSample, "f() {", "cat <<E", "case a in (b) ", "a=$(", "function {", "[[ a", "((", "x=(\n", "f() { cat <<-'E'\n")
}
