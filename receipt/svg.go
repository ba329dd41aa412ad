package receipt

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The picture's measures in pixels. Coordinates are computed in tenths of a pixel with whole numbers, so that the same receipts give the same bytes everywhere.
const (
	svgWidth, svgHeight  = 960, 500
	plotLeft, plotRight  = 76, 944
	fillTop, fillBottom  = 84, 312
	shareTop, shareFloor = 356, 436
)

// The colours differ in lightness as well as in hue.
const (
	colorReused    = "#2c6e91"
	colorPrefilled = "#f0a13c"
	colorUnknown   = "#b9b9b9"
	colorMark      = "#9b1c31"
	colorText      = "#222222"
	colorGrid      = "#dddddd"
	colorWindow    = "#555555"
)

// WriteSVG draws the receipts of a session in their order, one column a turn: above, how far the window is filled and what of it the server reused and prefilled;
// below, the prefilled share. Turns without a cached count are grey, compactions are marked. The picture is the same for the same receipts.
func WriteSVG(w io.Writer, receipts []Receipt) error {
	c := chart{receipts: receipts}
	for _, r := range receipts {
		c.top = max(c.top, r.Window, r.Used)
	}
	c.top = max(c.top, 1)
	c.frame()
	c.columns()
	c.marks()
	c.legend()
	c.b.WriteString("</svg>\n")
	if _, err := io.WriteString(w, c.b.String()); err != nil {
		return fmt.Errorf("receipt: writing the picture: %w", err)
	}
	return nil
}

// chart is a picture in the making.
type chart struct {
	b        strings.Builder
	receipts []Receipt
	// top is the number of tokens at the upper edge.
	top int
}

func (c *chart) printf(format string, args ...any) { fmt.Fprintf(&c.b, format, args...) }

// text writes a label. anchor is start, middle or end.
func (c *chart) text(x, y int, anchor, style, s string) {
	c.printf(`<text x="%d" y="%d" text-anchor="%s"%s>`, x, y, anchor, style)
	// A strings.Builder never fails, and bytes that no XML may hold become U+FFFD.
	_ = xml.EscapeText(&c.b, []byte(oneLine(s)))
	c.b.WriteString("</text>\n")
}

// fewest is the number of columns that a picture has room for at least: one turn is no wall.
const fewest = 16

// x returns the left edge of a column in tenths of a pixel.
func (c *chart) x(column int) int {
	return plotLeft*10 + int(int64(plotRight-plotLeft)*10*int64(column)/int64(max(len(c.receipts), fewest)))
}

// y returns the height of a number of tokens in the upper plot in tenths of a pixel.
func (c *chart) y(tokens int) int {
	return fillBottom*10 - int(float64(fillBottom-fillTop)*10*float64(tokens)/float64(c.top))
}

// tenths writes a coordinate.
func tenths(n int) string {
	if n%10 == 0 {
		return strconv.Itoa(n / 10)
	}
	return strconv.FormatFloat(float64(n)/10, 'f', 1, 64)
}

// frame draws title, axes and grid.
func (c *chart) frame() {
	c.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" fill="%s">`+"\n", svgWidth, svgHeight, svgWidth, svgHeight, colorText)
	c.printf(`<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", svgWidth, svgHeight)
	c.text(plotLeft, 28, "start", ` font-size="17" font-weight="bold"`, c.title())
	c.text(plotLeft, 48, "start", "", c.summary())
	c.text(plotLeft, fillTop-13, "start", ` font-weight="bold"`, "Window fill, tokens")
	step := tick(c.top, 5)
	for v := 0; v <= c.top; v += step {
		y := c.y(v)
		c.printf(`<path d="M%d %sH%d" stroke="%s"/>`+"\n", plotLeft, tenths(y), plotRight, colorGrid)
		c.text(plotLeft-8, y/10+4, "end", "", strconv.Itoa(v))
	}
	c.text(plotLeft, shareTop-10, "start", ` font-weight="bold"`, "Prefilled share of the prompt")
	for _, v := range []int{0, 50, 100} {
		y := shareFloor - (shareFloor-shareTop)*v/100
		c.printf(`<path d="M%d %dH%d" stroke="%s"/>`+"\n", plotLeft, y, plotRight, colorGrid)
		c.text(plotLeft-8, y+4, "end", "", strconv.Itoa(v)+" %")
	}
	if len(c.receipts) == 0 {
		c.text((plotLeft+plotRight)/2, (fillTop+fillBottom)/2, "middle", "", "no turns")
		return
	}
	every := tick(len(c.receipts), 12)
	for i := range c.receipts {
		if i%every == 0 {
			c.text((c.x(i)+c.x(i+1))/20, shareFloor+18, "middle", "", strconv.Itoa(c.receipts[i].Turn))
		}
	}
	c.text((plotLeft+plotRight)/2, shareFloor+36, "middle", "", "turn")
}

// title names the session.
func (c *chart) title() string {
	if len(c.receipts) == 0 {
		return "No turns"
	}
	session := c.receipts[0].Session
	for _, r := range c.receipts {
		if r.Session != session {
			return "Several sessions"
		}
	}
	const most = 60
	if name := []rune(session); len(name) > most {
		session = string(name[:most]) + "…"
	}
	return "Session " + session
}

// summary adds the session up. Turns that were not measured are counted, not guessed.
func (c *chart) summary() string {
	compactions, measured, reused, total := 0, 0, 0, 0
	for _, r := range c.receipts {
		if r.Compacted {
			compactions++
		}
		if r.Cache.Measured {
			measured++
			reused += r.Cache.Reused
			total += r.Cache.Reused + r.Cache.Prefilled
		}
	}
	s := count(len(c.receipts), "turn") + ", " + count(compactions, "compaction")
	if total > 0 {
		s += ", " + percent(reused, total) + " of the prompt tokens reused"
	}
	if missing := len(c.receipts) - measured; missing > 0 {
		s += ", reuse of " + count(missing, "turn") + " " + notReported
	}
	return s
}

// columns draws the bars, one path a colour: a session of thousands of turns stays a small file.
func (c *chart) columns() {
	var reused, prefilled, unknown, share, window strings.Builder
	for i, r := range c.receipts {
		left, right := c.x(i), c.x(i+1)
		if right-left > 30 {
			// A gap between columns that are wide enough for one.
			left, right = left+5, right-5
		}
		if !r.Cache.Measured {
			box(&unknown, left, right, c.y(r.Used), fillBottom*10)
		} else {
			total := r.Cache.Reused + r.Cache.Prefilled
			edge := c.y(min(r.Cache.Reused, c.top))
			box(&reused, left, right, edge, fillBottom*10)
			box(&prefilled, left, right, c.y(min(total, c.top)), edge)
			if total > 0 {
				box(&share, left, right, shareFloor*10-int(float64(shareFloor-shareTop)*10*float64(r.Cache.Prefilled)/float64(total)), shareFloor*10)
			}
		}
		if r.Window > 0 {
			fmt.Fprintf(&window, "M%s %sH%s", tenths(c.x(i)), tenths(c.y(r.Window)), tenths(c.x(i+1)))
		}
	}
	for _, p := range []struct {
		d     *strings.Builder
		color string
	}{{&reused, colorReused}, {&prefilled, colorPrefilled}, {&unknown, colorUnknown}, {&share, colorPrefilled}} {
		if p.d.Len() > 0 {
			c.printf(`<path fill="%s" d="%s"/>`+"\n", p.color, p.d)
		}
	}
	if window.Len() > 0 {
		c.printf(`<path fill="none" stroke="%s" stroke-width="1.5" d="%s"/>`+"\n", colorWindow, &window)
	}
}

// box adds a rectangle to a path, all in tenths of a pixel.
func box(d *strings.Builder, left, right, top, bottom int) {
	if right <= left || bottom <= top {
		return
	}
	fmt.Fprintf(d, "M%s %sH%sV%sH%sz", tenths(left), tenths(top), tenths(right), tenths(bottom), tenths(left))
}

// dense is the number of compactions above which lines through the plots would hide them.
const dense = 60

// marks shows each compaction above its column: with a triangle and a line through both plots while there is room, else with a short stroke.
func (c *chart) marks() {
	compactions := 0
	for _, r := range c.receipts {
		if r.Compacted {
			compactions++
		}
	}
	for i, r := range c.receipts {
		if !r.Compacted {
			continue
		}
		x := c.x(i)
		if compactions > dense {
			c.printf(`<path class="compaction" d="M%s %dV%d" stroke="%s"/>`+"\n", tenths(x), fillTop-8, fillTop-1, colorMark)
			continue
		}
		c.printf(`<path class="compaction" d="M%s %dV%dM%s %dV%d" stroke="%s" stroke-dasharray="4 3"/>`+"\n",
			tenths(x), fillTop, fillBottom, tenths(x), shareTop, shareFloor, colorMark)
		c.printf(`<path d="M%s %dh9l-4.5 8z" fill="%s"/>`+"\n", tenths(x-45), fillTop-8, colorMark)
	}
}

// legend explains the colours.
func (c *chart) legend() {
	x := plotLeft
	for _, e := range []struct{ color, label string }{
		{colorReused, "reused from the cache"}, {colorPrefilled, "prefilled"}, {colorUnknown, "reuse " + notReported}, {colorWindow, "window"}, {colorMark, "compaction"},
	} {
		c.printf(`<rect x="%d" y="%d" width="12" height="12" fill="%s"/>`+"\n", x, svgHeight-18, e.color)
		c.text(x+18, svgHeight-8, "start", "", e.label)
		x += 18 + 13*len(e.label)/2 + 26
	}
}

// tick returns a round distance (1, 2 or 5 times a power of ten) that divides top into at most most steps.
func tick(top, most int) int {
	for d := 1; ; d *= 10 {
		for _, m := range []int{1, 2, 5} {
			// d stays far below overflow: top is at most what an int holds, and most is small.
			if top/(d*m) <= most || d > top {
				return d * m
			}
		}
	}
}
