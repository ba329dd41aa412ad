package sourcefile

import (
	"go/build"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// GoTrees returns the sources of the Go distribution that is installed here, and the module cache: nil where there is none. Nothing is run to find them, and they
// are only read.
func GoTrees() (std, cache fs.FS) {
	for _, root := range []string{build.Default.GOROOT, besideGo()} {
		if dir := filepath.Join(root, "src"); std == nil && root != "" && isDir(filepath.Join(dir, "fmt")) {
			std = os.DirFS(dir)
		}
	}
	dir := os.Getenv("GOMODCACHE")
	if paths := filepath.SplitList(build.Default.GOPATH); dir == "" && len(paths) > 0 {
		dir = filepath.Join(paths[0], "pkg", "mod")
	}
	if dir != "" && isDir(dir) {
		cache = os.DirFS(dir)
	}
	return std, cache
}

// besideGo returns the folder of the distribution that the go command on the path belongs to.
func besideGo() string {
	p, err := exec.LookPath("go")
	if err != nil {
		return ""
	}
	if p, err = filepath.EvalSymlinks(p); err != nil {
		return ""
	}
	return filepath.Dir(filepath.Dir(p))
}

func isDir(p string) bool {
	info, err := os.Stat(p)
	return err == nil && info.IsDir()
}
