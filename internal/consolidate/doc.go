// Package consolidate decides what becomes an interpretation while nobody waits for a reply.
//
// [Skip] says which episodes are not worth one, [Extract] makes one of an episode's own sentences, [Accept] judges what a model wrote instead, [Backoff]
// says when to ask the model again, and [Names] finds the names that a text mentions. It knows nothing of facts and makes none.
package consolidate
