//go:build unix

package llamatest

import (
	"os"
	"os/exec"
	"syscall"
)

// watch starts its arguments and ends the whole process group when standard input closes. The write end belongs to the test process, so the server
// also ends when that process is killed or times out, which runs no clean-up.
const watch = `exec 3<&0 </dev/null; { read -r _ <&3; kill -9 -$$; } & exec "$@" 3<&-`

func command(binary string, args []string) *exec.Cmd {
	cmd := exec.Command("/bin/sh", append([]string{"-c", watch, "sh", binary}, args...)...)
	// Several servers share few cores in tests: threads that spin while they wait make every prompt several times slower.
	cmd.Env = append(os.Environ(), "OMP_WAIT_POLICY=passive")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // fails only when it has ended already
}
