package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"sakur4"
)

// runIndex reads the source code below the root into the store, which it creates where there is none.
func runIndex(ctx context.Context, cfg config, std streams) error {
	a, err := open(ctx, cfg, std)
	if err != nil {
		return err
	}
	return errors.Join(a.showIndex(ctx, std.err), a.close())
}

func (a *agent) showIndex(ctx context.Context, errs io.Writer) error {
	o := sakur4.IndexOptions{Exclude: a.cfg.exclude, Generated: a.cfg.generated, Full: a.cfg.all}
	if terminal(errs) {
		bar := &progressBar{w: errs}
		o.Progress = bar.show
		defer bar.clear()
	}
	r, err := a.eng.Index(ctx, o)
	if err != nil {
		return fmt.Errorf("%w (%s)", err, r)
	}
	text := r.String()
	for _, s := range r.Skipped {
		if s.Reason != "unsupported language" { // most of what is no source, and of no interest
			text += fmt.Sprintf("\n  skipped %q: %s", s.Path, s.Reason)
		}
	}
	return a.say(r, "%s", text)
}

// terminal reports whether somebody watches.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// progressBar draws how far an indexing is, once a hundredth.
type progressBar struct {
	w     io.Writer
	shown int // hundredths, from 1; 0 is nothing
}

const barWidth = 40

func (b *progressBar) show(p sakur4.IndexProgress) {
	hundredths := 1 + 99*p.Done/max(1, p.Total)
	if hundredths == b.shown {
		return
	}
	b.shown = hundredths
	full := barWidth * p.Done / max(1, p.Total)
	fmt.Fprintf(b.w, "\r[%s%s] %d of %d files, %.1f MB", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), p.Done, p.Total, float64(p.Bytes)/1e6)
}

func (b *progressBar) clear() {
	if b.shown > 0 {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
}

func (a *agent) showSymbol(ctx context.Context) error {
	s, err := a.eng.Symbol(ctx, a.cfg.words)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s  %s %s\n%s:%d-%d\n%s", s.ID, s.Kind, s.Name, s.File, s.Line, s.EndLine, s.Signature)
	if s.Doc != "" {
		text += "\n" + s.Doc
	}
	return a.say(s, "%s", text)
}

// symbolText bounds what a model is shown of a declaration, in bytes: the file has the rest.
const symbolText = 4000

func (a *agent) codeQuerySymbol(ctx context.Context, args json.RawMessage) (string, error) {
	var in struct {
		Name string `json:"name"`
	}
	if err := decode(args, &in); err != nil {
		return "", err
	}
	s, err := indexedFirst(ctx, a, func() (sakur4.Symbol, error) { return a.eng.Symbol(ctx, in.Name) })
	if err != nil {
		return "", err
	}
	if len(s.Text) > symbolText {
		s.Text = strings.ToValidUTF8(s.Text[:symbolText], "") + fmt.Sprintf("… [%d more bytes: read %s from line %d]", len(s.Text)-symbolText, s.File, s.Line)
	}
	b, err := json.MarshalIndent(s, "", " ")
	return sakur4.Frame("symbol", string(b)), err
}
