package llamatest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// EnvServer is the environment variable that names the llama-server binary, or a script that starts it with the arguments it is given.
const EnvServer = "SAKUR4_LLAMA_SERVER"

// startTimeout bounds how long a server may take until it answers. The tiny models load in a fraction of a second; a large vocabulary on a busy
// machine takes seconds.
const startTimeout = 60 * time.Second

// Options say how a server is started. The zero value is one slot of 32768 tokens over the zero [Model].
type Options struct {
	// Model is written for the server.
	Model Model
	// ModelPath is a model file to use instead of writing Model; "" means Model.
	ModelPath string
	// Context is the context in tokens over all slots (-c); 0 means 32768.
	Context int
	// Slots is the number of slots (-np); 0 means 1. Each has Context/Slots tokens.
	Slots int
	// UBatch is the size of a physical batch in tokens (-ub); 0 leaves the server's own.
	UBatch int
	// Checkpoints is the number of context checkpoints of a slot (-ctxcp); 0 leaves the server's own.
	Checkpoints int
	// Spacing is the minimum distance of checkpoints in tokens (-cms); 0 leaves the server's own.
	Spacing int
	// SlotSave gives the server a folder for slot files, so that slots can be saved and restored; false means that it refuses.
	SlotSave bool
	// Args are further arguments, after those above.
	Args []string
}

// Server is a running llama-server. Its methods are safe for concurrent use, except that requests during [Server.Restart] may fail.
type Server struct {
	// URL is the base address, without a slash at its end. It stays the same over restarts.
	URL string
	// SlotDir is the folder of slot files, "" unless Options.SlotSave.
	SlotDir string

	binary string
	dir    string
	args   []string

	mu   sync.Mutex // guards proc
	proc *process
}

// process is one run of the binary.
type process struct {
	cmd  *exec.Cmd
	hold io.Closer     // closing it, or our end, makes the watcher end the process group
	done chan struct{} // closed when the process has been waited for
	err  error         // set before done is closed
}

// Start starts a server for t and stops it when t ends. It skips t if [EnvServer] is not set, and fails t if the server does not come up.
// The end of the server's log is shown when t has failed.
func Start(t testing.TB, opts Options) *Server {
	t.Helper()
	binary := serverBinary(t)
	s, err := start(t.Context(), binary, t.TempDir(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Stop()
		if t.Failed() {
			t.Logf("end of the log of %s:\n%s", binary, s.logTail())
		}
	})
	return s
}

// serverBinary returns the binary, or skips t.
func serverBinary(t testing.TB) string {
	t.Helper()
	binary := os.Getenv(EnvServer)
	if binary == "" {
		t.Skip("skipped: " + EnvServer + " is not set")
	}
	return binary
}

// start writes the model into dir and runs the binary on it.
func start(ctx context.Context, binary, dir string, opts Options) (*Server, error) {
	s := &Server{binary: binary, dir: dir}
	model := opts.ModelPath
	if model == "" {
		model = filepath.Join(dir, "model.gguf")
		if err := ModelFile(model, opts.Model); err != nil {
			return nil, err
		}
	}
	number := func(flag string, n int) {
		if n > 0 {
			s.args = append(s.args, flag, strconv.Itoa(n))
		}
	}
	s.args = []string{"-m", model, "--host", "127.0.0.1", "--no-webui", "-t", "2"}
	number("-c", orDefault(opts.Context, 32768))
	number("-np", orDefault(opts.Slots, 1))
	number("-ub", opts.UBatch)
	number("-ctxcp", opts.Checkpoints)
	number("-cms", opts.Spacing)
	if opts.SlotSave {
		s.SlotDir = filepath.Join(dir, "slots")
		if err := os.MkdirAll(s.SlotDir, 0o700); err != nil {
			return nil, fmt.Errorf("llamatest: %w", err)
		}
		s.args = append(s.args, "--slot-save-path", s.SlotDir)
	}
	s.args = append(s.args, opts.Args...)

	// Between finding a free port and the server's taking it, another process may take it: then the next one is tried.
	var last error
	for range 3 {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		s.URL = "http://127.0.0.1:" + port
		if last = s.run(ctx); last == nil {
			return s, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, last
}

func orDefault(n, standard int) int {
	if n == 0 {
		return standard
	}
	return n
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("llamatest: find a free port: %w", err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if e := l.Close(); err == nil {
		err = e
	}
	return port, err
}

// run starts the process and returns once it answers.
func (s *Server) run(ctx context.Context) error {
	log, err := os.OpenFile(s.logPath(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("llamatest: %w", err)
	}
	defer log.Close() // the child has a handle of its own

	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
	cmd := command(s.binary, append(s.args[:len(s.args):len(s.args)], "--port", port))
	cmd.Stdout, cmd.Stderr = log, log
	hold, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("llamatest: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("llamatest: start %s: %w", s.binary, err)
	}
	p := &process{cmd: cmd, hold: hold, done: make(chan struct{})}
	go func() { // ends with the process, which stop ends
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := s.awaitHealth(ctx, p); err != nil {
		p.stop()
		return fmt.Errorf("llamatest: %w; end of its log:\n%s", err, s.logTail())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proc = p
	return nil
}

// awaitHealth asks until the server says that the model is loaded.
func (s *Server) awaitHealth(ctx context.Context, p *process) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		status, _, err := s.Do(ctx, http.MethodGet, "/health", nil)
		if err == nil && status == http.StatusOK {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended before it answered: %v", s.binary, p.err)
		case <-ctx.Done():
			return fmt.Errorf("%s did not answer: %w", s.binary, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// stop ends the process group and waits for the process.
func (p *process) stop() {
	killGroup(p.cmd)
	_ = p.hold.Close()
	<-p.done
}

// Stop ends the server and waits for it. Stopping a stopped server does nothing.
func (s *Server) Stop() {
	s.mu.Lock()
	p := s.proc
	s.proc = nil
	s.mu.Unlock()
	if p != nil {
		p.stop()
	}
}

// Restart stops the server if it runs and starts it again with the same arguments on the same address. Its slots are then empty; slot files stay.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Stop()
	if err := s.run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// client opens a connection for each request, so that none is left over from before a restart.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// Do sends one request with an optional JSON body: nil for none, []byte or json.RawMessage as they are, anything else encoded.
// It returns the status and the body of the reply; err is set only when there is no reply.
func (s *Server) Do(ctx context.Context, method, path string, body any) (status int, reply []byte, err error) {
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case []byte:
		content = bytes.NewReader(b)
	case json.RawMessage:
		content = bytes.NewReader(b)
	default:
		encoded, err := json.Marshal(b)
		if err != nil {
			return 0, nil, fmt.Errorf("llamatest: %w", err)
		}
		content = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, content)
	if err != nil {
		return 0, nil, fmt.Errorf("llamatest: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("llamatest: %w", err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	reply, err = io.ReadAll(resp.Body)
	return resp.StatusCode, reply, err
}

// Log returns what the server has written so far, over all its runs.
func (s *Server) Log() string {
	b, err := os.ReadFile(s.logPath())
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (s *Server) logPath() string { return filepath.Join(s.dir, "server.log") }

func (s *Server) logTail() string {
	const limit = 4000
	log := s.Log()
	if len(log) > limit {
		log = "… " + log[len(log)-limit:]
	}
	return log
}
