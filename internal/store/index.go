package store

import (
	"bytes"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ncruces/go-sqlite3"

	"sakur4/internal/episode"
	"sakur4/symbolic"
)

const (
	// indexBatchBytes is how much text one batch takes in, and how much may wait before the maintenance goroutine does it once there is quiet. A batch of
	// this size holds the writer for about 10 ms, unless a write comes.
	indexBatchBytes = 64 << 10
	// backlogBytes is how much text may wait where there is no quiet: the most that a search has to index first. Then it is taken in in batches of
	// sliceBytes, so that a write waits for a few tens of milliseconds at most, and one in hundreds waits at all; small ones would hold up one in thirty.
	backlogBytes = 1 << 20
	sliceBytes   = backlogBytes / 2
	// rowBytes is what a row counts at the least, so that a batch of short texts is bounded.
	rowBytes = 256
	// documentBytes is the most text that is one document of the index; longer episodes are several.
	documentBytes = 64 << 10
	// factBytes is how much of a fact's value is indexed: longer ones are whole files or diffs, which the episode's own document covers.
	factBytes = 4 << 10
	// termBytes is the longest term that is indexed: longer ones are encoded data, which nobody searches for.
	termBytes = 256
)

// track names one of the indexes and its tables.
type track struct {
	name                string
	docs, fts, postings string
	// pending reads the rows after a position: position, row, project, name, calls, content, path, session, role. A fact has its episode's number for the session.
	pending string
	// columns are what documents says of a document: its row, its length in terms, its session, whether it asks.
	columns string
	// owner looks up whose rows they are: id, number, time, session, tier. It takes the project's id and number, and ends where the row's numbers follow. The
	// session of an episode is known before.
	owner string
	// context says that the documents around one in its session tell something about it.
	context bool
}

var episodeTrack = track{
	name:     "episode",
	docs:     "episode_doc",
	fts:      "episode_fts",
	postings: "episode_postings",
	columns:  "seq, terms, session_num, asks",
	context:  true,
	pending: `
SELECT e.seq, e.seq, e.project_id, e.tool_name, e.calls, e.content, '', e.session_id, e.role
FROM episodic_stream e
WHERE e.seq > ?
ORDER BY e.seq`,
	owner: `
SELECT e.episode_id, e.seq, e.at, '', ` + tierOf + `
FROM episodic_stream e
WHERE e.project_id = ?2 AND e.seq`,
}

var factTrack = track{
	name:     "fact",
	docs:     "fact_doc",
	fts:      "fact_fts",
	postings: "fact_postings",
	columns:  "num, terms, 0, 0",
	pending: `
SELECT f.revision, f.num, f.project_id, f.qualified_name, '', substr(f.value, 1, ` + strconv.Itoa(factBytes) + `), f.file_path, f.episode_id, ''
FROM symbolic_fact f
WHERE f.revision = f.num AND f.num > ?1
UNION ALL
SELECT f.revision, f.num, f.project_id, f.qualified_name, '', substr(f.value, 1, ` + strconv.Itoa(factBytes) + `), f.file_path, f.episode_id, ''
FROM symbolic_fact f INDEXED BY symbolic_fact_revision
WHERE f.revision <> f.num AND f.revision > ?1
ORDER BY 1`,
	owner: `
SELECT fact_id, num, renewed, '', ''
FROM symbolic_fact
WHERE project_id = ?2 AND num`,
}

// An entry is also found by the name of the fact that it interprets.
var entryTrack = track{
	name:     "entry",
	docs:     "entry_doc",
	fts:      "entry_fts",
	postings: "entry_postings",
	columns:  "num, terms, 0, 0",
	pending: `
SELECT a.num, a.num, (SELECT p.num FROM project p WHERE p.project_id = a.project_id), coalesce(f.qualified_name, ''), '', a.text,
  coalesce(f.file_path, ''), 0, ''
FROM semantic_atlas a
LEFT JOIN symbolic_fact f ON a.anchor_type = 'symbolic_fact' AND f.fact_id = a.anchor_id AND f.project_id = (SELECT p.num FROM project p WHERE p.project_id = a.project_id)
WHERE a.num > ?
ORDER BY a.num`,
	owner: `
SELECT entry_id, num, created, session_id, ''
FROM semantic_atlas
WHERE project_id = ?1 AND replaced_by = '' AND retired = 0 AND num`,
}

// tracks are all of them.
var tracks = [...]track{episodeTrack, factTrack, entryTrack}

// pendingRow is a row behind the watermark, analysed: the terms of each of its documents.
type pendingRow struct {
	position, row, project, session int64
	asks                            bool
	documents                       [][]string
	// texts are the documents as the index takes them in; see [pendingRow.compose].
	texts []string
}

// batch is a run of pending rows of one index that begins at a watermark.
type batch struct {
	track     track
	watermark int64
	rows      []pendingRow
	size      int // what counts for the bound
}

// compose makes the texts that the index takes in, which is half of the work of a batch and needs no transaction.
func (b *batch) compose() {
	for i := range b.rows {
		b.rows[i].compose()
	}
}

func (row *pendingRow) compose() {
	if row.texts != nil {
		return
	}
	prefix := scope(row.project)
	for _, terms := range row.documents {
		slices.Sort(terms)
		var text []byte
		for term, n := range tally(terms) {
			text = append(text, prefix...)
			text = append(text, marked(term, level(n))...)
			text = append(text, ' ')
		}
		row.texts = append(row.texts, string(text))
	}
}

// watermark returns the position up to which the index is complete.
func (t track) watermark(c *conn) (int64, error) {
	n, found, err := c.number(`SELECT watermark FROM fts_watermark WHERE name = ?`, t.name)
	if err == nil && !found {
		err = ErrCorrupt
	}
	return n, err
}

// collect reads and analyses the next rows behind the watermark, about that many bytes. A project other than 0 selects its rows only, and no bound holds then.
func (s *Store) collect(c *conn, t track, project int64, bound int) (batch, error) {
	b := batch{track: t}
	var err error
	if b.watermark, err = t.watermark(c); err != nil {
		return batch{}, err
	}
	err = c.each(t.pending, []any{b.watermark}, func(row *sqlite3.Stmt) error {
		if project == 0 && b.size >= bound {
			return errStop
		}
		if project != 0 && row.ColumnInt64(2) != project {
			return nil
		}
		text, err := indexedText(row)
		if err != nil {
			return err
		}
		b.size += max(len(text), rowBytes)
		p := pendingRow{position: row.ColumnInt64(0), row: row.ColumnInt64(1), project: row.ColumnInt64(2), session: row.ColumnInt64(7)}
		role := episode.Role(row.ColumnText(8))
		p.asks = (role == episode.User || role == episode.Assistant) && bytes.IndexByte(row.ColumnRawBlob(5), '?') >= 0
		for _, part := range split(text, documentBytes) {
			p.documents = append(p.documents, tokenize(s.cfg.Analyze(part)))
		}
		b.rows = append(b.rows, p)
		return nil
	})
	return b, err
}

// indexedBytes returns what a fact counts.
func indexedBytes(row *symbolic.Row) int64 {
	return int64(max(len(row.QualifiedName)+min(len(row.Value), factBytes)+len(row.FilePath), rowBytes))
}

// indexedText returns the text of a pending row that is indexed: the content, and around it the names by which it may be asked for.
func indexedText(row *sqlite3.Stmt) (string, error) {
	var b strings.Builder
	b.Write(row.ColumnRawBlob(5))
	for _, col := range [...]int{3, 6} {
		if name := row.ColumnText(col); name != "" {
			b.WriteByte('\n')
			b.WriteString(name)
		}
	}
	var calls []episode.Call
	calls, err := decodeCalls(row.ColumnRawText(4))
	if err != nil {
		return "", err
	}
	for _, c := range calls {
		b.WriteByte('\n')
		b.WriteString(c.Name)
		b.WriteByte(' ')
		b.WriteString(c.Arguments)
	}
	return b.String(), nil
}

// split cuts a text into parts of at most n bytes, after white space where there is some near the end, else between runes.
func split(text string, n int) []string {
	var parts []string
	for len(text) > n {
		cut := n
		if i := strings.LastIndexAny(text[n-n/16:n], " \n\t"); i >= 0 {
			cut = n - n/16 + i + 1
		} else {
			for cut > n-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
				cut--
			}
		}
		parts = append(parts, text[:cut])
		text = text[cut:]
	}
	return append(parts, text)
}

// tokenize splits what the analyser made into terms and lowers ASCII letters. A space is a byte up to 0x20, or 0x7f: none is part of a longer character.
func tokenize(text string) []string {
	count, between := 0, true
	for i := range len(text) {
		space := isSpace(text[i])
		if between && !space {
			count++
		}
		between = space
	}
	terms := make([]string, 0, count)
	for i := 0; i < len(text); {
		from := i
		for i < len(text) && !isSpace(text[i]) {
			i++
		}
		if n := i - from; n > 0 && n <= termBytes {
			// The mark's first byte, which no text in UTF-8 holds, must not be a term's.
			terms = append(terms, strings.ReplaceAll(lower(text[from:i]), mark, "\xfe"))
		}
		i++
	}
	return terms
}

func isSpace(b byte) bool { return b <= ' ' || b == 0x7f }

// mark stands between a term and the letter of its level in the index.
const mark = "\xff"

// levels are the frequencies that the index tells apart; one in between counts as the next lower. A term of level 1 bears no mark.
var levels = [...]int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128}

// level returns the index in levels of a frequency.
func level(frequency int) int {
	i := len(levels) - 1
	for levels[i] > frequency {
		i--
	}
	return i
}

// marked returns a term as it is in the index for documents that hold it with a frequency of that level.
func marked(term string, level int) string {
	if level == 0 {
		return term
	}
	return term + mark + string(rune('a'+level))
}

// tally counts the terms of a sorted list.
func tally(terms []string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for i := 0; i < len(terms); {
			n := 1
			for i+n < len(terms) && terms[i+n] == terms[i] {
				n++
			}
			if !yield(terms[i], n) {
				return
			}
			i += n
		}
	}
}

// lower lowers ASCII letters and leaves every other byte as it is, as the index's own tokenizer does.
func lower(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for j := i; j < len(b); j++ {
				if 'A' <= b[j] && b[j] <= 'Z' {
					b[j] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// scope returns what stands before every term of a project in the index.
func scope(project int64) string { return strconv.FormatInt(project, 36) + ":" }
