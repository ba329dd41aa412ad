// Package sakur4 is the memory and context layer of a long-running agent.
//
// A long session does not run out of ability, it runs out of context. The usual cure, summarise and replace, loses facts and throws away what the
// inference server has cached of the prompt. sakur4 keeps an append-only record of everything, so nothing is lost; keeps what a parser read
// apart from what a model said; and takes out of the window what must leave it at a point that the server's cache already holds, so that the
// prompt that survives costs almost nothing to process.
//
// # The main types
//
//   - [Engine] is an open store for one project. [Open] makes one; a nil [Options] is good to start with.
//   - [Session] is one conversation. Record each turn with [Session.Commit], ask for the next prompt with [Session.Window], and tell what the
//     server measured with [Session.Observe].
//   - [Window] is a prompt: its messages, its [receipt.Receipt], and the [Plan] if it was compacted.
//   - [Episode] is a recorded turn. It comes back byte-identical by its id for ever.
//
// # A turn
//
// An agent's loop is: commit the user's turn; then, until the model has no more calls, get a Window, send its messages, commit the reply, run
// the calls, commit each result. Window compacts when it must. There is nothing else to call, and nothing to configure for a llama.cpp server but
// its address (package llamacpp below boundary).
//
// # What is guaranteed
//
//   - Nothing recorded is changed or lost. Triggers in the database refuse it; eviction writes a tier and nothing else.
//   - Pins are verbatim in every prompt of their project, or the call fails with [ErrBudgetOverflow].
//   - Between two compactions a prompt only grows: the JSON bytes of its messages are the first messages of the next, also after a restart.
//     The other places where it may change are named in the receipt: a fold that was closed, a head that the agent changed, and a pin that
//     came after the newest message was sent.
//   - Every prompt is a valid chat: each call with its one result, roles in a legal order, under strict chat templates too.
//   - Window returns a prompt within budget from any state and without a model, or a [*BudgetError] that names what does not fit.
//   - The categories of a receipt sum to the prompt's size, counted by the server's own tokenizer. What was predicted and what was measured
//     stand side by side.
//   - An interpretation is checked against what it is about whenever it is read, files as they are at that moment. One whose source has changed comes back
//     marked stale with the value of now ([Engine.Recall], [Engine.Staleness]); one whose file cannot be read is unverified, never fresh.
//
// # Two tracks of memory
//
// Parsers write facts ([Session.Commit] by itself, [Engine.Extract] with a parser of your choice); models write interpretations ([Session.Interpret], and
// [Engine.Dream] while the server is idle), which name a fact or an episode as their anchor. A fact cannot be made of words, and an interpretation never
// becomes one. [Preamble] tells a model when to use which.
//
// # Source code
//
// [Engine.Index] makes a fact of every symbol of the project. [Engine.Symbol] returns one as its file has it at that moment, [Engine.Impact] what may notice a
// change of it, each dependent with its signature of now and whether it was edited since it was first seen, and [Engine.RepoMap] a map of what matters most that fits
// a budget of tokens.
//
// # Finding again
//
// [Engine.Recall] merges what several ways of looking find, and says of each hit which of them found it: the words of episodes, facts and interpretations, what is
// linked to the best of these, and, with an [Embedder], the sense of episodes and interpretations. Vectors are computed beside the calls and never within a
// commit; see [Engine.Embed].
//
// # Caveats
//
// A fact proves that these bytes came back from this tool or file. It does not prove that they are true: a tool may lie, and a file may be wrong.
//
// What is rendered between turns in the frame <sakur4:note …> is ours. Such marks inside recorded text, and the control tokens of chat templates,
// are rendered with a zero-width space after their first character; the record keeps the bytes, and the receipt counts them.
//
// A Session may be used by several goroutines; the calls that make prompts take their turn. Two processes may share a store. If both make prompts
// of one session, the second to store gets [ErrConflict] and asks again.
//
// The default Backend is a simulator of a llama.cpp server's prompt cache with a simple chat template. It lets the whole package be tried and
// tested without a server; its counts are those of its own template.
//
// A store holds what the agent committed, secrets included, in plain text unless [Options.EncryptionKey] is set. Its files are readable by their owner alone.
package sakur4
