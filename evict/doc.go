// Package evict plans what leaves a prompt that has grown too long.
//
// [Threshold] says whether a prompt has to shrink and how far, [Pick] takes its state as an [Input] and returns a [Plan]: one place where the
// prompt changes, and the steps of the ladder live → masked → referenced → archived → dropped for each episode behind it.
// Both are pure and deterministic: the same numbers give the same plan, with a reason for every step. Nothing is changed here; the caller acts on the plan.
package evict
