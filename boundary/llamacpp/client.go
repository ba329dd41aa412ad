package llamacpp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"

	"sakur4/boundary"
)

// defaultMaxBody bounds a response: the tokens of a prompt of a million tokens with their texts take about 60 MB.
const defaultMaxBody = 256 << 20

// Options changes how a [Client] works. A nil *Options and zero fields mean the defaults.
type Options struct {
	// APIKey is sent as a bearer token; "" sends none.
	APIKey string
	// HTTPClient sends the requests; nil uses a client of its own without a time limit (contexts limit each call).
	HTTPClient *http.Client
	// Geometry is the shape of the cache. The zero value reads it from the header of the model file, where the server is on this machine and
	// the file is readable; else it stays unknown. A server that was started with --swa-full looks like one without: say
	// Geometry{Kind: boundary.AnyToken} for it.
	Geometry boundary.Geometry
	// Rule holds the checkpoint settings that the server was started with; nil assumes the server's defaults. Its Window is filled in from the
	// model file if it is 0.
	Rule *boundary.CheckpointRule
	// Probe lets [Client.Profile] measure the shape of the cache where neither Geometry nor Rule nor a model file tells it, by two requests of about that many
	// tokens to a slot that is empty while none works; where there is none, the shape stays unknown. A window is seen if it is shorter than Probe by more than the
	// server's ubatch: 4096 finds the usual ones, and takes the time of as many tokens of prompt, once. 0 sends nothing.
	Probe int
	// Slot is the slot that chat requests name when their fields do not; nil leaves the choice to the server.
	Slot *int
	// MaxBody bounds a response in bytes; 0 means 256 MiB.
	MaxBody int64
	// Model is sent with requests, for servers that hold several models; "" sends none.
	Model string
}

// Client talks to one llama.cpp server. It is safe for concurrent use. The zero value is not usable.
type Client struct {
	base string
	opts Options

	// mu guards what follows.
	mu      sync.Mutex
	profile boundary.Profile
	props   Props // that profile was made from
	known   bool
	sampled weightsFile
}

var (
	_ boundary.Backend   = (*Client)(nil)
	_ boundary.Remote    = (*Client)(nil)
	_ boundary.Refresher = (*Client)(nil)
	_ boundary.SlotSaver = (*Client)(nil)
	_ boundary.Idler     = (*Client)(nil)
	_ boundary.Chatter   = (*Client)(nil)
)

// New returns a client of the server at baseURL, such as "http://127.0.0.1:8080". It sends nothing. A path in the URL is kept as a prefix.
func New(baseURL string, opts *Options) (*Client, error) {
	u, err := url.Parse(baseURL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("llamacpp: base URL: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("llamacpp: base URL %q is not http://host or https://host", baseURL)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("llamacpp: base URL %q has a query or fragment", baseURL)
	}
	c := &Client{base: strings.TrimRight(baseURL, "/")}
	if opts != nil {
		c.opts = *opts
	}
	if c.opts.MaxBody < 0 {
		return nil, fmt.Errorf("llamacpp: MaxBody is %d bytes", c.opts.MaxBody)
	}
	if c.opts.Probe < 0 {
		return nil, fmt.Errorf("llamacpp: Probe is %d tokens", c.opts.Probe)
	}
	if c.opts.Slot != nil {
		if *c.opts.Slot < 0 {
			return nil, fmt.Errorf("llamacpp: Slot is %d", *c.opts.Slot)
		}
		slot := *c.opts.Slot
		c.opts.Slot = &slot
	}
	if c.opts.Rule != nil {
		rule := *c.opts.Rule
		c.opts.Rule = &rule
	}
	if c.opts.HTTPClient == nil {
		c.opts.HTTPClient = &http.Client{}
	}
	if c.opts.MaxBody == 0 {
		c.opts.MaxBody = defaultMaxBody
	}
	return c, nil
}

// call sends one request and decodes the JSON answer into out. A nil body sends a GET. Where the connection breaks under it, which kept-alive ones
// do when a server is busy or restarts, it is sent once more on a new one: no request of ours changes anything but a cache.
func (c *Client) call(ctx context.Context, path string, body []byte, out any) error {
	err := c.once(ctx, path, body, out)
	if err != nil && ctx.Err() == nil && broken(err) {
		err = c.once(ctx, path, body, out)
	}
	return err
}

// broken reports whether a connection that had been made ended before its answer did.
func broken(err error) bool {
	for _, sign := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return false
}

func (c *Client) once(ctx context.Context, path string, body []byte, out any) error {
	resp, err := c.send(ctx, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := c.readAll(ctx, resp.Body, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("llamacpp: %s: answer: %w: %w", path, err, boundary.ErrUnavailable)
	}
	return nil
}

// send returns the response of a request that the server accepted; its body is the caller's to close.
func (c *Client) send(ctx context.Context, path string, body []byte) (*http.Response, error) {
	method, reader := http.MethodGet, io.Reader(nil)
	if body != nil {
		method, reader = http.MethodPost, bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, reader)
	if err != nil {
		return nil, fmt.Errorf("llamacpp: %s: %w", path, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
		// The empty key tells net/http that the request may be sent again on a new connection, and is not sent itself.
		req.Header["Idempotency-Key"] = nil
	}
	if c.opts.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.opts.APIKey)
	}
	resp, err := c.opts.HTTPClient.Do(req)
	if err != nil {
		return nil, transportError(ctx, path, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		b, err := c.readAll(ctx, resp.Body, path)
		if err != nil && !errors.Is(err, ErrBodyTooLarge) {
			return nil, err
		}
		return nil, fmt.Errorf("llamacpp: %s: %w", path, apiError(resp.StatusCode, b))
	}
	return resp, nil
}

// readAll reads a body up to the limit; what was read comes with the error.
func (c *Client) readAll(ctx context.Context, r io.Reader, path string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, c.opts.MaxBody+1))
	if int64(len(b)) > c.opts.MaxBody {
		return b[:c.opts.MaxBody], fmt.Errorf("llamacpp: %s: answer of more than %d bytes: %w", path, c.opts.MaxBody, ErrBodyTooLarge)
	}
	if err != nil {
		return b, transportError(ctx, path, err)
	}
	return b, nil
}

// encode writes a request body as the server is to read it: no HTML escapes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("llamacpp: request: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
