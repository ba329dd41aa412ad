package rendering_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/boundary"
	"sakur4/evict"
	"sakur4/internal/digest"
	"sakur4/internal/embedded"
	"sakur4/internal/episode"
	"sakur4/internal/pin"
	"sakur4/internal/rendering"
	"sakur4/internal/turn"
	"sakur4/receipt"
)

// rig is a session with its store in memory, on a server for which every byte is a token.
type rig struct {
	t      *testing.T
	opt    rendering.Options
	server rendering.Server
	chat   *embedded.Server
	head   rendering.Head
	pins   []pin.Pin

	record    []episode.Record
	body      string
	decisions []rendering.Decision
	receipts  map[string]receipt.Receipt
	replies   map[string]int
	tiers     map[string]evict.Tier
	prompt    *rendering.Prompt
	shown     []turn.Message // of the prompt, since it was restored
	closed    []rendering.Fold
	anew      int // how often the prompt in memory was tried in place of the stored one
}

const window = 20000

func newRig(t *testing.T) *rig {
	t.Helper()
	chat := embedded.New(embedded.Config{Window: window})
	profile, err := chat.Profile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, chat: chat, head: rendering.Head{System: "You fix programs.", Tools: json.RawMessage(`[]`)}, receipts: map[string]receipt.Receipt{},
		replies: map[string]int{}, tiers: map[string]evict.Tier{}}
	r.server = rendering.Server{Backend: chat, Profile: profile, Window: window, Limit: window - window/8}
	r.opt = rendering.Options{Policy: func(boundary.Geometry) evict.Policy { return evict.Policy{}.WithDefaults(evict.CacheFirst) },
		Count: func(text string) int { return len(text) }, Record: r}
	r.prompt = rendering.New(r.opt, profile)
	return r
}

var _ rendering.Record = (*rig)(nil)

func (r *rig) Episode(_ context.Context, id string) (*episode.Record, error) { return r.episode(id) }

func (r *rig) episode(id string) (*episode.Record, error) {
	for _, rec := range r.record {
		if rec.ID == id {
			return &rec, nil
		}
	}
	return nil, fmt.Errorf("no episode %q", id)
}

func (r *rig) Marks(context.Context, []string, []int64) (map[int64]rendering.Mark, error) {
	return nil, nil
}

func (r *rig) Receipt(_ context.Context, window string) (receipt.Receipt, int, error) {
	got, ok := r.receipts[window]
	if !ok {
		return got, 0, fmt.Errorf("no receipt %q", window)
	}
	return got, r.replies[window], nil
}

// add records an episode.
func (r *rig) add(rec episode.Record) *episode.Record {
	rec.Seq = int64(len(r.record) + 1)
	rec.ID, rec.Digest = fmt.Sprintf("ep_%04x", rec.Seq), digest.Of(rec.Content)
	r.record = append(r.record, rec)
	return &r.record[len(r.record)-1]
}

func (r *rig) user(text string) { r.add(episode.Record{Role: episode.User, Content: text}) }

func (r *rig) assistant(text string) { r.add(episode.Record{Role: episode.Assistant, Content: text}) }

// read records a call and its result.
func (r *rig) read(path, content string) {
	id := fmt.Sprintf("call_%d", len(r.record))
	call := r.add(episode.Record{Role: episode.Assistant, Calls: []episode.Call{{ID: id, Name: "read_file", Arguments: fmt.Sprintf(`{"path":%q}`, path)}}})
	r.add(episode.Record{Role: episode.Tool, ToolName: "read_file", CallID: id, CallEpisode: call.ID, Content: content})
}

// extend takes what was recorded since into the prompt.
func (r *rig) extend() {
	r.t.Helper()
	since := func(yield func(rendering.Recorded, error) bool) {
		for _, rec := range r.record[r.prompt.Covered():] {
			if !yield(rendering.Recorded{Episode: rec}, nil) {
				return
			}
		}
	}
	if err := r.prompt.Extend(r.server, since); err != nil {
		r.t.Fatalf("Extend: %v", err)
	}
}

func (r *rig) request() rendering.Request {
	folds := slices.DeleteFunc(slices.Clone(r.closed), func(f rendering.Fold) bool { return r.prompt.Folded(f.ID) })
	return rendering.Request{Server: r.server, Head: r.head, Pins: r.pins, Folds: folds, ID: func() string { return fmt.Sprintf("win_%04x", len(r.receipts)+1) }}
}

// next makes the next prompt and stores it. It is nil where nothing is new.
func (r *rig) next() *rendering.Made {
	r.t.Helper()
	r.extend()
	made, err := r.prompt.Next(r.t.Context(), r.request())
	if err != nil {
		r.t.Fatalf("Next: %v", err)
	}
	if made != nil {
		r.receipts[made.Receipt.ID] = made.Receipt
		r.store()
	}
	return made
}

// store stores what has changed, as a store does.
func (r *rig) store() {
	r.t.Helper()
	ch, err := r.prompt.Changes()
	if err != nil {
		r.t.Fatalf("Changes: %v", err)
	}
	if ch.Anew != (ch.First < len(r.decisions)) {
		r.t.Errorf("Changes: Anew = %t with %d decisions from %d on, stored are %d", ch.Anew, len(ch.Decisions), ch.First, len(r.decisions))
	}
	r.body, r.decisions = ch.Body, append(r.decisions[:ch.First:ch.First], ch.Decisions...)
	for _, st := range ch.Steps {
		at := max(r.tiers[st.Episode], evict.Live)
		if st.From != at || st.Seq == 0 || st.Episode != r.record[st.Seq-1].ID {
			r.t.Errorf("step %+v of an episode on rung %v", st, at)
		}
		r.tiers[st.Episode] = st.To
	}
	r.prompt.Stored()
}

// stored returns what is stored.
func (r *rig) stored() rendering.Stored {
	return rendering.Stored{Body: r.body, Decisions: r.decisions, Episode: r.episode, Slot: func(string) (*rendering.Slot, error) { return nil, nil }}
}

// restore goes on from what is stored.
func (r *rig) restore() {
	r.t.Helper()
	p, err := rendering.Restore(r.opt, r.server.Profile, r.stored())
	if err != nil {
		r.t.Fatalf("Restore: %v", err)
	}
	r.prompt, r.shown = p, nil
}

// compact compacts the prompt as it is stored, and stores what is worth it. The one that is in memory gives the same where it can take its place.
func (r *rig) compact(target int) *rendering.Plan {
	r.t.Helper()
	in := r.request()
	in.Target = target
	plan := func() (*rendering.Plan, rendering.Changes) {
		r.extend()
		plan, err := r.prompt.Compact(r.t.Context(), in)
		if err != nil {
			r.t.Fatalf("Compact(%d): %v", target, err)
		}
		if !plan.Applied {
			return plan, rendering.Changes{}
		}
		r.prompt.Settle()
		changes, err := r.prompt.Changes()
		if err != nil {
			r.t.Fatalf("Changes: %v", err)
		}
		return plan, changes
	}
	anew := r.prompt.Anew(r.server.Profile)
	r.restore()
	read := r.prompt
	fromStore, changes := plan()
	if anew != nil {
		r.anew++
		r.prompt = anew
		fromMemory, same := plan()
		if diff := cmp.Diff(fromStore, fromMemory); diff != "" {
			r.t.Errorf("Compact(%d) of the prompt in memory (-as stored +in memory):\n%s", target, diff)
		}
		if diff := cmp.Diff(changes, same); diff != "" {
			r.t.Errorf("Changes after Compact(%d) of the prompt in memory (-as stored +in memory):\n%s", target, diff)
		}
		r.prompt = read
	}
	if fromStore.Applied {
		r.store()
	} else {
		r.restore()
	}
	return fromStore
}

// fold has a summary stand for the newest call and its result, where they are the newest turns.
func (r *rig) fold() {
	n := len(r.record)
	if r.record[n-1].Role != episode.Tool {
		return
	}
	id := fmt.Sprintf("fold_%04x", n)
	text := fmt.Sprintf("%s came to %d bytes", id, len(r.record[n-1].Content))
	turns := map[string]bool{r.record[n-1].ID: true, r.record[n-2].ID: true}
	rec := r.add(episode.Record{Role: episode.System, ToolName: turn.FoldTool, Content: text})
	r.closed = append(r.closed, rendering.Fold{ID: id, Summary: rec.ID, Text: text, Turns: turns})
	r.user("The fold is closed.")
}

// archived reports whether something was taken out of the prompt by a compaction.
func (r *rig) archived() bool {
	for _, tier := range r.tiers {
		if tier == evict.Archived {
			return true
		}
	}
	return false
}

// messages returns the messages of the prompt.
func (r *rig) messages() []turn.Message {
	kept, rest := r.prompt.Messages()
	r.shown = slices.AppendSeq(r.shown[:kept:kept], rest)
	return r.shown
}

// send has the server answer the prompt, and enters what it measured.
func (r *rig) send() receipt.Receipt {
	r.t.Helper()
	h := r.prompt.Hints()
	reply, err := r.chat.Chat(r.t.Context(), boundary.ChatRequest{Messages: turn.AppendArray(nil, r.messages()), Tools: r.head.Tools,
		Fields: fmt.Appendf(nil, `{"cache_prompt":true,"n_cache_reuse":%d}`, h.Reuse)}, nil)
	if err != nil {
		r.t.Fatalf("Chat: %v", err)
	}
	id, _ := r.prompt.Last()
	got := r.receipts[id]
	rendering.Measured(r.prompt, &got, rendering.Measurement{Prompt: reply.PromptTokens, Cached: reply.CachedTokens, Reply: reply.CompletionTokens})
	r.receipts[id], r.replies[id] = got, reply.CompletionTokens
	return got
}

// lines returns a text of about that many bytes, of which each line is another one.
func lines(seed, bytes int) string {
	var b strings.Builder
	for i := 0; b.Len() < bytes; i++ {
		fmt.Fprintf(&b, "%d: value_%d = compute_%d(%d)\n", i, seed*31+i, (seed+i)%17, i*i)
	}
	return b.String()
}
