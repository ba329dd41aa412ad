// Package archtest holds the rules of this module's source as tests: which room may import which, which modules are used where, what pure rooms may not do,
// and what must be documented.
//
// The rules read the source files, so they also hold for files of other platforms and for code that does not build yet. Each rule is a function from a source tree
// to complaints; it is run over this module, and over small trees that break it, so that a rule that finds nothing is seen.
package archtest
