package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// The picture's measures in pixels: one panel a run, one above the other. Coordinates are computed in tenths of a pixel with whole numbers, so that the same
// runs give the same bytes everywhere.
const (
	svgWidth    = 960
	panelsTop   = 78
	panelHeight = 190 // with its title and its axis
	titleHeight = 34
	plotHeight  = 118
	plotLeft    = 70
	plotRight   = 940
)

// The colours differ in lightness as well as in hue.
const (
	colorReused    = "#2c6e91"
	colorPrefilled = "#f0a13c"
	colorMark      = "#9b1c31"
	colorText      = "#222222"
	colorGrid      = "#dddddd"
	colorLine      = "#555555"
)

// picture is a picture in the making.
type picture struct {
	b   strings.Builder
	cfg config
}

func (p *picture) printf(format string, args ...any) { fmt.Fprintf(&p.b, format, args...) }

// escape writes text into the markup; bytes that no XML may hold become U+FFFD.
func (p *picture) escape(s string) {
	_ = xml.EscapeText(&p.b, []byte(s)) // a strings.Builder never fails
}

// text writes a label. anchor is start, middle or end.
func (p *picture) text(x, y int, anchor, style, s string) {
	p.printf(`<text x="%d" y="%d" text-anchor="%s"%s>`, x, y, anchor, style)
	p.escape(s)
	p.b.WriteString("</text>\n")
}

// writeSVG draws the runs: for each prompt how far the window is filled, what of it was reused and what processed, and where something was taken out. What
// the picture shows is said in words too, for those who cannot see it.
func writeSVG(w io.Writer, cfg config, results []result) error {
	p := picture{cfg: cfg}
	height := panelsTop + panelHeight*len(results) + 6
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title desc" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" fill="%s">`+"\n",
		svgWidth, height, svgWidth, height, colorText)
	title := fmt.Sprintf("Replay at a window of %d tokens, trigger %s, target %s", cfg.window, percent(cfg.trigger), percent(cfg.target))
	p.printf(`<title id="title">%s</title>`+"\n", title)
	p.b.WriteString(`<desc id="desc">`)
	for _, r := range results {
		p.escape(fmt.Sprintf("%s on %s: %s. ", r.Policy, filepath.Base(r.File), inWords(r)))
	}
	p.b.WriteString("</desc>\n")
	p.printf(`<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", svgWidth, height)
	p.text(plotLeft, 26, "start", ` font-size="17" font-weight="bold"`, title)
	p.legend(50)
	for i, r := range results {
		p.panel(panelsTop+panelHeight*i, r)
	}
	p.b.WriteString("</svg>\n")
	if _, err := io.WriteString(w, p.b.String()); err != nil {
		return fmt.Errorf("writing the picture: %w", err)
	}
	return nil
}

// inWords says what a run came to.
func inWords(r result) string {
	reuse := ""
	if r.CompactionReuse != nil {
		reuse = ", reuse at them " + percent(*r.CompactionReuse)
	}
	return fmt.Sprintf("prefill ratio %.2f, %d compactions%s, verbatim %s, hit rate %.3f", r.PrefillRatio, r.Compactions, reuse, percent(r.VerbatimShare), r.WorkingSetHit)
}

func (p *picture) legend(y int) {
	x := plotLeft
	for _, l := range []struct{ color, text string }{{colorReused, "reused from the cache"}, {colorPrefilled, "processed (prefilled)"}} {
		p.printf(`<rect x="%d" y="%d" width="12" height="12" fill="%s"/>`+"\n", x, y-10, l.color)
		p.text(x+18, y, "start", "", l.text)
		x += 170
	}
	p.printf(`<path d="M%d %dl6 -9h-12z" fill="%s"/>`+"\n", x+6, y, colorMark)
	p.text(x+18, y, "start", "", "compaction")
	x += 110
	p.printf(`<path d="M%d %dh20" stroke="%s" stroke-dasharray="5 3"/>`+"\n", x, y-4, colorLine)
	p.text(x+26, y, "start", "", "trigger and target")
	p.text(plotRight, y, "end", "", "one column a prompt")
}

// panel draws one run below y.
func (p *picture) panel(top int, r result) {
	p.b.WriteString("<g>\n<title>")
	p.escape(r.Policy + " on " + filepath.Base(r.File))
	p.b.WriteString("</title>\n")
	p.text(plotLeft, top+14, "start", ` font-size="14" font-weight="bold"`, r.Policy)
	p.text(plotLeft+150, top+14, "start", "", inWords(r))
	p.text(plotRight, top+14, "end", "", filepath.Base(r.File))
	upper, floor := top+titleHeight, top+titleHeight+plotHeight
	peak := p.cfg.window
	for _, s := range r.steps {
		peak = max(peak, s.prompt)
	}
	y := func(tokens int) int { return floor*10 - int(int64(plotHeight)*10*int64(tokens)/int64(peak)) }
	const fewest = 16 // columns: one prompt is no wall
	x := func(i int) int {
		return plotLeft*10 + int(int64(plotRight-plotLeft)*10*int64(i)/int64(max(len(r.steps), fewest)))
	}
	for _, quarter := range []int{0, 1, 2, 3, 4} {
		v := p.cfg.window * quarter / 4
		p.printf(`<path d="M%d %sH%d" stroke="%s"/>`+"\n", plotLeft, tenths(y(v)), plotRight, colorGrid)
		p.text(plotLeft-8, y(v)/10+4, "end", "", strconv.Itoa(v))
	}
	p.area(colorPrefilled, x, y, r.steps, func(s step) int { return s.prompt })
	p.area(colorReused, x, y, r.steps, func(s step) int { return s.cached })
	for _, share := range []float64{p.cfg.trigger, p.cfg.target} {
		p.printf(`<path d="M%d %sH%d" stroke="%s" stroke-dasharray="5 3"/>`+"\n", plotLeft, tenths(y(p.cfg.at(share))), plotRight, colorLine)
	}
	for i, s := range r.steps {
		if s.compacted {
			p.printf(`<path d="M%s %dl4 -7h-8z" fill="%s"/>`+"\n", tenths((x(i)+x(i+1))/2), upper-2, colorMark)
		}
	}
	p.text(plotLeft, floor+15, "start", "", "1")
	if n := len(r.steps); n > 1 {
		p.text(x(n)/10, floor+15, "end", "", strconv.Itoa(n))
	}
	p.b.WriteString("</g>\n")
}

// area fills the columns up to a number of tokens each.
func (p *picture) area(color string, x, y func(int) int, steps []step, tokens func(step) int) {
	p.printf(`<path fill="%s" d="M%s %s`, color, tenths(x(0)), tenths(y(0)))
	for i, s := range steps {
		p.printf("V%sH%s", tenths(y(tokens(s))), tenths(x(i+1)))
	}
	p.printf("V%sZ\"/>\n", tenths(y(0)))
}

// tenths writes a coordinate.
func tenths(n int) string {
	if n%10 == 0 {
		return strconv.Itoa(n / 10)
	}
	return strconv.FormatFloat(float64(n)/10, 'f', 1, 64)
}
