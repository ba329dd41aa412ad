package rendering

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sakur4/internal/turn"
)

// archive enters episodes into the stretches that are out of the prompt, and renews the note that names them at the newest message.
func (p *Prompt) archive(gone []*turn.Entry) {
	if len(gone) == 0 && (len(p.state.Archived) == 0 || p.archiveShown()) {
		return
	}
	p.enterArchived(gone)
	last := p.chat.Entries[len(p.chat.Entries)-1]
	last.SetNotes(append(withoutArchive(last.Notes), p.archiveNote()))
}

// archiveLater is archive for a prompt whose newest message must stay as it is: the next one carries the note.
func (p *Prompt) archiveLater(gone []*turn.Entry) {
	if len(gone) == 0 {
		return
	}
	p.enterArchived(gone)
	p.chat.Pending = append(withoutArchive(p.chat.Pending), p.archiveNote())
}

func (p *Prompt) archiveNote() turn.Note {
	return turn.Note{ID: "archive", Kind: turn.NoteArchive, Text: archiveText(p.state.Archived, p.scattered) + nameList(p.goneNames(p.room))}
}

// withoutArchive returns a copy of notes without the one that names what is out of the prompt.
func withoutArchive(notes []turn.Note) []turn.Note {
	return slices.DeleteFunc(slices.Clone(notes), func(n turn.Note) bool { return n.Kind == turn.NoteArchive })
}

// enterArchived enters episodes into the stretches that are out of the prompt.
func (p *Prompt) enterArchived(gone []*turn.Entry) {
	for _, e := range gone {
		p.state.Archived = append(p.state.Archived, stretch{From: e.Episode, To: e.Episode, A: e.Seq, B: e.Seq, N: 1})
	}
	kept := make([]int64, 0, len(p.chat.Entries))
	for _, e := range p.chat.Entries {
		if e.Kind == turn.KindEpisode {
			kept = append(kept, e.Seq)
		}
	}
	slices.Sort(kept)
	p.state.Archived = join(p.state.Archived, kept)
}

// archiveShown reports whether some message says what is out of the prompt. A fixed message that carried the note may have gone.
func (p *Prompt) archiveShown() bool {
	return slices.ContainsFunc(p.chat.Entries, func(e *turn.Entry) bool {
		return slices.ContainsFunc(e.Notes, func(n turn.Note) bool { return n.Kind == turn.NoteArchive })
	})
}

// maxStretches bounds the archive note: it must not grow with the session.
const maxStretches = 2

// join sorts stretches and joins neighbours that no kept episode parts; beyond maxStretches it joins the nearest ones all the same.
func join(in []stretch, kept []int64) []stretch {
	slices.SortFunc(in, func(a, b stretch) int { return cmp.Compare(a.A, b.A) })
	var out []stretch
	k := 0
	for _, st := range in {
		if len(out) > 0 {
			last := &out[len(out)-1]
			for k < len(kept) && kept[k] < last.B {
				k++
			}
			if k >= len(kept) || kept[k] > st.A || len(out) > 0 && last.B >= st.A {
				last.To, last.B, last.N = st.To, max(last.B, st.B), last.N+st.N
				continue
			}
		}
		out = append(out, st)
	}
	for len(out) > maxStretches {
		best := 1
		for i := 2; i < len(out); i++ {
			if out[i].A-out[i-1].B < out[best].A-out[best-1].B {
				best = i
			}
		}
		out[best-1].To, out[best-1].B = out[best].To, out[best].B
		out[best-1].N += out[best].N
		out = append(out[:best], out[best+1:]...)
	}
	return out
}

// nameList says which names the stored turns hold.
func nameList(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " They name " + strings.Join(names, ", ") + "."
}

// archiveText names the stretches, or with whole set only the first and the last episode: where deletions are scattered over the session the note would
// cost more than it tells.
func archiveText(in []stretch, whole bool) string {
	var b strings.Builder
	n := 0
	for _, st := range in {
		n += st.N
	}
	if whole {
		fmt.Fprintf(&b, "%d earlier turns between %s and %s are out of this prompt and stored whole;", n, in[0].From, in[len(in)-1].To)
		in = nil
	} else {
		fmt.Fprintf(&b, "%d earlier turns of this session are out of this prompt and stored whole:", n)
	}
	for _, st := range in {
		if st.N == 1 {
			fmt.Fprintf(&b, " %s;", st.From)
		} else {
			fmt.Fprintf(&b, " %s to %s (%d);", st.From, st.To, st.N)
		}
	}
	b.WriteString(" memory_recall finds them by their words, memory_episode returns one by its id.")
	return b.String()
}
