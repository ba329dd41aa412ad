package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"sakur4"
)

// childEnv makes the test binary an agent: its value is the number of the prompt after which it does nothing more, "" for an ordinary test run.
const childEnv = "SAKUR4_AGENT_CHILD"

// child is an agent that tells its parent what it has been promised: every acknowledged turn and every prompt, a line each.
func child() int {
	last, err := strconv.Atoi(os.Getenv(childEnv))
	if err != nil {
		return 3
	}
	cfg, err := parseFlags("", os.Args[1:], os.Stderr)
	if err != nil {
		return 3
	}
	windows := 0
	cfg.seen = func(kind, text string) {
		fmt.Printf("%s %s\n", kind, text)
		if kind != "window" {
			return
		}
		if windows++; windows == last {
			select {} // until it is killed
		}
	}
	if err := work(context.Background(), cfg, streams{os.Stdin, io.Discard, os.Stderr}); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		return 1
	}
	return 0
}

// running is a child whose lines are read one by one.
type running struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	errs  *strings.Builder
}

func startChild(t *testing.T, last int, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	r := &running{cmd: exec.CommandContext(ctx, os.Args[0], args...), errs: &strings.Builder{}}
	r.cmd.Env = append(os.Environ(), childEnv+"="+strconv.Itoa(last))
	r.cmd.Stderr = r.errs
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.lines = bufio.NewScanner(out)
	r.lines.Buffer(nil, 16<<20)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestKill kills an agent with no warning. What it was promised is there, and the next process makes the same prompt, byte for byte.
func TestKill(t *testing.T) {
	t.Parallel()
	root := tree(t, 10)
	for _, last := range []int{1, 6, 17, 31} {
		t.Run(fmt.Sprint("after_prompt_", last), func(t *testing.T) {
			t.Parallel()
			db := filepath.Join(t.TempDir(), "a.db")
			r := startChild(t, last, "-root", root, "-db", db, "-turns", "40")
			acks := map[string]string{}
			prompt, windows := "", 0
			for windows < last && r.lines.Scan() {
				kind, text, _ := strings.Cut(r.lines.Text(), " ")
				switch kind {
				case "ack":
					id, digest, _ := strings.Cut(text, " ")
					acks[id] = digest
				case "window":
					prompt = text
					windows++
				}
			}
			if err := r.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := r.cmd.Wait(); err == nil || windows != last {
				t.Fatalf("child ended with %v after %d prompts, want it killed after %d; stderr: %s", err, windows, last, r.errs)
			}
			a := opened(t, root, "-db", db)
			for id, digest := range acks {
				e, err := a.eng.Episode(t.Context(), sakur4.EpisodeID(id))
				if err != nil || episodeDigest(e) != digest {
					t.Errorf("acknowledged episode %s: %v, same bytes: %t; want it whole", id, err, err == nil && episodeDigest(e) == digest)
				}
			}
			w, err := a.ses.Window(t.Context(), a.head)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(sakur4.MarshalMessages(w.Messages)); got != prompt {
				t.Errorf("prompt after the restart has %d bytes and differs from that of %d bytes before; they part at byte %d", len(got), len(prompt), part(got, prompt))
			}
			if _, err := a.eng.Verify(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestKillAnywhere kills an agent between two turns, where calls may have no results yet, and goes on with the session.
func TestKillAnywhere(t *testing.T) {
	t.Parallel()
	root := tree(t, 10)
	for _, after := range []int{2, 9, 30, 52} {
		t.Run(fmt.Sprint("after_turn_", after), func(t *testing.T) {
			t.Parallel()
			db := filepath.Join(t.TempDir(), "a.db")
			r := startChild(t, 0, "-root", root, "-db", db, "-turns", "1000")
			acks := map[string]string{}
			for len(acks) < after && r.lines.Scan() {
				if kind, text, _ := strings.Cut(r.lines.Text(), " "); kind == "ack" {
					id, digest, _ := strings.Cut(text, " ")
					acks[id] = digest
				}
			}
			if err := r.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := r.cmd.Wait(); err == nil || len(acks) != after {
				t.Fatalf("child ended with %v after %d turns, want it killed after %d; stderr: %s", err, len(acks), after, r.errs)
			}
			_, sum := jsonRun(t, "-root", root, "-db", db, "-turns", "12")
			wantHeld(t, sum, 12, 0)
			a := opened(t, root, "-db", db)
			for id, digest := range acks {
				e, err := a.eng.Episode(t.Context(), sakur4.EpisodeID(id))
				if err != nil || episodeDigest(e) != digest {
					t.Errorf("acknowledged episode %s: %v, same bytes: %t; want it whole", id, err, err == nil && episodeDigest(e) == digest)
				}
			}
		})
	}
}

// TestCtrlC interrupts a scripted run as a terminal does. It ends by itself, and the session goes on.
func TestCtrlC(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: Windows sends no interrupt to another process")
	}
	root, db := tree(t, 10), filepath.Join(t.TempDir(), "a.db")
	r := startChild(t, 0, "-root", root, "-db", db, "-turns", "100000")
	sent := false
	for windows := 0; r.lines.Scan(); {
		if strings.HasPrefix(r.lines.Text(), "window ") {
			windows++
		}
		if windows == 5 && !sent {
			sent = true
			if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	err := r.cmd.Wait()
	if r.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(r.errs.String(), "interrupted; the session can be resumed") {
		t.Fatalf("child ended with %v, %q; want exit code 1 and that the session can be resumed", err, r.errs)
	}
	_, sum := jsonRun(t, "-root", root, "-db", db, "-turns", "10")
	wantHeld(t, sum, 10, 0)
}

// part is the first byte at which two texts differ.
func part(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
