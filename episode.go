package sakur4

import (
	"encoding/json"
	"time"

	"sakur4/boundary"
	"sakur4/evict"
	"sakur4/internal/episode"
	"sakur4/internal/turn"
	"sakur4/receipt"
	"sakur4/symbolic"
)

// MaxTurnBytes is the most that the texts of one turn may hold together, in bytes.
const MaxTurnBytes = 64 << 20

// The ids of what a store holds. They are plain names and prove nothing.
type (
	// EpisodeID names an episode: "ep_" and hexadecimal digits.
	EpisodeID string
	// FactID names a fact: "sym_" and hexadecimal digits, derived from its natural key. The rows of package symbolic, which knows nothing of this one, hold it as a
	// string: FactID(row.FactID) is what the calls of this package take.
	FactID string
	// PinID names a pin: "pin_" and hexadecimal digits.
	PinID string
	// NoteID names an attached note: "note_" and hexadecimal digits.
	NoteID string
	// FoldID names a fold: "fold_" and hexadecimal digits.
	FoldID string
	// WindowID names one prompt of a session: "win_" and hexadecimal digits.
	WindowID string
)

// The track types under their names in this package.
type (
	// SymbolicFact is a fact that a parser read: a proof that these bytes came back from this tool or file, not that they are true.
	SymbolicFact = symbolic.Fact
	// FactSource is a deterministic extractor; see the functions of package symbolic.
	FactSource = symbolic.FactSource
)

// Role is who speaks in a turn. The zero value is invalid.
type Role string

// The members of [Role].
const (
	// RoleSystem is a remark of the agent in mid-session. It is recorded, and rendered as a note.
	RoleSystem Role = "system"
	// RoleUser is the person's turn.
	RoleUser Role = "user"
	// RoleAssistant is the model's turn, with text, calls or both.
	RoleAssistant Role = "assistant"
	// RoleTool is the result of one call.
	RoleTool Role = "tool"
)

// ToolCall is a call that the model asked for.
type ToolCall struct {
	// ID is the server's name for the call. Ids may repeat over a session; rendered ones are made unique.
	ID string
	// Name is the tool's name.
	Name string
	// Arguments are the raw bytes as the model wrote them. They are recorded and replayed as they are.
	Arguments string
}

// Turn is what an agent records with [Session.Commit].
type Turn struct {
	// Role is who spoke; required.
	Role Role
	// Content is the text: of a result, every byte that came back. Invalid UTF-8 and NUL are kept.
	Content string
	// Reasoning is the model's thinking, of an assistant turn.
	Reasoning string
	// ToolCalls are the calls of an assistant turn.
	ToolCalls []ToolCall
	// ToolCallID is the call that a tool turn answers; ToolName the tool's name, "" takes the call's.
	//
	// The name decides which parser looks first, and whether the result is the content of a file, whose facts are then compared with the file when they are
	// recalled. It is where one of the name's words is read, view, cat or open and none is write, edit, list, search, grep, find, delete, create, replace, dir,
	// directory, files or many (read_file, mcp__fs__read_text_file, View), and for get_file_contents, load_file, fetch_file and str_replace_editor. The file is the
	// call's argument path, file_path, file, filename, file_name, absolute_path, target_file, relative_path, notebook_path or uri, or filePath or fileName.
	ToolCallID, ToolName string
	// Corrects names an earlier episode that this one replaces; "" for none. It is marked superseded and droppable.
	Corrects EpisodeID
	// Droppable says that the turn may be forgotten altogether when the policy allows it.
	Droppable bool
	// At is when the turn happened, between the years 1678 and 2262; zero means now.
	At time.Time
	// After is the Seq that the session's last episode must have, else nothing is stored and the error is [ErrConflict]. 0 checks nothing.
	After int64
}

// Committed is what [Session.Commit] did.
type Committed struct {
	// Episode is the new episode's id, Seq its place in the store.
	Episode EpisodeID
	Seq     int64
	// Tokens is the local count of the turn's texts.
	Tokens int
	// Parser names the parser that read the result, "" if it found no structure; Summary describes in one line what it found.
	Parser, Summary string
	// Facts are the facts that it read, at most [Options.MaxFacts]; FactsLeftOut counts the rest. What the ledger knows beyond the turn, Version, First and Updated, is
	// zero here: see [Engine.Facts].
	Facts        []symbolic.Row
	FactsLeftOut int
	// PinProposals are sentences of a user turn that state a rule. Nothing is pinned unasked.
	PinProposals []PinProposal
}

// PinProposal is a sentence that could be pinned with [Session.Pin].
type PinProposal struct {
	// Text is the sentence, verbatim; Kind is always [PinConstraint] so far.
	Text string
	Kind PinKind
}

// Episode is a view of one recorded turn. Its content is byte-identical to what was committed, for ever.
type Episode struct {
	// ID is its name, Seq its place in the store, ascending, from 1.
	ID  EpisodeID
	Seq int64
	// Session and Project say where it was recorded.
	Session, Project string
	// Role, Content, Reasoning, ToolCalls, ToolCallID and ToolName are those of the [Turn] that was committed.
	Role       Role
	Content    string
	Reasoning  string
	ToolCalls  []ToolCall
	ToolCallID string
	ToolName   string
	// At is when it happened, Created when it was recorded.
	At, Created time.Time
	// Tokens is the local count of its texts.
	Tokens int
	// Tier is how far it has been pushed out of the window.
	Tier evict.Tier
	// SupersededBy is the episode that corrects it, "" for none.
	SupersededBy EpisodeID
	// Droppable says that it may be forgotten altogether when the policy allows it.
	Droppable bool
	// Fold is the fold that it belongs to, "" for none.
	Fold FoldID
}

func view(r *episode.Record) Episode {
	e := Episode{ID: EpisodeID(r.ID), Seq: r.Seq, Session: r.Session, Project: r.Project, Role: Role(r.Role), Content: r.Content,
		Reasoning: r.Reasoning, ToolCallID: r.CallID, ToolName: r.ToolName, At: r.At, Created: r.Created, Tokens: r.Tokens, Tier: r.Tier,
		SupersededBy: EpisodeID(r.SupersededBy), Droppable: r.Droppable, Fold: FoldID(r.Fold)}
	for _, c := range r.Calls {
		e.ToolCalls = append(e.ToolCalls, ToolCall(c))
	}
	return e
}

// Message is one message of a prompt.
type Message struct {
	// Role is system, user, assistant or tool.
	Role string
	// Content is the text; always sent, also when it is empty.
	Content string
	// ReasoningContent is the thinking of an assistant message, ToolCalls are its calls; both are left out when empty.
	ReasoningContent string
	ToolCalls        []ToolCall
	// ToolCallID is the call that a tool message answers.
	ToolCallID string
}

// MarshalJSON returns the message in OpenAI form: fixed field order, no HTML escapes, one U+FFFD for each byte that is not valid UTF-8.
func (m Message) MarshalJSON() ([]byte, error) { return m.inner().AppendJSON(nil), nil }

func (m Message) inner() turn.Message {
	t := turn.Message{Role: episode.Role(m.Role), Content: m.Content, Reasoning: m.ReasoningContent, ToolCallID: m.ToolCallID}
	for _, c := range m.ToolCalls {
		t.Calls = append(t.Calls, episode.Call(c))
	}
	return t
}

func outer(t turn.Message) Message {
	m := Message{Role: string(t.Role), Content: t.Content, ReasoningContent: t.Reasoning, ToolCallID: t.ToolCallID}
	for _, c := range t.Calls {
		m.ToolCalls = append(m.ToolCalls, ToolCall(c))
	}
	return m
}

// MarshalMessages returns the JSON array of ms, byte for byte as it is counted. encoding/json, with its HTML escapes, would send the same text
// in other bytes.
func MarshalMessages(ms []Message) json.RawMessage {
	ts := make([]turn.Message, len(ms))
	for i, m := range ms {
		ts[i] = m.inner()
	}
	return turn.AppendArray(nil, ts)
}

// Head is what stands in front of the history in every prompt.
type Head struct {
	// System is the system text. Keep it free of clocks and counters: a changed head makes the server process the whole prompt again.
	System string
	// Tools is the JSON array of tools as the agent sends it; nil for none. It is counted here and sent by the agent.
	Tools json.RawMessage
	// CloseOpenCalls gives calls without a result the marked result of an interrupted one, for ever: set it after a restart.
	CloseOpenCalls bool
}

// Window is one prompt, ready to be sent.
type Window struct {
	// ID names the prompt for [Session.Observe].
	ID WindowID
	// Messages are the whole prompt. Do not change them.
	Messages []Message
	// Hints are request fields for a llama.cpp server.
	Hints Hints
	// Marks are the messages to set a cache breakpoint at, as ascending indexes into Messages, at most four; nil where the backend's cache knows no
	// breakpoints ([boundary.Marked]). Between two compactions the newest message of one prompt is marked in the next one too.
	Marks []int
	// Receipt says where the tokens went and what the cache is expected to do.
	Receipt receipt.Receipt
	// Plan is what was compacted in this call; nil if nothing was.
	Plan *Plan
}

// Hints are request fields of a llama.cpp server. They marshal to exactly these fields.
type Hints struct {
	// CachePrompt asks the server to reuse the prefix that it holds.
	CachePrompt bool `json:"cache_prompt"`
	// IDSlot names the slot; nil leaves the choice to the server.
	IDSlot *int `json:"id_slot,omitempty"`
	// NCacheReuse is the shortest run in tokens that the server may move instead of recomputing; 0 for none. 0 is sent too: a server started with
	// --cache-reuse would move tokens on every request that leaves it out.
	NCacheReuse int `json:"n_cache_reuse"`
	// TemplateKwargs are arguments of the chat template; nil for none.
	TemplateKwargs json.RawMessage `json:"chat_template_kwargs,omitempty"`
}

// Plan is a compaction: where the prompt changes and what leaves it behind that place.
type Plan struct {
	// Cut is the place of the change with the cache's arithmetic: its position is that of the first token which is not as it was. That lies a few tokens behind the start
	// of the first changed message, which [Plan.Reason] names, where both begin alike.
	Cut boundary.Plan
	// Steps are the rungs that episodes take, each with its reason and the tokens that it reclaims.
	Steps []evict.Step
	// Before and After are the prompt's tokens, Target what was aimed at.
	Before, After, Target int
	// Floor names what kept the plan from its target or had to give way; "" for neither. "KV shift" is that messages which the server moves would have
	// had to change.
	Floor string
	// Reason is the planner's arithmetic in words, pass by pass: with the sizes that it expected, where Before, After and Cut are counted.
	Reason string
	// Pressure is why there is a plan.
	Pressure evict.Pressure
	// Applied says that the plan was carried out. A plan that reclaims nothing is not.
	Applied bool
}

// Usage is what a server measured for one prompt.
type Usage struct {
	// Window is the prompt's id; "" is the session's last.
	Window WindowID
	// PromptTokens is the server's count of the prompt; 0 is "not reported".
	PromptTokens int
	// CachedTokens is how many of them were reused; nil is "not reported", which is not 0. More than the prompt has count as all of it, and the receipt's cause says so.
	CachedTokens *int
	// CompletionTokens is the size of the reply.
	CompletionTokens int
	// PromptMillis is how long the prompt took to process, in milliseconds.
	PromptMillis float64
	// CacheWriteTokens is how many tokens a provider wrote to its cache; nil is "not reported".
	CacheWriteTokens *int
	// Provider and Model name who answered; "" is unknown.
	Provider, Model string
	// ShiftRefused says that the server refused the request for its n_cache_reuse, so that it was sent without: no compaction of the session relies on KV
	// shift any more, and the receipt says so.
	ShiftRefused bool
}
