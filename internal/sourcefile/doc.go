// Package sourcefile reads the files below a project's root.
//
// A [Root] opens nothing outside of its folder: neither dots nor links lead out. What it reads is compared with what was recorded and never changed.
package sourcefile
