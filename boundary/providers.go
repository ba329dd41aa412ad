package boundary

// The geometries of servers other than llama.cpp, as their makers describe them or users have measured. Each is a starting point: what a provider
// reports is compared with it at every turn. What they keep for how long is not part of it, since nobody says.

// VLLM is the geometry of a vLLM server with prefix caching: whole blocks of 16 tokens. Hybrid models have far larger ones: set Block. It reports cached
// tokens only when it is started with the flag for it.
func VLLM() Geometry { return Geometry{Kind: Blocks, Block: 16, Min: 16} }

// SGLang is the geometry of an SGLang server with pages of one token. It reports cached tokens only when it is started with the flag for it.
func SGLang() Geometry { return Geometry{Kind: AnyToken} }

// OpenAI is the geometry of hosted OpenAI models before GPT-5.6: 1024 tokens, then steps of 128. The count is in cached_tokens.
func OpenAI() Geometry { return Geometry{Kind: Blocks, Block: 128, Min: 1024} }

// OpenAIMarked is the geometry of hosted OpenAI models from GPT-5.6 on: prefixes that requests mark, from 1024 tokens on, without a fall-back to a shorter
// one that is not marked.
func OpenAIMarked() Geometry { return Geometry{Kind: Marked, Marks: MaxMarks, Min: 1024} }

// Anthropic is the geometry of hosted Anthropic models: at most four prefixes that a request marks, of at least minimum tokens, which is 512 to 4096 by
// model; 0 or less is 1024. The provider also looks back 20 blocks of content from each mark, which is not counted on. The counts are in
// cache_read_input_tokens and cache_creation_input_tokens; its input_tokens leave both out, so add the three for [Usage.PromptTokens] of the root package.
func Anthropic(minimum int) Geometry {
	if minimum <= 0 {
		minimum = 1024
	}
	return Geometry{Kind: Marked, Marks: MaxMarks, Min: minimum}
}

// DeepSeek is the geometry of hosted DeepSeek models: a prompt is reused as a whole or not at all. The count is in prompt_cache_hit_tokens.
func DeepSeek() Geometry { return Geometry{Kind: Marked} }

// Gemini is the geometry of hosted Gemini models: any prefix of at least minimum tokens, which is 2048 to 4096 by model; 0 or less is 2048. It is a best
// effort: less may be reused at any time. The count is in cachedContentTokenCount.
func Gemini(minimum int) Geometry {
	if minimum <= 0 {
		minimum = 2048
	}
	return Geometry{Kind: Blocks, Block: 1, Min: minimum}
}
