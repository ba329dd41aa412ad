// Package symbolic is the ledger of facts that parsers read.
package symbolic
