// Package boundary decides where a prompt may be cut so that the server's prompt cache stays useful.
//
// A server keeps the tokens of the last prompt. A new prompt that begins with the same tokens is processed only from the first difference on,
// or from the newest position before it to which the server can rewind. [Geometry] says where that is, [Resolve] does the arithmetic for one cut,
// and [Cache] follows one slot of a llama.cpp server over its requests and predicts what each will reuse.
//
// [Backend] is what the engine asks of a server. The package itself does no I/O; clients live in folders below it.
//
// Caveats: a prediction is not a measurement. What a server reports is fed back with [Cache.Observe]: a cache learns from it the settings that the server was
// started with ([Cache.Learned]), and one whose breaks were wrong three times more than right, without settings that explain them, stops trusting its own rules. [Geometry] and [Plan] are plain values; a [Cache] must not be used by two goroutines at once.
package boundary
