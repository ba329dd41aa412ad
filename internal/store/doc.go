// Package store keeps everything that is recorded in one SQLite file: episodes, facts, pins, rendering decisions, receipts.
//
// Start with [Open], [Store.Write] and [Store.Read]. A write is one transaction on the single writer, durable when it returns but for [Store.WriteNoSync]. A read
// runs on one snapshot and sees every write that has returned, of any goroutine or process. The [Reader] that a function is given
// is valid until that function returns, and is not safe for concurrent use; a [Store] is.
//
// The schema, not the Go code, enforces that nothing recorded is changed: triggers refuse every update of a recorded column, every
// delete and every insert that would take an old row's place.
//
// What a parser read in a result is one row of a queue when it is recorded, and is entered in the ledger of facts when nobody writes, or before the first statement that
// names the ledger: see [Tx.RecordFacts]. Who may not enter it reads it laid over the ledger.
//
// Full-text indexes are filled after the commit, in batches behind a watermark. A search completes what is behind the watermark
// first, so that the state of the index never shows in its answer. What was read of documents that are only ever added is remembered, within
// bounds, and never shows either.
package store
