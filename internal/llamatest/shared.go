package llamatest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// pool holds the servers that the tests of one process share. It is started by Shared and emptied by Main.
type pool struct {
	mu      sync.Mutex // guards entries
	entries map[string]*shared
}

type shared struct {
	once   sync.Once
	server *Server
	err    error
	dir    string
}

var servers = pool{entries: map[string]*shared{}}

// Shared returns a server that all tests of the process with equal options share: it is started once, by the first that asks. The package's TestMain
// must call [Main], which stops it. Like [Start] it skips t if [EnvServer] is not set.
//
// Tests that share a server share its slots: they run one after another, or each names an id_slot of its own. None may stop or restart it.
func Shared(t testing.TB, opts Options) *Server {
	t.Helper()
	binary := serverBinary(t)
	key := fmt.Sprintf("%#v", opts)
	servers.mu.Lock()
	entry := servers.entries[key]
	if entry == nil {
		entry = &shared{}
		servers.entries[key] = entry
	}
	servers.mu.Unlock()
	entry.once.Do(func() {
		entry.dir, entry.err = os.MkdirTemp("", "llamatest-")
		if entry.err != nil {
			return
		}
		// The server outlives the test that happens to be first.
		entry.server, entry.err = start(context.WithoutCancel(t.Context()), binary, entry.dir, opts)
	})
	if entry.err != nil {
		t.Fatal(entry.err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("end of the log of %s:\n%s", binary, entry.server.logTail())
		}
	})
	return entry.server
}

// Main runs the tests of a package and then stops the servers that [Shared] started. Use it as
//
//	func TestMain(m *testing.M) { os.Exit(llamatest.Main(m)) }
func Main(m *testing.M) int {
	code := m.Run()
	servers.mu.Lock()
	defer servers.mu.Unlock()
	for _, entry := range servers.entries {
		if entry.server != nil {
			entry.server.Stop()
		}
		if entry.dir != "" {
			_ = os.RemoveAll(entry.dir) // a temporary folder
		}
	}
	clear(servers.entries)
	return code
}
