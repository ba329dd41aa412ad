package sakur4

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sakur4/internal/sight"
	"sakur4/internal/store"
	"sakur4/symbolic"
)

// recheck compares facts of files with what the files give now, and adds what it finds to the report. Each file is read and parsed once, whatever it holds.
func (e *Engine) recheck(ctx context.Context, rows []symbolic.Row, out *VerifyReport) error {
	slices.SortStableFunc(rows, func(a, b symbolic.Row) int { return cmp.Compare(a.FilePath, b.FilePath) })
	return e.st.Read(ctx, func(r *store.Reader) error {
		look := e.look(r, e.project)
		defer look.Close()
		for i, row := range rows {
			if err := ctx.Err(); err != nil {
				return err
			}
			if i > 0 && rows[i-1].FilePath != row.FilePath {
				look.Forget(rows[i-1].FilePath)
			}
			out.Facts++
			_, known := sight.SourceOf(row.Source)
			if !known || row.FilePath == "" || row.FactID != symbolic.FactID(row.Project, row.QualifiedName, row.Kind, row.FilePath) {
				out.Problems = append(out.Problems, fmt.Sprintf("fact %s (%s): no parser gave one of this id, of source %q in file %q", row.FactID, row.QualifiedName, row.Source, row.FilePath))
				continue
			}
			now, _, err := look.Fact(row)
			switch {
			case err != nil:
				return err
			case !now.Checked:
				out.Unverified++
			case now.Hash == "":
				out.Gone++
			case now.Hash == row.ASTHash && now.Value == row.Value:
				out.Rederived++
			default:
				out.Drifted++
			}
		}
		return nil
	})
}
