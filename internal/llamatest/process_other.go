//go:build !unix

package llamatest

import "os/exec"

func command(binary string, args []string) *exec.Cmd {
	return exec.Command(binary, args...)
}

func killGroup(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // fails only when it has ended already
}
