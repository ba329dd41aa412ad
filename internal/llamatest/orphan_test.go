//go:build unix

package llamatest_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"sakur4/internal/llamatest"
)

// envHold turns TestHold into the process that TestServerEndsWithItsProcess kills.
const envHold = "LLAMATEST_HOLD"

// TestHold starts a server, says where, and waits to be killed.
func TestHold(t *testing.T) {
	if os.Getenv(envHold) == "" {
		t.Skip("skipped: only run by TestServerEndsWithItsProcess")
	}
	s := llamatest.Start(t, llamatest.Options{})
	fmt.Println("address " + strings.TrimPrefix(s.URL, "http://"))
	_, _ = io.Copy(io.Discard, os.Stdin) // ends when the parent does
}

// TestServerEndsWithItsProcess shows that no server is left when a test process is killed and no clean-up runs.
func TestServerEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	if os.Getenv(llamatest.EnvServer) == "" {
		t.Skip("skipped: " + llamatest.EnvServer + " is not set")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestHold$", "-test.v")
	// The killed process leaves its folders behind: below this test's own.
	cmd.Env = append(os.Environ(), envHold+"=1", "TMPDIR="+t.TempDir())
	hold, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	defer func() {
		if !killed {
			_ = cmd.Process.Kill()
		}
		_ = cmd.Wait()
	}()
	address := ""
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		_, address, _ = strings.Cut(lines.Text(), "address ")
	}
	if address == "" {
		t.Fatal("the helper process named no address")
	}
	// A long reply is under way when the process is killed. A server that lives on would bring it to its end.
	reply, err := http.Post("http://"+address+"/completion", "application/json",
		strings.NewReader(`{"prompt": "the", "n_predict": 20000, "ignore_eos": true, "stream": true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	if _, err := reply.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed = true
	rest, err := io.ReadAll(reply.Body)
	if err == nil || strings.Contains(string(rest), `"stop":true`) {
		t.Errorf("the server of a killed process sent its whole reply of %d bytes, %v, want it broken off", len(rest), err)
	}
}
