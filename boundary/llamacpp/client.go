// Package llamacpp is a client of a llama.cpp server.
package llamacpp

import (
	"net/http"

	"sakur4/boundary"
)

// Options changes how a [Client] works. A nil *Options and zero fields mean the defaults.
type Options struct {
	// APIKey is sent as a bearer token; "" sends none.
	APIKey string
	// HTTPClient sends the requests; nil uses a client of its own without a time limit (contexts limit each call).
	HTTPClient *http.Client
	// Geometry is the shape of the cache; the zero value reads it from the model file's header where props name a readable one, else it stays unknown.
	Geometry boundary.Geometry
	// Rule holds the checkpoint settings that the server was started with; nil assumes the server's defaults.
	Rule *boundary.CheckpointRule
	// Slot is the slot that chat requests name when their fields do not; nil leaves the choice to the server.
	Slot *int
	// MaxBody bounds a response in bytes; 0 means 256 MiB.
	MaxBody int64
	// Model is sent with requests to servers that hold several models; "" sends none.
	Model string
}

// Client talks to one llama.cpp server. It is safe for concurrent use.
type Client struct {
	base string
	opts Options
}

// New returns a client of the server at baseURL, such as "http://127.0.0.1:8080". It sends nothing.
func New(baseURL string, opts *Options) (*Client, error) { return &Client{base: baseURL}, nil }
