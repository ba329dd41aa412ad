package llamatest

// NamedTemplate is a chat template with the name that the command line knows it by.
type NamedTemplate struct {
	Name, Text string
}

// Templates lists the templates of this package.
func Templates() []NamedTemplate {
	return []NamedTemplate{
		{"chatml", ChatML},
		{"chatml-tool-role", ChatMLToolRole},
		{"strict", Strict},
		{"no-system", NoSystem},
		{"reasoning-dropper", ReasoningDropper},
		{"tool-in-user", ToolInUser},
	}
}

// TemplateNamed returns the template of that name, and whether there is one; "simulated" is [Simulated].
func TemplateNamed(name string) (string, bool) {
	for _, t := range append(Templates(), NamedTemplate{"simulated", Simulated}) {
		if t.Name == name {
			return t.Text, true
		}
	}
	return "", false
}

// toolList renders the tools into the system message, behind its text.
const toolList = `
{%- macro tool_list() -%}
# Tools

You may call these functions:
<tools>
{%- for tool in tools -%}
{{- '\n' + (tool | tojson) -}}
{%- endfor -%}
{{- '\n' -}}
</tools>

Write a call as <tool_call>{"name": ..., "arguments": ...}</tool_call>.
{%- endmacro -%}
`

// calls renders the tool calls of an assistant message.
const calls = `
{%- macro calls(message) -%}
{%- if message.tool_calls -%}
{%- for call in message.tool_calls -%}
{%- set arguments = call.function.arguments if call.function.arguments is string else call.function.arguments | tojson -%}
{{- ('\n' if message.content or not loop.first else '') + '<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' + arguments + '}\n</tool_call>' -}}
{%- endfor -%}
{%- endif -%}
{%- endmacro -%}
`

// head renders the system message and the tools, and sets "start" to the index of the first message behind it.
const head = toolList + calls + `
{%- set ns = namespace(start=0, text='') -%}
{%- if messages and messages[0].role == 'system' -%}
{%- set ns.start = 1 -%}
{%- set ns.text = messages[0].content -%}
{%- endif -%}
{%- if ns.start == 1 or tools -%}
{{- '<|im_start|>system\n' + ns.text -}}
{%- if tools -%}
{{- ('\n\n' if ns.text else '') + tool_list() -}}
{%- endif -%}
{{- '<|im_end|>\n' -}}
{%- endif -%}
`

// tail opens the assistant's reply.
const tail = `
{%- if add_generation_prompt -%}
{{- '<|im_start|>assistant\n' -}}
{%- endif -%}
`

// ChatML accepts anything: any order of roles, results without calls, several user messages in a row. Tool results that follow each other
// share one user message. Reasoning is rendered wherever it is given.
const ChatML = head + `
{%- for message in messages[ns.start:] -%}
{%- if message.role == 'tool' -%}
{%- if loop.first or loop.previtem.role != 'tool' -%}{{- '<|im_start|>user' -}}{%- endif -%}
{{- '\n<tool_response>\n' + message.content + '\n</tool_response>' -}}
{%- if loop.last or loop.nextitem.role != 'tool' -%}{{- '<|im_end|>\n' -}}{%- endif -%}
{%- else -%}
{{- '<|im_start|>' + message.role + '\n' -}}
{%- if message.reasoning_content -%}{{- '<think>\n' + message.reasoning_content + '\n</think>\n\n' -}}{%- endif -%}
{{- (message.content or '') + calls(message) + '<|im_end|>\n' -}}
{%- endif -%}
{%- endfor -%}
` + tail

// Simulated is [ChatML] with a user message for each tool result: a prompt reads as the simulator of the package internal/embedded writes it, so that
// both can be compared to the token.
const Simulated = head + `
{%- for message in messages[ns.start:] -%}
{%- if message.role == 'tool' -%}
{{- '<|im_start|>user\n<tool_response>\n' + message.content + '\n</tool_response><|im_end|>\n' -}}
{%- else -%}
{{- '<|im_start|>' + message.role + '\n' -}}
{%- if message.reasoning_content -%}{{- '<think>\n' + message.reasoning_content + '\n</think>\n\n' -}}{%- endif -%}
{{- (message.content or '') + calls(message) + '<|im_end|>\n' -}}
{%- endif -%}
{%- endfor -%}
` + tail

// ChatMLToolRole is as lenient as [ChatML], but each tool result is a message of the role "tool".
const ChatMLToolRole = head + `
{%- for message in messages[ns.start:] -%}
{{- '<|im_start|>' + message.role + '\n' -}}
{%- if message.reasoning_content -%}{{- '<think>\n' + message.reasoning_content + '\n</think>\n\n' -}}{%- endif -%}
{{- (message.content or '') + calls(message) + '<|im_end|>\n' -}}
{%- endfor -%}
` + tail

// order raises unless the messages behind the system message are in a legal order: the first is from the user, user and assistant take turns,
// results follow the calls of an assistant message (one for each call) and are followed by the assistant. It is text that every strict template includes.
const order = `
{%- set seq = namespace(prev='start', open=0) -%}
{%- for message in messages[ns.start:] -%}
{%- if message.role == 'user' -%}
{%- if seq.prev != 'start' and seq.prev != 'assistant' -%}{{- raise_exception('a user message cannot follow a message of the role ' + seq.prev) -}}{%- endif -%}
{%- if seq.open > 0 -%}{{- raise_exception('a user message cannot come before the results of all calls') -}}{%- endif -%}
{%- elif message.role == 'assistant' -%}
{%- if seq.prev != 'user' and seq.prev != 'tool' -%}{{- raise_exception('an assistant message cannot follow a message of the role ' + seq.prev) -}}{%- endif -%}
{%- if seq.open > 0 -%}{{- raise_exception('an assistant message cannot come before the results of all calls') -}}{%- endif -%}
{%- set seq.open = message.tool_calls | length if message.tool_calls else 0 -%}
{%- elif message.role == 'tool' -%}
{%- if seq.open == 0 -%}{{- raise_exception('a tool result needs a call in front of it') -}}{%- endif -%}
{%- set seq.open = seq.open - 1 -%}
{%- else -%}
{{- raise_exception('the role ' + message.role + ' is not known here') -}}
{%- endif -%}
{%- set seq.prev = message.role -%}
{%- endfor -%}
`

// Strict raises when user and assistant do not alternate. Tool results are messages of their own and may stand only behind their calls;
// a user message right after one is refused. System messages may stand only at the start.
const Strict = head + order + `
{%- for message in messages[ns.start:] -%}
{{- '<|im_start|>' + message.role + '\n' -}}
{{- (message.content or '') + calls(message) + '<|im_end|>\n' -}}
{%- endfor -%}
` + tail

// ToolInUser raises when the order is not that of [Strict], and renders consecutive tool results into one user message.
const ToolInUser = head + order + `
{%- for message in messages[ns.start:] -%}
{%- if message.role == 'tool' -%}
{%- if loop.first or loop.previtem.role != 'tool' -%}{{- '<|im_start|>user' -}}{%- endif -%}
{{- '\n<tool_response>\n' + message.content + '\n</tool_response>' -}}
{%- if loop.last or loop.nextitem.role != 'tool' -%}{{- '<|im_end|>\n' -}}{%- endif -%}
{%- else -%}
{{- '<|im_start|>' + message.role + '\n' -}}
{{- (message.content or '') + calls(message) + '<|im_end|>\n' -}}
{%- endif -%}
{%- endfor -%}
` + tail

// NoSystem knows no system role and raises on one; llama-server notices when it loads the template and moves a system message at the start into the first
// user message. User and model take turns; tool results count as the user's turn, consecutive ones in one.
// It renders no tool list.
const NoSystem = calls + `
{%- set ns = namespace(start=0) -%}
{%- if messages and messages[0].role == 'system' -%}{{- raise_exception('the system role is not supported') -}}{%- endif -%}
` + order + `
{%- for message in messages -%}
{%- if message.role == 'tool' -%}
{%- if loop.first or loop.previtem.role != 'tool' -%}{{- '<start_of_turn>user' -}}{%- endif -%}
{{- '\n<tool_response>\n' + message.content + '\n</tool_response>' -}}
{%- if loop.last or loop.nextitem.role != 'tool' -%}{{- '<end_of_turn>\n' -}}{%- endif -%}
{%- else -%}
{{- '<start_of_turn>' + ('model' if message.role == 'assistant' else 'user') + '\n' -}}
{{- (message.content or '') + calls(message) + '<end_of_turn>\n' -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- '<start_of_turn>model\n' -}}
{%- endif -%}
`

// ReasoningDropper is as lenient as [ChatML], but renders reasoning only behind the last message that a user wrote. So a new user message takes the
// reasoning of the past loop out of the prompt.
const ReasoningDropper = head + `
{%- set last = namespace(user=-1) -%}
{%- for message in messages -%}
{%- if message.role == 'user' -%}{%- set last.user = loop.index0 -%}{%- endif -%}
{%- endfor -%}
{%- for message in messages -%}
{%- if loop.index0 < ns.start -%}
{%- elif message.role == 'tool' -%}
{%- if loop.first or loop.previtem.role != 'tool' -%}{{- '<|im_start|>user' -}}{%- endif -%}
{{- '\n<tool_response>\n' + message.content + '\n</tool_response>' -}}
{%- if loop.last or loop.nextitem.role != 'tool' -%}{{- '<|im_end|>\n' -}}{%- endif -%}
{%- else -%}
{{- '<|im_start|>' + message.role + '\n' -}}
{%- if message.reasoning_content and loop.index0 > last.user -%}{{- '<think>\n' + message.reasoning_content + '\n</think>\n\n' -}}{%- endif -%}
{{- (message.content or '') + calls(message) + '<|im_end|>\n' -}}
{%- endif -%}
{%- endfor -%}
` + tail
