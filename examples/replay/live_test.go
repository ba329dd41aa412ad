package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sakur4/internal/llamatest"
)

// liveArgs start a server that answers from one slot alone and tells its own sums.
var liveArgs = []string{"-cram", "0", "--metrics"}

// TestLiveReplay replays the sample on real servers. Every policy's requests reuse what the model of the cache predicts, the server's own counters
// agree with the sums of the replies to the token, and the simulator comes to the same numbers without any server.
func TestLiveReplay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		opts     llamatest.Options
		args     []string
		policies []string
	}{
		{"full", llamatest.Options{}, nil, []string{truncateName, summaryName, exactName, shiftName}},
		{"sliding_256", llamatest.Options{Model: llamatest.Model{Arch: llamatest.Sliding}, UBatch: 512, Spacing: 256}, []string{"-ubatch", "512", "-checkpoint-spacing", "256"}, []string{truncateName, exactName}},
		{"sliding_1024", llamatest.Options{Model: llamatest.Model{Arch: llamatest.Sliding}, UBatch: 512, Spacing: 1024}, []string{"-ubatch", "512", "-checkpoint-spacing", "1024"}, []string{clearName, exactName}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.opts.Model.Vocab, c.opts.Model.Template = llamatest.O200k, llamatest.Simulated
			c.opts.Context, c.opts.Args = 8192, liveArgs
			s := llamatest.Start(t, c.opts)
			args := append([]string{"-in", sample, "-window", "4096", "-json", "-policy", strings.Join(c.policies, ",")}, c.args...)
			out, said := runReplay(t, 0, append(args, "-llama", s.URL)...)
			if c.opts.Model.Arch == llamatest.Sliding {
				args = append(args, "-sliding", strconv.Itoa(llamatest.DefaultSlidingWindow))
			}
			simulated, _ := runReplay(t, 0, args...)
			if d := cmp.Diff(decode(t, out), decode(t, simulated), cmpopts.IgnoreFields(result{}, "Seconds"), cmpopts.IgnoreUnexported(result{})); d != "" {
				t.Errorf("(-server +simulator):\n%s", d)
			}
			for _, r := range decode(t, out) {
				if r.Compactions == 0 || r.InvalidChats > 0 {
					t.Errorf("%+v: want compactions and valid chats", r)
				}
				sums := fmt.Sprintf("%d tokens processed, %d reused", r.PrefilledTokens, r.PromptTokens-r.PrefilledTokens)
				if strings.HasPrefix(r.Policy, exactName) && !strings.Contains(said, fmt.Sprintf("%s on %s: receipts: %s", r.Policy, sample, sums)) {
					t.Errorf("%s: the receipts are missing or differ:\n%s", r.Policy, said)
				}
				if !strings.Contains(said, fmt.Sprintf("%s on %s: server's own counters: %s", r.Policy, sample, sums)) {
					t.Errorf("%s: the counters of the server are missing or differ:\n%s", r.Policy, said)
				}
			}
			if n := strings.Count(said, "receipts predicted"); n != strings.Count(said, "35 of 35 receipts predicted") || n == 0 {
				t.Errorf("prompts that were predicted wrongly:\n%s", said)
			}
			if strings.Contains(said, "the model says") {
				t.Errorf("reuse other than predicted:\n%s", said)
			}
			t.Log("\n" + out + said)
		})
	}
}
