// Package embedded is an in-process model of a llama.cpp server: its chat template, its checks and its prompt cache, without a model.
package embedded

import "sakur4/boundary"

// Tokenizer turns ordinary text into tokens. Control tokens are cut out before it sees the text.
type Tokenizer interface {
	// Name names the vocabulary.
	Name() string
	// Encode returns the token ids of text.
	Encode(text string) []int32
	// Spans returns the same ids and for each the byte offset in text at which it ends.
	Spans(text string) (ids []int32, ends []int)
}

// Config describes the server to simulate. The zero value is a full-attention server with 32768 tokens and one slot that counts bytes.
type Config struct {
	// Window is the context of one slot in tokens; 0 means 32768.
	Window int
	// Slots is the number of slots; 0 means 1.
	Slots int
	// Kind is the shape of the cache: [boundary.AnyToken] (also the meaning of zero) or [boundary.Points].
	Kind boundary.Kind
	// Rule holds the checkpoint settings with [boundary.Points]; its zero fields mean the defaults of llama-server.
	Rule boundary.CheckpointRule
	// Tokenizer is the vocabulary; nil makes every byte a token.
	Tokenizer Tokenizer
}

// Server is the simulated server. It is safe for concurrent use.
type Server struct{ cfg Config }

// New returns a server with empty slots.
func New(cfg Config) *Server { return &Server{cfg: cfg} }
