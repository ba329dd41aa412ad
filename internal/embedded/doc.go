// Package embedded is an in-process model of a llama.cpp server: its chat template, its checks and its prompt cache, without a language model.
//
// A [Server] renders chats with a template of its own in the ChatML form, counts them with a given vocabulary and answers with the number of reused
// tokens that a real server would report. Its replies are a fixed short text, or what the request's field scripted_reply says:
//
//	{"scripted_reply": {"content": "…", "reasoning_content": "…", "tool_calls": [{"id": "call_1", "name": "read", "arguments": "{}"}]}}
//
// [Server.Render] refuses what a real server refuses under a lenient template; [Server.Chat] also refuses what strict templates refuse ([Validate]).
package embedded
