package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"sakur4"
)

// maxTask bounds a line that the user writes, in bytes.
const maxTask = 1 << 20

// converse works on the task of the flags, or else on one task a line until the input ends.
func (a *agent) converse(ctx context.Context) error {
	if a.cfg.task != "" {
		return a.do(ctx, a.cfg.task)
	}
	// A run that was killed may have left a turn unanswered.
	if err := a.interruptible(ctx); !errors.Is(err, sakur4.ErrNoTurn) {
		if err := a.goesOn(ctx, err); err != nil {
			return err
		}
	}
	lines := bufio.NewScanner(a.in)
	lines.Buffer(nil, maxTask)
	for a.prompt(); lines.Scan(); a.prompt() {
		task := strings.TrimSpace(lines.Text())
		switch {
		case task == "":
			continue
		case task == "/quit" || task == "/exit":
			return nil
		}
		if err := a.goesOn(ctx, a.do(ctx, task)); err != nil {
			return err
		}
	}
	return lines.Err()
}

// goesOn reports the end of a task after which the conversation goes on; other errors are returned.
func (a *agent) goesOn(ctx context.Context, err error) error {
	for _, known := range []error{errInterrupted, errTurnLimit, errRepeats, errSaidNothing} {
		if errors.Is(err, known) && ctx.Err() == nil {
			fmt.Fprintln(a.err, "agent:", err)
			return nil
		}
	}
	return err
}

func (a *agent) prompt() {
	if !a.cfg.json {
		fmt.Fprint(a.out, "\n> ")
	}
}

// do records a task and works on it.
func (a *agent) do(ctx context.Context, task string) error {
	c, err := a.commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: task})
	if err != nil {
		return err
	}
	for _, p := range c.PinProposals {
		if !a.cfg.json {
			fmt.Fprintf(a.out, "(this sounds like a rule; memory_pin would keep it in every prompt: %q)\n", p.Text)
		}
	}
	return a.interruptible(ctx)
}

// interruptible works on what waits until Ctrl-C. Only while the agent works is Ctrl-C caught: at the prompt it ends the program, which loses
// nothing, because everything that was said is in the store.
func (a *agent) interruptible(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	return a.answer(ctx)
}
