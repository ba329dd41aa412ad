package receipt

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"sakur4/boundary"
)

const notReported = "not reported"

// Line returns the receipt in one line for logs: what is used of the window, and what became of the cache.
func (r Receipt) Line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "turn %d: %d of %d tokens (%s)", r.Turn, r.Used, r.Window, percent(r.Used, r.Window))
	if r.Compacted {
		b.WriteString(", compacted")
		if r.Cache.Verdict != 0 {
			fmt.Fprintf(&b, " (%v)", r.Cache.Verdict)
		}
	}
	fmt.Fprintf(&b, ", cache %v: ", r.Cache.Status)
	if !r.Cache.Measured {
		fmt.Fprintf(&b, "reuse %s, %d predicted", notReported, r.Cache.Predicted)
		return b.String()
	}
	fmt.Fprintf(&b, "%d reused (%s), %d prefilled", r.Cache.Reused, percent(r.Cache.Reused, r.Cache.Reused+r.Cache.Prefilled), r.Cache.Prefilled)
	if r.Cache.Millis > 0 {
		b.WriteString(" in " + millis(r.Cache.Millis))
	}
	return b.String()
}

// String returns the receipt as readable text: the first line is [Receipt.Line], then come the parts with a bar each, then the cache. It ends without a newline.
func (r Receipt) String() string {
	var b strings.Builder
	b.WriteString(r.Line())
	fmt.Fprintf(&b, "\n  session %s, window %s, %s, %s", oneLine(r.Session), oneLine(r.ID), count(r.Messages, "message"), count(r.Generation, "compaction"))
	if r.EscapedMarks > 0 {
		fmt.Fprintf(&b, ", %s made harmless", count(r.EscapedMarks, "control mark"))
	}
	largest := 0
	for _, p := range r.Parts {
		largest = max(largest, p.Tokens)
	}
	for _, p := range r.Parts {
		line := fmt.Sprintf("  %-17s %9d  %5s  %s", p.Category, p.Tokens, percent(p.Tokens, r.Used), bar(p.Tokens, largest))
		b.WriteString("\n" + strings.TrimRight(line, " "))
	}
	r.cacheText(&b)
	row(&b, "counted by", orElse(oneLine(r.Tokenizer), "unknown")+", backend "+orElse(oneLine(r.Backend), "unknown"))
	if r.Floor != "" {
		row(&b, "floor", oneLine(r.Floor))
	}
	for _, n := range r.Notes {
		row(&b, "note", oneLine(n))
	}
	return b.String()
}

// cacheText writes what was predicted and, beside it, what was measured.
func (r Receipt) cacheText(b *strings.Builder) {
	c := r.Cache
	state := c.Status.String()
	if c.Verdict != 0 {
		state += fmt.Sprintf(", cut %v: boundary %d, ", c.Verdict, c.Boundary)
		if c.Checkpoint > 0 {
			state += fmt.Sprintf("checkpoint %d, snap %d", c.Checkpoint, c.Snap)
		} else {
			state += "no checkpoint"
		}
	}
	if c.Shifted {
		state += ", kept tokens moved by the server (approximate)"
	}
	row(b, "cache", state)
	predicted := fmt.Sprintf("%d reused, %d prefilled", c.Predicted, max(r.Used-c.Predicted, 0))
	if c.Estimated {
		predicted += ", estimated"
	}
	row(b, "predicted", predicted)
	if c.Measured {
		row(b, "measured", fmt.Sprintf("%d reused, %d prefilled", c.Reused, c.Prefilled))
	} else {
		row(b, "measured", notReported)
	}
	if c.Prompt > 0 {
		row(b, "server counts", fmt.Sprintf("%d tokens, drift %+d", c.Prompt, c.Drift))
	} else {
		row(b, "server counts", notReported)
	}
	if c.Millis > 0 {
		row(b, "prompt time", millis(c.Millis))
	} else {
		row(b, "prompt time", notReported)
	}
	if c.Written != nil {
		row(b, "cache writes", count(*c.Written, "token"))
	}
	if c.Trend != boundary.TrendNotReported {
		row(b, "trend", c.Trend.String())
	}
	if by := strings.TrimSpace(oneLine(c.Provider) + " " + oneLine(c.Model)); by != "" {
		row(b, "answered by", by)
	}
	if c.Cause != "" {
		row(b, "cause", oneLine(c.Cause))
	}
	if c.Reason != "" {
		row(b, "reason", oneLine(c.Reason))
	}
}

func row(b *strings.Builder, name, text string) {
	fmt.Fprintf(b, "\n  %-17s %s", name, text)
}

// barCells is the length of the longest bar.
const barCells = 30

// bar draws a share of the largest part in eighths of a cell. What is there at all is seen.
func bar(tokens, largest int) string {
	if tokens <= 0 || largest <= 0 {
		return ""
	}
	eighths := max(int(float64(tokens)/float64(largest)*barCells*8+0.5), 1)
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		s += string([]rune(" ▏▎▍▌▋▊▉")[rest])
	}
	return s
}

// percent returns a share in whole percent, rounded down so that only the whole is 100; "-" of nothing.
func percent(part, whole int) string {
	if whole <= 0 {
		return "-"
	}
	return strconv.FormatInt(int64(part)*100/int64(whole), 10) + " %"
}

// millis writes a time in milliseconds, under ten with one decimal.
func millis(ms float64) string {
	if ms < 10 {
		return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
	}
	return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// oneLine makes text from outside harmless in a line: runs of spaces and control characters become one space.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}
