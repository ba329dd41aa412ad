// Package llamatest starts real llama.cpp servers for tests.
//
// A server needs no downloaded model: [Model] describes a tiny one of random weights, and [WriteModel] writes it
// as a GGUF file within milliseconds. Its replies are gibberish, but everything about prompts is real: tokens, templates, slots,
// cache reuse, context checkpoints and grammars.
//
// [Start] gives a test a server of its own, [Shared] one that all tests of a package use. Both skip the test unless the environment variable
// [EnvServer] names a llama-server binary; .ci/llama-server.sh brings one onto a Debian machine.
//
// Templates such as [ChatML] and [Strict] are Jinja texts of our own, as strict as those of well-known model families.
//
// The package is for tests only: nothing outside _test files imports it, except its own command tinymodel.
package llamatest
