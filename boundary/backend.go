package boundary

import (
	"context"
	"encoding/json"
)

// Backend is what the engine needs of an inference server: what it is, the exact prompt text of a chat, and the tokens of that text.
// The agent sends its chat requests itself.
//
// Rare abilities are separate interfaces, found by assertion: [Spanner], [Refresher], [SlotSaver], [Idler], [Chatter].
// An implementation must be safe for concurrent use.
type Backend interface {
	// Profile reports what is known of the server. What is not known is its zero value, never a guess.
	Profile(ctx context.Context) (Profile, error)
	// Render returns the exact prompt text of a request.
	Render(ctx context.Context, req RenderRequest) (string, error)
	// Tokens returns the token ids of text with control tokens parsed, adding none.
	Tokens(ctx context.Context, text string) ([]int32, error)
}

// Spanner is the optional ability to say where each token of a text ends.
type Spanner interface {
	// TokenSpans returns the token ids of text, as [Backend.Tokens] does, and for each the byte offset in text at which it ends.
	// The offsets never decrease; the last is len(text).
	TokenSpans(ctx context.Context, text string) (ids []int32, ends []int, err error)
}

// Remote marks a [Spanner] that works elsewhere, so that two questions asked at once are answered sooner than one after the other.
type Remote interface {
	Spanner
	Remote()
}

// Refresher is the optional ability to look at the server anew, for backends that keep their first profile. Others are asked for their profile again.
type Refresher interface {
	// Refresh returns the profile as it is now, and whether it changed since it was last asked for: the server may have been restarted with another
	// context, template or model. It is called whenever a measurement gives reason to, up to once a prompt, so it should be cheap.
	Refresh(ctx context.Context) (p Profile, changed bool, err error)
}

// SlotSaver is the optional ability to write a slot's cache to a file of the server and to read it back. All three methods return [ErrUnsupported]
// where the server was started without a folder for such files.
type SlotSaver interface {
	// SaveSlot writes the slot to a file of that name and says what is in it. A file that was there is replaced.
	SaveSlot(ctx context.Context, slot int, name string) (SlotFile, error)
	// RestoreSlot reads the file of that name into the slot and says what was read. It returns [ErrInvalidRequest] where there is no such file or the
	// server cannot read it into the slot; the slot is then empty.
	RestoreSlot(ctx context.Context, slot int, name string) (SlotFile, error)
	// EraseSlot empties the slot.
	EraseSlot(ctx context.Context, slot int) error
}

// SlotFile says what a saved slot holds.
type SlotFile struct {
	// Tokens is how many tokens of prompt and reply are in the file, Bytes its size; 0 bytes is unknown.
	Tokens int
	Bytes  int64
}

// Idler is the optional ability to say that no request is being processed. Any error means "not idle".
type Idler interface {
	Idle(ctx context.Context) (bool, error)
}

// Chatter is the optional ability to answer a chat request: the llama.cpp client and the embedded simulator have it, and agents may use it.
// The engine never calls it.
type Chatter interface {
	// Chat sends one request. With a non-nil progress the reply is streamed and each piece is passed on as it arrives.
	// A cancelled ctx ends the request and returns what has arrived so far with the error.
	Chat(ctx context.Context, req ChatRequest, progress func(ChatDelta)) (ChatReply, error)
}

// Profile is what is known of a server and the model it runs.
type Profile struct {
	// Window is the context of one slot in tokens (n_ctx); 0 is unknown.
	Window int
	// Slots is the number of slots; 0 is unknown.
	Slots int
	// Slot is the slot that this client's chats are pinned to; nil leaves the choice to the server.
	Slot *int
	// Geometry is the shape of the prompt cache.
	Geometry Geometry
	// Rule says when a llama.cpp server writes checkpoints; nil where Geometry.Kind is not [Points] or another rule holds.
	Rule *CheckpointRule
	// Learned is what measurements showed of the server against Geometry and Rule; nil where nothing did. A backend leaves it nil.
	Learned *Learned
	// Tokenizer names the vocabulary that Tokens uses; "" if the backend cannot tokenize.
	Tokenizer string
	// Estimated says that neither Render nor Tokens are the server's own: sizes are estimates, and what the server measures is compared in proportion.
	Estimated bool
	// Name is the backend's kind ("llama.cpp", "embedded"), Build its version, Model the model's name or path; "" is unknown.
	Name, Build, Model string
	// Weights tells the model's weights from others of the same name, as far as they can be read; "" is unknown.
	Weights string
	// Template is what is known of the chat template.
	Template Template
}

// Template is what is known of a server's chat template. The zero value is a template about which nothing is known.
type Template struct {
	// Digest identifies the template's text; "" is unknown.
	Digest string
	// NoSystemRole: a system message is refused or lost; the head is then put in front of the first user message.
	NoSystemRole bool
	// NoTools: the template renders no tool list.
	NoTools bool
	// PreservesReasoning: reasoning sent back in past turns is rendered where TemplateKwargs ask for it.
	PreservesReasoning bool
	// TemplateKwargs is the chat_template_kwargs object that asks for preserved reasoning; nil if none is needed.
	TemplateKwargs json.RawMessage
	// UserHeader is the text that opens a user message, such as "<|im_start|>user"; "" is unknown. It ends before white space, which may merge
	// with the message into one token.
	UserHeader string
	// ControlTexts are the texts that the tokenizer reads as control tokens or the template as marks, such as "<|im_end|>", longest first.
	ControlTexts []string
}

// RenderRequest is a chat to be rendered to prompt text.
type RenderRequest struct {
	// Messages is the JSON array of messages, exactly as it is sent.
	Messages json.RawMessage
	// Tools is the JSON array of tools; empty for none.
	Tools json.RawMessage
	// GenerationPrompt asks for the header of the assistant's reply at the end.
	GenerationPrompt bool
	// TemplateKwargs is the chat_template_kwargs object; empty for none.
	TemplateKwargs json.RawMessage
}

// ChatRequest is one request for a reply.
type ChatRequest struct {
	// Messages and Tools are JSON arrays, exactly as they are sent.
	Messages, Tools json.RawMessage
	// Fields is a JSON object of further request fields (a Window's hints, response_format, seed …); empty for none.
	Fields json.RawMessage
	// MaxTokens bounds the reply; 0 leaves it to the server.
	MaxTokens int
}

// ChatDelta is a piece of a streamed reply.
type ChatDelta struct {
	// Content and Reasoning are the new piece of either text; mostly one of them is "".
	Content, Reasoning string
	// PromptCached and PromptTotal are set on progress reports before the first token, in tokens; else 0.
	PromptCached, PromptTotal int
}

// ChatToolCall is a call that the model asked for. Arguments are the raw bytes.
type ChatToolCall struct {
	// ID is the server's name for the call, Name the tool's.
	ID, Name, Arguments string
}

// ChatReply is a complete reply with the server's own counts.
type ChatReply struct {
	// Content, Reasoning and ToolCalls are what the model wrote; each may be empty.
	Content, Reasoning string
	ToolCalls          []ChatToolCall
	// FinishReason is the server's word: "stop", "length", "tool_calls".
	FinishReason string
	// PromptTokens is the size of the prompt, CachedTokens what was reused of it (nil: not reported), CompletionTokens the reply's size.
	PromptTokens     int
	CachedTokens     *int
	CompletionTokens int
	// PromptMillis is how long the prompt took to process, in milliseconds.
	PromptMillis float64
	// Model is the server's name for the model.
	Model string
	// ShiftRefused says that the server refused the request for its n_cache_reuse and answered it without.
	ShiftRefused bool
}
