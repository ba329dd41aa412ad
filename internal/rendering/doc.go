// Package rendering makes the prompts of a session: it decides what of the record stands in the next one, and in which form.
//
// A [Prompt] takes in what was recorded ([Prompt.Extend]), makes the next prompt of it ([Prompt.Next]), which it compacts where it must, and takes in what the
// server measured of that ([Measured]). Each decision is taken once: [Prompt.Changes] are those that the store does not have yet, and [Restore] goes on from
// them with the same bytes, in any later process.
//
// Nothing here reads a store or a clock. What a prompt needs of the record comes in as values, or through [Record] where only the decision shows which of it; the
// server is asked through its [boundary.Backend]. Where a call fails, the Prompt may lie behind or ahead of what is stored: throw it away, and restore it.
package rendering
