// Package evict plans what leaves a prompt that has grown too long.
//
// [Threshold] says whether a prompt has to shrink and how far. [Pick] takes its state as an [Input] and returns a [Plan]: one place where the
// prompt changes, and for each episode behind it the steps down the ladder live → masked → referenced → archived → dropped. No rung is skipped:
// an episode that goes several rungs down has a [Step] for each, and only the last is rendered.
// All is pure and deterministic: the same numbers give the same plan, with a reason for every step. Nothing is changed here; the caller acts on the plan.
//
// Everything behind the first changed token is processed again by the server. So the place of the change decides what a plan costs, and Pick
// weighs every [Break] by the tokens to process plus the value given up behind it, for each token reclaimed: a plan that falls somewhat short of its target
// is better than one that pays for the rest with a break far in front. [Score] says what an episode is worth, and [Name] what the names that only it keeps in
// the prompt add to that: those written lately or often, and those in a result that is being worked with. [Policy.MaxAgain] bounds what all compactions of a session together
// may cost.
//
// What Pick promises:
//   - Nothing before the break changes, and what is protected does not change unless the prompt exceeds its hard limit.
//   - A call and its results leave together, a user turn only with everything up to the next one.
//   - Above the hard limit there is a plan that fits, or an [*OverflowError]. Floors then give way in the order of their classes, [FloorTool] first, [FloorPins] never.
//   - A plan reaches its target or names the floor that stopped it.
//
// The sizes of forms that are not rendered yet are the caller's estimates: a caller that counts afterwards and is above the limit plans again.
package evict
