package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program: 0 is success, 1 a failure, 2 wrong usage.
func run(ctx context.Context, args []string, out, diagnostics io.Writer) int {
	cfg, err := parseFlags(args, diagnostics)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(diagnostics, "replay:", err)
		return 2
	}
	if err := compare(ctx, cfg, out, diagnostics); err != nil {
		fmt.Fprintln(diagnostics, "replay:", err)
		return 1
	}
	return 0
}

// compare runs every policy over every session. A policy that fails on one does not keep the others from it; all failures are returned.
func compare(ctx context.Context, cfg config, out, diagnostics io.Writer) error {
	files, err := sessionFiles(cfg.in)
	if err != nil {
		return err
	}
	report := newReport(cfg, out)
	var failed []error
	for _, file := range files {
		s, err := readSession(ctx, file, cfg)
		if err != nil {
			return err
		}
		for _, left := range s.leftOut {
			fmt.Fprintf(diagnostics, "replay: %s\n", left)
		}
		for _, name := range cfg.policies {
			r, err := one(ctx, cfg, name, s, diagnostics)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("%s on %s: %w", name, file, err))
				continue
			}
			if err := report.add(r); err != nil {
				return err
			}
		}
	}
	return errors.Join(append(failed, report.close())...)
}

// one runs one policy over one session, on a server whose slot is empty.
func one(ctx context.Context, cfg config, name string, s *session, diagnostics io.Writer) (_ result, err error) {
	srv, err := openServer(ctx, cfg)
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, srv.close()) }()
	p, err := openPolicy(ctx, cfg, name, srv, s)
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	r := newReplay(cfg, name, s, srv, p, time.Now)
	before, err := srv.counters(ctx)
	if err != nil {
		return result{}, err
	}
	if err := r.all(ctx); err != nil {
		return result{}, err
	}
	counted, err := srv.counters(ctx)
	if err != nil {
		return result{}, err
	}
	if before != nil && counted != nil {
		*counted = counted.since(*before)
	}
	say := func(format string, args ...any) {
		if cfg.llama != "" {
			fmt.Fprintf(diagnostics, "replay: %s on %s: %s\n", name, s.file, fmt.Sprintf(format, args...))
		}
	}
	for _, d := range r.differences {
		say("%s", d)
	}
	say("%d of %d requests reused what the model of the cache predicts", r.requests-len(r.differences), r.requests)
	var receipts *counters
	if e, ok := p.(*engine); ok {
		sum, all, right, err := e.receipts(ctx)
		if err != nil {
			return result{}, err
		}
		receipts = &sum
		say("%d of %d receipts predicted what the server measured", right, all)
	}
	return r.result, r.checkSums(diagnostics, receipts, counted)
}
