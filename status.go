package sakur4

import (
	"cmp"
	"context"
	"fmt"

	"sakur4/internal/store"
	"sakur4/symbolic"
)

// Counts are numbers of rows. A count that could not be made is an error of the call, never 0.
type Counts struct {
	// Episodes are recorded turns, Facts rows of the ledger, Entries interpretations, Pins those in force, Sessions those with a turn or pin.
	Episodes, Facts, Entries, Pins, Sessions int
}

// Status describes the store from the project's point of view.
type Status struct {
	// Project is the project's id, Root its folder or given name, Path the store's file.
	Project, Root, Path string
	// Own are the counts of the project, Store those of the whole store.
	Own, Store Counts
	// OtherProjects says that the store holds projects besides this one: a count that looks low is explained by it.
	OtherProjects bool
	// Backend names the server, Tokenizer what counts with it; Problem is why it does not answer, "" if it does.
	Backend, Tokenizer, Problem string
	// Vectors are the project's dense vectors; zero without an embedder.
	Vectors VectorStatus
	// Window is the context in tokens, Limit what a prompt may have.
	Window, Limit int
}

// VectorStatus says how far a project's vectors are.
type VectorStatus struct {
	// Model and Dim are what they were made by and their length.
	Model string
	Dim   int
	// Stored counts the vectors, of which a long text has several; Waiting the episodes and interpretations that were not looked at yet, Refused those that
	// the model did not take.
	Stored, Waiting, Refused int
}

// String returns the status in one line.
func (s Status) String() string {
	out := fmt.Sprintf("%s: %d episodes, %d facts, %d pins, %d sessions; window %d tokens on %s, tokens of %s", s.Project, s.Own.Episodes, s.Own.Facts,
		s.Own.Pins, s.Own.Sessions, s.Window, cmp.Or(s.Backend, "unknown backend"), cmp.Or(s.Tokenizer, "unknown"))
	if s.OtherProjects {
		out += fmt.Sprintf("; the store holds other projects: %d episodes in all", s.Store.Episodes)
	}
	if v := s.Vectors; v.Model != "" {
		out += fmt.Sprintf("; %d vectors of %s, %d texts wait for theirs", v.Stored, v.Model, v.Waiting)
	}
	if s.Problem != "" {
		out += "; backend: " + s.Problem
	}
	return out
}

// Status counts what the store holds and says what the backend is.
func (e *Engine) Status(ctx context.Context) (Status, error) {
	if err := e.check(ctx); err != nil {
		return Status{}, err
	}
	_, profile, problem := e.server(ctx)
	st := Status{Project: e.project, Root: cmp.Or(e.root, e.opts.Project), Path: e.st.Path(), Backend: backendName(profile), Tokenizer: profile.Tokenizer,
		Problem: problem}
	st.Window, st.Limit = e.window(profile)
	err := e.st.Read(ctx, func(r *store.Reader) error {
		c, err := r.Counts(e.project)
		if err != nil {
			return err
		}
		st.Own, st.Store, st.OtherProjects = counts(c.Project), counts(c.Store), c.OtherProjects
		if e.dense == nil {
			return nil
		}
		m, err := r.VectorModel(e.project)
		if err != nil {
			return notFoundIsNone(err)
		}
		st.Vectors = VectorStatus{Model: m.Model, Dim: m.Dim, Refused: m.Refused}
		if st.Vectors.Stored, err = r.Vectors(e.project); err != nil {
			return err
		}
		st.Vectors.Waiting, err = r.VectorsWaiting(e.project)
		return err
	})
	if err != nil {
		return Status{}, wrap(err)
	}
	return st, nil
}

func counts(c store.Count) Counts {
	return Counts{Episodes: c.Episodes, Facts: c.Facts, Entries: c.Entries, Pins: c.Pins, Sessions: c.Sessions}
}

// VerifyReport says what [Engine.Verify] found.
type VerifyReport struct {
	// Episodes and Facts are how many were checked.
	Episodes, Facts int
	// Rederived is how many facts their source gave again. Drifted is how many were read in a file that says something else now, Gone how many in one that has
	// no such place any more, Unverified how many in one that cannot be read: no damage, the world has moved on.
	Rederived, Drifted, Gone, Unverified int
	// Problems are what is wrong, in words; empty if nothing is.
	Problems []string
}

// Verify checks the whole store: the database's own integrity, the triggers, all that is recorded of every episode, older value of a fact, pin, note, interpretation,
// rendering decision, receipt, fold and step of eviction against its digest or seal, that none of their rows is gone, and every fact of the project by parsing its
// source again. The error is [ErrCorrupt] where there is damage; the report lists it.
//
// It finds accidents. Seals and counts are no secret: who can write the file can write them too, and [Options.EncryptionKey] is what keeps others from writing it.
// Edges of the dependency graph, what the index knows of source files, and vectors are compared with what they name and have no seals; the first
// two are made again by [Engine.Index].
func (e *Engine) Verify(ctx context.Context) (VerifyReport, error) {
	if err := e.check(ctx); err != nil {
		return VerifyReport{}, err
	}
	report, err := e.st.Verify(ctx)
	if err != nil {
		return VerifyReport{}, wrap(err)
	}
	out := VerifyReport{Episodes: report.Count.Episodes, Problems: report.Problems}
	var told, read []symbolic.Row // by a tool, in a file
	for row, err := range e.Facts(ctx, FactFilter{}) {
		if err != nil {
			return out, err
		}
		if row.Episode == "" {
			read = append(read, row)
		} else {
			told = append(told, row)
		}
	}
	for _, row := range told {
		out.Facts++
		f, err := e.rederive(ctx, row)
		if now := f.Row(); err == nil && (now.Offset != row.Offset || now.Line != row.Line) {
			err = fmt.Errorf("it stands at byte %d in line %d of its episode, not at byte %d in line %d", now.Offset, now.Line, row.Offset, row.Line)
		}
		switch {
		case err == nil:
			out.Rederived++
		case ctx.Err() != nil:
			return out, ctx.Err()
		default:
			out.Problems = append(out.Problems, fmt.Sprintf("fact %s (%s): %v", row.FactID, row.QualifiedName, err))
		}
	}
	if err := e.recheck(ctx, read, &out); err != nil {
		return out, wrap(err)
	}
	if len(out.Problems) > 0 {
		return out, fmt.Errorf("%w: %d problems, the first: %s", ErrCorrupt, len(out.Problems), out.Problems[0])
	}
	return out, nil
}

// Backup writes a consistent copy of the store to a new file, while others read and write it; the copy of an encrypted store has the same key. It also works on a
// store that is open read-only.
//
// An existing file is refused with [fs.ErrExist]. The other errors are [ErrFull], those of the file system and those of the store; no file is left then.
func (e *Engine) Backup(ctx context.Context, path string) error {
	if err := e.check(ctx); err != nil {
		return err
	}
	return wrap(e.st.Backup(ctx, path))
}
