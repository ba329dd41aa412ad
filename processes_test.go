package sakur4_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"sakur4"
)

// agentVariable makes the test binary an agent on the store that it names; see TestAgentsInSeveralProcesses.
const agentVariable = "SAKUR4_TEST_AGENT"

// agentOptions are those of all the agents: two windows full of turns, or with the key.
func agentOptions(encrypted bool) *sakur4.Options {
	o := &sakur4.Options{Project: "p", Window: 4096, Tokenizer: fours{}}
	if encrypted {
		o.EncryptionKey = bytes.Repeat([]byte{7}, sakur4.KeyBytes)
	}
	return o
}

// agentContent is what the agents record, so that it can be told whether it is what was recorded.
func agentContent(name string, round int) string {
	return fmt.Sprintf(`{"agent": %q, "round": %d, "text": %q}`, name, round, strings.Repeat(fmt.Sprint("lighthouse ", round, " "), 30))
}

// agentProcess works through rounds in a session of its own, and in one that all share, and says each result and each prompt of its own that was acknowledged.
func agentProcess(path, name string, rounds int) error {
	ctx := context.Background()
	eng, err := sakur4.Open(ctx, path, agentOptions(os.Getenv(agentVariable+"_KEY") != ""))
	if err != nil {
		return err
	}
	own, shared := eng.Session(name), eng.Session("shared")
	head := sakur4.Head{System: "You are a careful engineer."}
	for i := range rounds {
		if _, err := own.Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: fmt.Sprint("Look at ", name, " again, ", i)}); err != nil {
			return err
		}
		id := fmt.Sprint("call_", i)
		if _, err := own.Commit(ctx, sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: id, Name: "fetch", Arguments: `{"n": 1}`}}}); err != nil {
			return err
		}
		result, err := own.Commit(ctx, sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: id, Content: agentContent(name, i)})
		if err != nil {
			return err
		}
		fmt.Println(result.Episode, i)
		w, err := own.Window(ctx, head)
		if err != nil {
			return err
		}
		fmt.Println(w.ID, i)
		if _, err := own.Interpret(ctx, sakur4.FactAnchor(sakur4.FactID(result.Facts[0].FactID)), fmt.Sprint("The agent of round ", i)); err != nil {
			return err
		}
		if _, err := shared.Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: fmt.Sprint(name, " was here: ", i)}); err != nil {
			return err
		}
		// Another process may have made the prompt meanwhile: then it is asked for again.
		for _, err = shared.Window(ctx, head); errors.Is(err, sakur4.ErrConflict); {
			_, err = shared.Window(ctx, head)
		}
		if err != nil {
			return err
		}
		hits, err := eng.Recall(ctx, sakur4.Query{Text: "lighthouse", Session: name})
		if err != nil {
			return err
		}
		if len(hits.Items) == 0 {
			return fmt.Errorf("round %d: Recall() does not find what was just recorded", i)
		}
	}
	return eng.Close()
}

// TestAgentsInSeveralProcesses lets processes work on one store, plain and encrypted, of which some are killed in the middle of it: what was acknowledged is
// there, and nothing is damaged.
func TestAgentsInSeveralProcesses(t *testing.T) {
	for _, encrypted := range []bool{false, true} {
		t.Run(fmt.Sprint("encrypted=", encrypted), func(t *testing.T) {
			t.Parallel()
			const agents, rounds = 4, 8
			path := storePath(t)
			acknowledged, prompts := make([]map[string]int, agents), make([][]sakur4.WindowID, agents)
			var wg sync.WaitGroup
			for a := range agents {
				patience := rounds + 1
				if a%2 == 1 {
					patience = 2 + a // then it is killed
				}
				wg.Go(func() {
					acknowledged[a], prompts[a] = runAgent(t, path, fmt.Sprint("agent", a), rounds, patience, encrypted)
				})
			}
			wg.Wait()
			eng := openEngine(t, path, agentOptions(encrypted))
			for a, said := range acknowledged {
				if a%2 == 0 && len(said) != rounds || a%2 == 1 && len(said) < 2+a {
					t.Errorf("agent%d said %d results", a, len(said))
				}
				for id, round := range said {
					ep, err := eng.Episode(t.Context(), sakur4.EpisodeID(id))
					if want := agentContent(fmt.Sprint("agent", a), round); err != nil || ep.Content != want {
						t.Errorf("Episode(%s).Content = %q, %v, want %q", id, ep.Content, err, want)
					}
				}
			}
			for a, said := range prompts {
				stored := map[sakur4.WindowID]bool{}
				for r, err := range eng.Session(fmt.Sprint("agent", a)).Receipts(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					stored[sakur4.WindowID(r.ID)] = true
				}
				for _, id := range said {
					if !stored[id] {
						t.Errorf("agent%d: the prompt %s is lost", a, id)
					}
				}
				if len(said) == 0 {
					t.Errorf("agent%d said no prompts", a)
				}
			}
			if report, err := eng.Verify(t.Context()); err != nil {
				t.Errorf("Verify() = %+v, %v", report, err)
			}
			// What a killed process left half done goes on here.
			for a := range agents {
				s := eng.Session(fmt.Sprint("agent", a))
				if _, err := s.Commit(t.Context(), sakur4.Turn{Role: sakur4.RoleUser, Content: "Go on."}); err != nil {
					t.Errorf("Commit() = %v", err)
				}
				if _, err := s.Window(t.Context(), sakur4.Head{System: "You are a careful engineer."}); err != nil {
					t.Errorf("Window() = %v", err)
				}
			}
		})
	}
}

// runAgent runs an agent and kills it after so many results. It returns what it acknowledged: results and their rounds, and prompts.
func runAgent(t *testing.T, path, name string, rounds, patience int, encrypted bool) (said map[string]int, prompts []sakur4.WindowID) {
	cmd := exec.Command(os.Args[0], name, fmt.Sprint(rounds))
	cmd.Env = append(os.Environ(), agentVariable+"="+path)
	if encrypted {
		cmd.Env = append(cmd.Env, agentVariable+"_KEY=1")
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return nil, nil
	}
	said = map[string]int{}
	killed := false
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // what a killed process said half is not acknowledged
		}
		var id string
		var round int
		if _, err := fmt.Sscan(line, &id, &round); err != nil {
			t.Errorf("%s says %q: %v", name, line, err)
		}
		if strings.HasPrefix(id, "win_") {
			prompts = append(prompts, sakur4.WindowID(id))
			continue
		}
		said[id] = round
		if len(said) == patience {
			killed = cmd.Process.Kill() == nil
		}
	}
	if err := cmd.Wait(); err != nil && !killed {
		t.Errorf("%s: %v: %s", name, err, stderr.String())
	}
	return said, prompts
}
