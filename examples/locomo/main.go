package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "locomo:", err)
		os.Exit(1)
	}
}

// run is the command.
func run(ctx context.Context, args []string, out, diagnostics io.Writer) (err error) {
	flags := flag.NewFlagSet("locomo", flag.ContinueOnError)
	flags.SetOutput(diagnostics)
	in := flags.String("in", "", "the `file` with the conversations")
	asJSON := flags.Bool("json", false, "print JSON")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if *in == "" || flags.NArg() > 0 {
		return fmt.Errorf("usage: locomo -in FILE [-json]")
	}
	data, err := os.ReadFile(*in)
	if err != nil {
		return err
	}
	conversations, err := parse(data)
	if err != nil {
		return fmt.Errorf("%s: %w", *in, err)
	}
	folder, err := os.MkdirTemp("", "locomo")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	result, err := measure(ctx, filepath.Join(folder, "store.db"), conversations)
	if err != nil {
		return err
	}
	if *asJSON {
		return json.NewEncoder(out).Encode(result)
	}
	return table(out, result)
}

// table prints the numbers for people.
func table(out io.Writer, r Result) error {
	if _, err := fmt.Fprintf(out, "%-12s %5s %6s %6s %6s %6s\n", "category", "n", "r@5", "r@10", "r@20", "MRR"); err != nil {
		return err
	}
	row := func(name string, s Scores) error {
		_, err := fmt.Fprintf(out, "%-12s %5d %6.3f %6.3f %6.3f %6.3f\n", name, s.N, s.R5, s.R10, s.R20, s.MRR)
		return err
	}
	var names []string
	for name := range r.Categories {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := row(name, r.Categories[name]); err != nil {
			return err
		}
	}
	return row("overall", r.Overall)
}
