package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"text/tabwriter"
)

// report writes results: JSON as they come, the table and the picture at the end.
type report struct {
	cfg     config
	out     io.Writer
	results []result
}

func newReport(cfg config, out io.Writer) *report { return &report{cfg: cfg, out: out} }

func (r *report) add(res result) error {
	r.results = append(r.results, res)
	if !r.cfg.json {
		return nil
	}
	b, err := json.Marshal(res)
	if err != nil {
		return err
	}
	_, err = r.out.Write(append(b, '\n'))
	return err
}

func (r *report) close() error {
	if len(r.results) == 0 {
		return nil
	}
	if !r.cfg.json {
		if err := r.table(); err != nil {
			return err
		}
	}
	if r.cfg.svg == "" {
		return nil
	}
	var b bytes.Buffer
	if err := writeSVG(&b, r.cfg, r.results); err != nil {
		return err
	}
	return os.WriteFile(r.cfg.svg, b.Bytes(), 0o644)
}

// table prints the results for people.
func (r *report) table() error {
	w := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	file := ""
	for _, s := range r.results {
		if s.File != file {
			if file != "" {
				fmt.Fprintln(w)
			}
			file = s.File
			fmt.Fprintf(w, "%s: window %d, trigger %s, target %s\n", filepath.Base(file), s.Window, percent(r.cfg.trigger), percent(r.cfg.target))
			fmt.Fprint(w, "policy\tnew\tprompts\tprefilled\tratio\treuse at compactions\tcompactions\tverbatim\thit\trecall\teither\tpins\tinvalid\tseconds\t")
			if r.cfg.oracle {
				fmt.Fprint(w, "hit below oracle\tprefilled again\t")
			}
			fmt.Fprintln(w)
		}
		reuse := "-"
		if s.CompactionReuse != nil {
			reuse = percent(*s.CompactionReuse)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.2f\t%s\t%d\t%s\t%.3f\t%.3f\t%.3f\t%s\t%d\t%.1f\t", s.Policy, s.NewTokens, s.PromptTokens, s.PrefilledTokens, s.PrefillRatio,
			reuse, s.Compactions, percent(s.VerbatimShare), s.WorkingSetHit, s.RecallHit, s.eitherHit, percent(s.PinsVerbatim), s.InvalidChats, s.Seconds)
		if r.cfg.oracle {
			below := "-"
			for _, o := range r.results {
				if o.Policy == oracleName && o.File == s.File {
					below = fmt.Sprintf("%.3f", o.WorkingSetHit-s.WorkingSetHit)
				}
			}
			fmt.Fprintf(w, "%s\t%.2f\t", below, s.PrefillRatio-1)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// percent writes a share with one decimal at most.
func percent(share float64) string {
	return strconv.FormatFloat(math.Round(share*1000)/10, 'f', -1, 64) + "%"
}
