package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// The bounds of a command.
const (
	commandTimeout = 2 * time.Minute
	killDelay      = 5 * time.Second
)

// runCommand is not confined: that is what -allow-exec allows.
func (a *agent) runCommand(ctx context.Context, args json.RawMessage) (string, error) {
	var in struct {
		Command string `json:"command"`
	}
	if err := decode(args, &in); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", in.Command)
	cmd.Dir = a.cfg.root
	cmd.WaitDelay = killDelay
	var out bounded
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return "", err
	}
	if ctx.Err() != nil {
		return out.kept.String() + "\n" + ctx.Err().Error(), nil
	}
	return fmt.Sprintf("%s\nexit status %d", strings.TrimRight(out.kept.String(), "\n"), cmd.ProcessState.ExitCode()), nil
}

// bounded keeps the beginning of what is written to it, up to the size of a file that can be read. It lets the writer go on.
// The buffer is a field: embedded, its ReadFrom would get round the bound.
type bounded struct{ kept bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	b.kept.Write(p[:min(len(p), maxFileBytes-b.kept.Len())])
	return len(p), nil
}
