package store

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// ReceiptRow is the receipt of a window. Turn counts the session's windows; Observed says that the server's own numbers are in.
// Body is the engine's JSON.
type ReceiptRow struct {
	WindowID string
	Turn     int
	Body     string
	Observed bool
	Created  time.Time
}

const receiptsOf = `session_id = (SELECT num FROM session WHERE project_id = ? AND session_id = ?)`

const receiptColumns = `window_id, turn, body, observed, created, session_id, seal`

func scanReceipt(s *sqlite3.Stmt) (ReceiptRow, error) {
	row := ReceiptRow{
		WindowID: s.ColumnText(0),
		Turn:     s.ColumnInt(1),
		Observed: s.ColumnInt64(3) != 0,
		Created:  decodeTime(s.ColumnInt64(4)),
	}
	var err error
	if s.ColumnType(2) != sqlite3.BLOB {
		row.Body = s.ColumnText(2)
	} else if row.Body, err = inflate(s.ColumnRawBlob(2)); err != nil {
		return ReceiptRow{}, fmt.Errorf("receipt of window %s: %w", row.WindowID, err)
	} else {
		row.Body = strings.Replace(row.Body, windowMark, row.WindowID, 1)
	}
	return row, sealed("receipt of window "+row.WindowID, s.ColumnInt64(6), row.seal(s.ColumnInt64(5), s.ColumnInt64(4)))
}

// seal returns the fields that the receipt's seal covers. created is as it is stored.
func (row *ReceiptRow) seal(session, created int64) []any {
	observed := int64(0)
	if row.Observed {
		observed = 1
	}
	return []any{session, row.WindowID, int64(row.Turn), row.Body, observed, created}
}

// Receipt returns the receipt of a window. It fails with [ErrNotFound] when the session has none for it.
func (r *Reader) Receipt(project, session, windowID string) (ReceiptRow, error) {
	return one(r, "receipt of window "+windowID, `
SELECT `+receiptColumns+`
FROM receipt
WHERE `+receiptsOf+` AND window_id = ?`, []any{project, session, windowID}, scanReceipt)
}

// LastReceipt returns the receipt of the session's newest window. It fails with [ErrNotFound] when there is none.
func (r *Reader) LastReceipt(project, session string) (ReceiptRow, error) {
	return one(r, "last receipt of session "+session, `
SELECT `+receiptColumns+`
FROM receipt
WHERE `+receiptsOf+`
ORDER BY turn DESC, created DESC, window_id DESC
LIMIT 1`, []any{project, session}, scanReceipt)
}

// ReceiptBefore returns the receipt of the session's newest window before a turn. It fails with [ErrNotFound] when there is none.
func (r *Reader) ReceiptBefore(project, session string, turn int) (ReceiptRow, error) {
	return one(r, "receipt before turn "+strconv.Itoa(turn), `
SELECT `+receiptColumns+`
FROM receipt
WHERE `+receiptsOf+` AND turn < ?
ORDER BY turn DESC, created DESC, window_id DESC
LIMIT 1`, []any{project, session, turn}, scanReceipt)
}

// Receipts streams the session's receipts by turn.
func (r *Reader) Receipts(project, session string) iter.Seq2[ReceiptRow, error] {
	return rows(r, "receipts of session "+session, `
SELECT `+receiptColumns+`
FROM receipt
WHERE `+receiptsOf+`
ORDER BY turn, created, window_id`, []any{project, session}, scanReceipt)
}

// PutReceipt inserts a receipt, or replaces the one that its window has. Created is now when zero.
func (tx *Tx) PutReceipt(project, session string, row ReceiptRow) error {
	if row.Created.IsZero() {
		row.Created = tx.store.cfg.Now()
	}
	what := "put receipt of window " + row.WindowID
	num, err := tx.sessionNum(what, project, session)
	if err != nil {
		return err
	}
	body := any(row.Body)
	if !strings.Contains(row.Body, windowMark) {
		short, err := tx.store.deflate(strings.Replace(row.Body, row.WindowID, windowMark, 1))
		if err != nil {
			return fail(tx.ctx, err, "%s", what)
		}
		if short != nil {
			body = short
		}
	}
	created, err := encodeTime(row.Created)
	if err != nil {
		return fail(tx.ctx, err, "%s", what)
	}
	_, err = tx.exec(what, `
INSERT INTO receipt (session_id, turn, window_id, body, observed, created, seal)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (session_id, window_id) DO UPDATE
SET turn = excluded.turn, body = excluded.body, observed = excluded.observed, created = excluded.created, seal = excluded.seal`,
		num, row.Turn, row.WindowID, body, row.Observed, created, seal(row.seal(num, created)...))
	return err
}

// receiptWords are what the bodies of receipts have in common. They may be changed by adding to their front only: what was deflated with them
// names them by their distance from the end.
const receiptWords = `"cause":"slot taken","notes":["counted locally: ","nothing compacted: ","reason":"no checkpoint at or before the cut at 1021; ` +
	`newest checkpoint before the cut at 1021 is 1021, 1021 tokens back; snapped 512 tokens back onto a checkpoint at 1021; ` +
	`cut at 1021 is a block border; cut at 1021 is a checkpoint; cut at 1021 is a rewind point; 1021 of 1021 tokens prefilled","shifted":false},` +
	`"compacted":true,"verdict":"snapped","verdict":"full-re-prefill","verdict":"partial-reuse","status":"warm-restored","status":"full-re-prefill",` +
	`"status":"cold","reason":"template rewrote history"` +
	`{"receipt":{"session":"main","id":"win_0123456789abcdef","turn":1,"generation":0,"compacted":false,"window":32768,"used":1021,"new":1018,"messages":4,` +
	`"escaped_marks":0,"parts":[{"category":"system","tokens":3},{"category":"tools","tokens":0},{"category":"pins","tokens":0},` +
	`{"category":"repo map","tokens":0},{"category":"recalled notes","tokens":0},{"category":"fold summaries","tokens":0},{"category":"stubs","tokens":0},` +
	`{"category":"raw history","tokens":967},{"category":"template overhead","tokens":51}],"cache":{"status":"partial-reuse","verdict":"aligned","boundary":0,` +
	`"checkpoint":0,"snap":0,"predicted":0,"reused":0,"prefilled":0,"prompt":0,"drift":0,"millis":0,"status":"unknown","verdict":null,"boundary":0,` +
	`"checkpoint":0,"snap":0,"predicted":0,"reused":null,"prefilled":null,"prompt":null,"drift":null,"millis":null,` +
	`"reason":"the first token changed; 1021 of 1021 tokens prefilled","shifted":false},"tokenizer":"o200k_base","backend":"embedded 1"}}`

// windowMark stands in a deflated body for the window's id, which is in a column already. JSON never holds it.
const windowMark = "\x01"

// deflater is the writer's compressor; making one costs more than using it.
type deflater struct {
	writer *flate.Writer
	buffer bytes.Buffer
}

// deflate returns a body as it is stored where that is shorter, else nil. It is called inside a write.
func (s *Store) deflate(body string) ([]byte, error) {
	d := &s.deflater
	d.buffer.Reset()
	if d.writer == nil {
		w, err := flate.NewWriterDict(&d.buffer, flate.DefaultCompression, []byte(receiptWords))
		if err != nil {
			return nil, err
		}
		d.writer = w
	} else {
		d.writer.Reset(&d.buffer)
	}
	if _, err := io.WriteString(d.writer, body); err != nil {
		return nil, err
	}
	if err := d.writer.Close(); err != nil {
		return nil, err
	}
	if d.buffer.Len() >= len(body) {
		return nil, nil
	}
	return bytes.Clone(d.buffer.Bytes()), nil
}

// maxReceipt bounds what a damaged body may inflate to. Nothing that is written comes near it.
const maxReceipt = 1 << 24

// inflate is the inverse of deflate for a []byte.
func inflate(b []byte) (string, error) {
	var body strings.Builder
	n, err := io.Copy(&body, io.LimitReader(flate.NewReaderDict(bytes.NewReader(b), []byte(receiptWords)), maxReceipt+1))
	if err == nil && n > maxReceipt {
		err = errors.New("it is too long")
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return body.String(), nil
}
