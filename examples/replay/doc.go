// Command replay compares ways of keeping a long session within its context: it replays recorded agent sessions turn by turn and counts what each way
// costs the server's prompt cache, and what it keeps in sight.
//
//	replay -in session.jsonl                            all policies on the simulator, as a table
//	replay -in sessions/ -window 16384 -trigger 85%     every *.jsonl of a folder
//	replay -in a.jsonl -policy truncate,sakur4 -json    one JSON object a policy and file
//	replay -in a.jsonl -svg replay.svg                  also draws each run: fill, reuse and compactions
//	replay -in a.jsonl -llama http://127.0.0.1:8080     on a llama.cpp server, with its own counts
//	replay -in a.jsonl -oracle                          adds a policy that knows the future
//
// # Sessions
//
// A session is a file with one JSON object a line: role (user, assistant, tool, system) and content; of an assistant turn also thinking and
// tool_calls [{id, name, arguments}], of a tool turn tool_call_id and tool_name. Turns that [sakur4.Session.Commit] refuses are left out and named.
// One prompt is sent before each assistant turn that answers something; the recorded turn is then taken as the reply. The server is asked for a
// single token, so the words of a recorded reply are processed with the next prompt, under every policy alike.
//
// # Policies
//
// All policies get the same turns, the same window, trigger and target, the same cache and the same counts. A compaction happens when a prompt
// reaches the trigger, and leads to the target. The baselines are careful ones: they keep the head and the first user turn, take calls and their results
// out together, close calls that never got a result, cut results above an eighth of the window to head and tail, and so never send an invalid chat.
//
//   - drop-oldest drops the oldest turns, with every prompt just as many as bring it below the trigger.
//   - truncate drops the oldest turns down to the target.
//   - clear-tool-results replaces the oldest results by a short placeholder, all but the newest three, down to the target; where that is not enough
//     it truncates as well.
//   - summarise replaces the oldest turns by a summary. The summary is extracted and not written by a model, so that runs can be repeated: what the user
//     asked, the files and names used most recently, the assistant's last sentences, in at most a sixteenth of the window. As people do it, the request
//     for the summary is the whole prompt with an instruction at its end, so it reuses the cache, and what it processes is counted.
//   - sakur4 is [sakur4.Session.Window]; sakur4-shift is the same with [sakur4.Options.KVShift].
//   - oracle (with -oracle) knows which names each later turn uses. It deletes whole turns, on a server that can move what is kept, so that it processes
//     every new token once, and a result that comes back just after it was deleted not even that. What it keeps is chosen greedily by names still needed for each
//     token, so its numbers are marks to measure by and no proof of the best: another policy may be better.
//
// # Numbers
//
// All tokens are the server's own, the simulator's being those of o200k_base.
//
//   - new_tokens: what the recorded turns come to with their template overhead and the head once, long results cut to their eighth: the same number for every
//     policy, so that ratios can be compared. Summaries, placeholders, stubs, pointers and notes are not new; what they cost is in the ratio. A policy that shows a
//     repeated result as a reference processes less than what is new, and its ratio may lie below 1.
//   - prompt_tokens, prefilled_tokens: of all requests, and what of them was not reused. prefill_ratio = prefilled_tokens ÷ new_tokens.
//   - compaction_reuse: over the prompts that were compacted, tokens reused ÷ tokens that had been sent before in the same message; null without compactions.
//   - compactions: prompts from which something was taken.
//   - verbatim_share: the mean over all prompts of the share of the window that is recorded text, unchanged and without template overhead.
//   - working_set_hit: of the identifiers, paths and error codes that an assistant turn uses and that appeared in an earlier turn, the share that
//     stands in the prompt which that turn answers. See names.go for what counts as one.
//   - recall_hit: of the same, the share that [sakur4.Engine.Recall] brings back in its first five hits when asked with the assistant's own words (where it
//     only made calls: their arguments). Only the two policies of this module have such a memory; it is 0 for the others. The table's column "either" is the
//     share that is in the prompt or brought back.
//   - pins_verbatim: of the user's rules, one a prompt that was sent since they were stated, the share that stands in it to the letter. The rule given with -pin is
//     pinned or, for a baseline, part of the system text.
//   - invalid_chats: prompts that a strict chat template refuses.
//   - seconds: the wall time of the policy and the server; the only number that differs from run to run.
//
// With -llama every prompt is also predicted by the cache model over the server's own tokens, and every difference is reported. Start the server with
// -np 1 and -cram 0, so that no other slot or stored prompt answers, and with --metrics to have its own counters compared with the sums. A server prints them with
// six digits: from a million tokens on they are compared as far as they are known. The receipts of this module's policies must add up to the same sums always.
package main
