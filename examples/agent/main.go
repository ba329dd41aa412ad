package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// streams are the agent's ends to the world.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func main() {
	os.Exit(run(context.Background(), os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// run is the program: 0 is success, 1 a failure or a promise that did not hold, 2 wrong usage.
func run(ctx context.Context, args []string, std streams) int {
	name := ""
	if len(args) > 0 && command(args[0]) != nil {
		name, args = args[0], args[1:]
	}
	cfg, err := parseFlags(name, args, std.err)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(std.err, "agent:", err)
		return 2
	}
	if name != "" {
		err = command(name)(ctx, cfg, std)
	} else {
		err = work(ctx, cfg, std)
	}
	if err != nil {
		fmt.Fprintln(std.err, "agent:", err)
		return 1
	}
	return 0
}

// work runs the policy over a session, and fails where a promise did not hold.
func work(ctx context.Context, cfg config, std streams) error {
	a, err := open(ctx, cfg, std)
	if err != nil {
		return err
	}
	policy := a.explore
	if a.cfg.policy == policyModel {
		policy = a.converse
	}
	err = policy(ctx)
	// What was proven is said also where the run ended early.
	held, sumErr := a.summarize(context.WithoutCancel(ctx))
	err = errors.Join(err, sumErr, a.close())
	if err == nil && !held {
		err = errors.New("a promise did not hold, see the summary")
	}
	return err
}
