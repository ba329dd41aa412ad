package rendering

import (
	"bytes"
	"fmt"
	"slices"

	"sakur4/boundary"
	"sakur4/internal/turn"
)

// newControls takes over control texts of the server's template that were not known when the session began, because the server was down or has since been
// restarted with another template. They are made harmless in what is taken into the chat from now on; what was sent stays as it was.
func (p *Prompt) newControls(profile boundary.Profile) {
	last := p.state.Controls
	if n := len(p.state.Later); n > 0 {
		last = p.state.Later[n-1].Controls
	}
	known := turn.Controls(last)
	added := slices.Clone(last)
	for _, c := range profile.Template.ControlTexts {
		if !slices.Contains(known, c) {
			added = append(added, c)
		}
	}
	if len(added) == len(last) {
		return
	}
	from := p.chat.Covered + 1
	p.state.Later = append(slices.Clone(p.state.Later), laterControls{From: from, Controls: added})
	p.esc = p.esc.Then(turn.Controls(added), from)
	p.chat.UseEscaper(p.esc)
}

// learn replaces a template profile that was guessed, or is that of a server which has since been restarted with another template, by the server's own,
// and reports whether that changes the prompt. No server holds what was rendered by the old one.
func (p *Prompt) learn(srv Server) bool {
	profile := srv.Profile
	switch {
	case srv.Fallback != "":
		p.state.Guessed = p.state.Guessed || !p.known
		return false
	case p.state.Context > 0 && profile.Window > 0 && p.state.Context != profile.Window:
		p.notes = append(p.notes, fmt.Sprintf("the server's context changed from %d to %d tokens", p.state.Context, profile.Window))
	}
	swapped := p.state.Template != "" && profile.Template.Digest != "" && p.state.Template != profile.Template.Digest
	if swapped {
		p.notes = append(p.notes, "the server's template changed")
	}
	if !p.state.Guessed && !swapped {
		return false
	}
	p.state.Guessed = false
	t := profile.Template
	kwargs := p.state.Kwargs
	p.state.Reasoning = t.PreservesReasoning || p.opt.Reasoning // of the turns to come
	p.state.Kwargs = nil
	if t.PreservesReasoning {
		p.state.Kwargs = t.TemplateKwargs
	}
	if p.state.NoSystemRole == t.NoSystemRole {
		return swapped && !bytes.Equal(kwargs, p.state.Kwargs)
	}
	p.state.NoSystemRole = t.NoSystemRole
	p.keep = 0
	if p.state.Turn > 0 && !swapped {
		p.notes = append(p.notes, "the server's template became known")
	}
	return true
}
