package llamacpp

import (
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"time"

	"sakur4/internal/digest"
)

// weightSamples is how many places of a model file are looked at, weightBytes how much is read at each: enough to tell two trainings or two
// quantizations apart, little enough to be read whenever a file has changed.
const (
	weightSamples = 64
	weightBytes   = 4096
)

// weightsFile is a model file as it was when it was sampled.
type weightsFile struct {
	path     string
	size     int64
	modified time.Time
	id       string
}

// weights tells the model's weights from others of the same name and shape, where the server is on this machine and the file is readable; else it
// is "". The file's samples are kept as long as its size and time stay the same.
func (c *Client) weights(props Props) string {
	if !c.local() || !filepath.IsAbs(props.ModelPath) {
		return ""
	}
	fi, err := os.Stat(props.ModelPath)
	if err != nil || !fi.Mode().IsRegular() {
		return ""
	}
	c.mu.Lock()
	known := c.sampled
	c.mu.Unlock()
	if known.path == props.ModelPath && known.size == fi.Size() && known.modified.Equal(fi.ModTime()) {
		return known.id
	}
	id, err := sampleWeights(props.ModelPath, fi.Size())
	if err != nil {
		return ""
	}
	c.mu.Lock()
	c.sampled = weightsFile{props.ModelPath, fi.Size(), fi.ModTime(), id}
	c.mu.Unlock()
	return id
}

// sampleWeights returns the digest of the file's size and of samples that are spread evenly over it, the first and the last bytes among them.
func sampleWeights(path string, size int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() // It was only read.
	b := binary.LittleEndian.AppendUint64(nil, uint64(size))
	buf := make([]byte, weightBytes)
	for i := range int64(weightSamples) {
		at := max(size-weightBytes, 0) / (weightSamples - 1) * i
		if i == weightSamples-1 {
			at = max(size-weightBytes, 0)
		}
		n, err := f.ReadAt(buf, at)
		if err != nil && err != io.EOF {
			return "", err
		}
		b = append(b, buf[:n]...)
	}
	return digest.OfBytes(b).String()[:16], nil
}
