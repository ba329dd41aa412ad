package store

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
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
		var text strings.Builder
		counts := tally(terms)
		for _, term := range slices.Sorted(maps.Keys(counts)) {
			text.WriteString(prefix)
			text.WriteString(marked(term, level(counts[term])))
			text.WriteByte(' ')
		}
		row.texts = append(row.texts, text.String())
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

// tokenize splits what the analyser made into terms and lowers ASCII letters.
func tokenize(text string) []string {
	terms := strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f })
	kept := terms[:0]
	for _, term := range terms {
		if len(term) <= termBytes {
			// The mark's first byte, which no text in UTF-8 holds, must not be a term's.
			kept = append(kept, strings.ReplaceAll(lower(term), mark, "\xfe"))
		}
	}
	return kept
}

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

// tally counts a document's terms.
func tally(terms []string) map[string]int {
	counts := make(map[string]int, len(terms))
	for _, term := range terms {
		counts[term]++
	}
	return counts
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

// apply writes a batch into the index inside a transaction, up to the row before which it should yield. It does nothing when the watermark has moved meanwhile.
func (b *batch) apply(c *conn, yield func() bool) error {
	t := b.track
	if len(b.rows) == 0 {
		return nil
	}
	now, err := t.watermark(c)
	if err != nil || now != b.watermark {
		return err
	}
	w := indexWriter{conn: c, track: t, totals: map[int64]*total{}}
	if t.name != "fact" { // the document of a fact has the fact's number
		if w.top, err = t.top(c); err != nil {
			return err
		}
	}
	last := b.watermark
	for i := range b.rows {
		if yield != nil && yield() {
			break
		}
		row := &b.rows[i]
		last = row.position
		if err := w.put(row); err != nil {
			return err
		}
	}
	if err := w.count(); err != nil {
		return err
	}
	_, err = c.exec(`
UPDATE fts_watermark
SET watermark = ?
WHERE name = ?`, last, t.name)
	return err
}

// indexWriter writes the rows of a batch. What all of them change is written once at the end.
type indexWriter struct {
	conn   *conn
	track  track
	top    int64 // the highest number of a document
	totals map[int64]*total
}

// total is what a batch adds to the numbers of a project.
type total struct{ docs, terms, first, last int64 }

func (w *indexWriter) add(project, doc, docs, terms int64) {
	n := w.totals[project]
	if n == nil {
		n = &total{first: doc, last: doc}
		w.totals[project] = n
	}
	n.docs, n.terms, n.first, n.last = n.docs+docs, n.terms+terms, min(n.first, doc), max(n.last, doc)
}

// count writes the totals.
func (w *indexWriter) count() error {
	for _, project := range slices.Sorted(maps.Keys(w.totals)) {
		if err := w.track.count(w.conn, project, *w.totals[project]); err != nil {
			return err
		}
	}
	return nil
}

func (w *indexWriter) put(row *pendingRow) error {
	if w.track.name == "fact" && row.position != row.row { // it had another value before
		terms, found, err := w.track.forget(w.conn, row.row)
		if err != nil {
			return err
		}
		if found {
			w.add(row.project, row.row, -1, -terms)
		}
	}
	if w.track.name == "fact" && row.session == 0 {
		// A file's fact that left the ledger since it was read must not come back into the index.
		if _, there, err := w.conn.number(`SELECT 1 FROM symbolic_fact WHERE num = ? AND revision = ?`, row.row, row.position); err != nil || !there {
			return err
		}
	}
	row.compose()
	for i, text := range row.texts {
		if err := w.document(row, text, len(row.documents[i])); err != nil {
			return err
		}
	}
	return nil
}

func (w *indexWriter) document(row *pendingRow, text string, terms int) error {
	doc := row.row
	var err error
	if w.track.name == "fact" {
		_, err = w.conn.exec(`INSERT INTO fact_doc (doc, num, terms) VALUES (?, ?, ?)`, doc, row.row, terms)
	} else {
		w.top++
		doc = w.top
		if w.track.context {
			_, err = w.conn.exec(`INSERT INTO episode_doc (doc, seq, terms, session_num, asks) VALUES (?, ?, ?, ?, ?)`, doc, row.row, terms, row.session, row.asks)
		} else {
			_, err = w.conn.exec(`INSERT INTO entry_doc (doc, num, terms) VALUES (?, ?, ?)`, doc, row.row, terms)
		}
	}
	if err != nil {
		return err
	}
	if terms > 0 {
		if _, err := w.conn.exec(`INSERT INTO `+w.track.fts+` (rowid, terms) VALUES (?, ?)`, doc, text); err != nil {
			return err
		}
	}
	w.add(row.project, doc, 1, int64(terms))
	return nil
}

// forget takes out the document of a fact's old value, and returns how many terms it had.
func (t track) forget(c *conn, num int64) (terms int64, found bool, err error) {
	terms, found, err = c.number(`SELECT terms FROM fact_doc WHERE doc = ?`, num)
	if err != nil || !found {
		return 0, false, err
	}
	if _, err := c.exec(`DELETE FROM fact_fts WHERE rowid = ?`, num); err != nil {
		return 0, false, err
	}
	_, err = c.exec(`DELETE FROM fact_doc WHERE doc = ?`, num)
	return terms, err == nil, err
}

// top returns the highest number of a document.
func (t track) top(c *conn) (int64, error) {
	n, _, err := c.number(`SELECT coalesce(max(doc), 0) FROM ` + t.docs)
	return n, err
}

func (t track) count(c *conn, project int64, n total) error {
	_, err := c.exec(`
INSERT INTO fts_total (name, project_num, docs, terms, first_doc, last_doc)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (name, project_num) DO UPDATE
SET docs = docs + excluded.docs, terms = terms + excluded.terms, first_doc = min(first_doc, excluded.first_doc),
  last_doc = max(last_doc, excluded.last_doc)`, t.name, project, n.docs, n.terms, n.first, n.last)
	return err
}

// errContended says that a write is running.
var errContended = errors.New("a write is running")

// politeness is how often one who must not wait for a running write looks whether there is one.
const politeness = 200 * time.Microsecond

// acquire takes a semaphore. Without wait it gives up with errContended when a write is running rather than stand in the queue behind it:
// a search inside that write would wait for itself. A batch of the index it waits for in any case.
func (s *Store) acquire(ctx context.Context, semaphore chan struct{}, wait bool) error {
	var look <-chan time.Time
	for {
		select {
		case semaphore <- struct{}{}:
			return nil
		default:
		}
		if !wait {
			if s.writing.Load() {
				return errContended
			}
			look = time.After(politeness)
		}
		select {
		case semaphore <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-look:
		}
	}
}

// pace is how the indexes are brought up to date.
type pace struct {
	wait  bool // as for acquire
	bytes int  // of text in a batch
	// yield reports whether to leave off, since a write has come; nil is never.
	yield func() bool
}

// drain brings the indexes up to date, batch by batch. The text is analysed before the writer is taken, and the writer is taken once for all of the indexes.
func (s *Store) drain(ctx context.Context, p pace) error {
	if err := s.acquire(ctx, s.draining, p.wait); err != nil {
		return err
	}
	defer func() { <-s.draining }()
	pending := s.unindexed.Swap(0)
	for {
		if p.yield != nil && p.yield() {
			s.unindexed.Add(pending) // some of it may be done: it is looked at again a little early
			return nil
		}
		batches, err := s.pending(ctx, p.bytes)
		if err != nil || len(batches) == 0 {
			return err
		}
		if err := s.writeBatches(ctx, batches, p); err != nil {
			return err
		}
	}
}

// pending reads what waits for the indexes, about that many bytes together.
func (s *Store) pending(ctx context.Context, bound int) (batches []batch, err error) {
	err = s.snapshot(ctx, s.takeReader, func(r *Reader) error {
		for _, t := range tracks {
			if bound <= 0 {
				break
			}
			b, err := s.collect(r.conn, t, 0, bound)
			if err != nil {
				return err
			}
			if len(b.rows) > 0 {
				batches = append(batches, b)
			}
			bound -= b.size
		}
		return nil
	})
	return batches, err
}

func (s *Store) writeBatches(ctx context.Context, batches []batch, p pace) error {
	for i := range batches {
		batches[i].compose()
	}
	return s.onIndexer(ctx, p.wait, func(c *conn) error {
		for i := range batches {
			if err := batches[i].apply(c, p.yield); err != nil {
				return err
			}
		}
		return nil
	})
}

const (
	// mergePages is how many pages one step of a merge writes: it holds the writer for a few milliseconds. mergeSteps bounds the steps after a
	// batch, so that a large merge is spread over several.
	mergePages, mergeSteps = 64, 16
)

// merge makes fewer segments of the indexes, which the batches leave many of: a search looks into each.
func (s *Store) merge(ctx context.Context, yield func() bool) error {
	for _, t := range tracks {
		for range mergeSteps {
			if yield() {
				return nil
			}
			changed, err := s.mergeStep(ctx, t, mergePages)
			if err != nil {
				return err
			}
			if changed < 2 {
				break
			}
		}
	}
	return nil
}

// mergeStep writes about that many pages, and returns how much has changed: less than 2 is FTS5's way to say that there was nothing to do.
func (s *Store) mergeStep(ctx context.Context, t track, pages int) (changed int64, err error) {
	err = s.onIndexer(ctx, true, func(c *conn) error {
		before := c.TotalChanges()
		_, err := c.exec(`INSERT INTO `+t.fts+` (`+t.fts+`, rank) VALUES ('merge', ?)`, pages)
		changed = c.TotalChanges() - before
		return err
	})
	return changed, err
}

// onIndexer runs f in a transaction on the index's connection.
func (s *Store) onIndexer(ctx context.Context, wait bool, f func(*conn) error) error {
	if err := s.acquire(ctx, s.writer, wait); err != nil {
		return err
	}
	defer s.unlockWriter()
	if s.indexer == nil {
		c, err := s.dial(ctx)
		if err != nil {
			return err
		}
		// A batch that a power failure takes is written again: it needs no sync of its own.
		if err := c.Exec(`PRAGMA synchronous = NORMAL`); err != nil {
			return errors.Join(err, c.close())
		}
		s.watchLog(c)
		s.indexer = c
	}
	return s.transact(ctx, s.indexer, func() { s.indexer = nil }, f)
}
