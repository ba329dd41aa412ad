// Package semantic is the atlas of interpretations.
//
// An [Entry] is text that a model or an extractor wrote about something, and it is allowed to be wrong. That is why none exists without an [Anchor]:
// the fact or the episode that it interprets, with the hash that it had then. Whether an entry still speaks of what is there is not stored; [Assess]
// compares the hashes when the entry is read, so there is no window in which a stale summary looks fresh.
//
// A stale entry is shown by [Render], which puts the marker in front and the current value behind it: its authority is replaced, not lowered.
// [Penalise] and [Reason] are what recall does with one.
//
// Everything here is a pure function of its arguments and safe for concurrent use.
package semantic
