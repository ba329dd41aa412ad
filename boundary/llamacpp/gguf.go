package llamacpp

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"sakur4/boundary"
)

// header is what the cache's shape depends on in a model file.
type header struct {
	// Arch is general.architecture; Window the sliding attention window in tokens, 0 for none.
	Arch   string
	Window int
	// Recurrent says that the model keeps a recurrent state, alone or beside attention.
	Recurrent bool
	// Fixed says that what the cache holds cannot be moved to another position.
	Fixed bool
}

// readHeader reads the metadata of a GGUF file.
func readHeader(path string) (header, error) {
	f, err := os.Open(path)
	if err != nil {
		return header{}, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return header{}, fmt.Errorf("llamacpp: %s is no regular file", path)
	}
	return parseHeader(f)
}

// The value types of GGUF.
const (
	ggufString = 8
	ggufArray  = 9
)

// ggufSize holds the bytes of a value by type; 0 where the size varies.
var ggufSize = [...]int64{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}

// The bounds within which a header is believed.
const (
	maxKeys       = 1 << 16
	maxKeyBytes   = 1 << 12
	maxTextBytes  = 1 << 24
	maxArrayItems = 1 << 24
)

var errHeader = errors.New("llamacpp: not a GGUF header")

// parseHeader reads the key-value section and refuses what is out of bounds.
func parseHeader(r io.Reader) (header, error) {
	p := ggufReader{r: bufio.NewReaderSize(r, 1<<16)}
	if magic := p.bytes(4); string(magic) != "GGUF" {
		return header{}, fmt.Errorf("%w: magic %q", errHeader, magic)
	}
	if v := p.uint32(); v < 2 || v > 3 {
		return header{}, fmt.Errorf("%w: version %d", errHeader, v)
	}
	p.uint64() // tensors
	keys := p.uint64()
	if p.err == nil && keys > maxKeys {
		return header{}, fmt.Errorf("%w: %d keys", errHeader, keys)
	}
	var h header
	windows, axes := map[string]int{}, map[string]bool{}
	for range keys {
		key, kind := p.text(maxKeyBytes), p.uint32()
		if p.err != nil {
			break
		}
		switch {
		case key == "general.architecture" && kind == ggufString:
			h.Arch = p.text(maxKeyBytes)
			continue
		case strings.Contains(key, ".ssm."):
			h.Recurrent = true
		case strings.HasSuffix(key, ".attention.sliding_window"):
			if n, ok := p.integer(kind); ok {
				windows[strings.TrimSuffix(key, ".attention.sliding_window")] = n
				continue
			}
		case strings.HasSuffix(key, ".rope.dimension_sections") && kind == ggufArray:
			axes[strings.TrimSuffix(key, ".rope.dimension_sections")] = p.axes() > 1
			continue
		}
		p.skip(kind, 0)
		if p.err != nil {
			break
		}
	}
	if p.err != nil {
		return header{}, fmt.Errorf("%w: %w", errHeader, p.err)
	}
	if h.Arch == "" {
		return header{}, fmt.Errorf("%w: no general.architecture", errHeader)
	}
	h.Window = windows[h.Arch]
	h.Recurrent = h.Recurrent || recurrent(h.Arch)
	h.Fixed = axes[h.Arch] || fixed(h.Arch)
	if ignoresWindow(h.Arch) {
		h.Window = 0
	}
	return h, nil
}

// recurrent lists the architectures without an ssm key that keep a recurrent state.
func recurrent(arch string) bool {
	switch arch {
	case "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7", "lfm2", "lfm2moe", "minimax-01", "kimi-linear":
		return true
	}
	return false
}

// fixed lists the architectures that rotate each layer otherwise, so that llama.cpp moves nothing.
func fixed(arch string) bool { return arch == "step35" }

// ignoresWindow lists the architectures whose files may name a window that llama.cpp does not use.
func ignoresWindow(arch string) bool {
	switch arch {
	case "llama", "mistral3", "qwen2", "qwen2moe", "qwen3", "qwen3moe", "phi3", "phimoe", "starcoder2":
		return true
	}
	return false
}

// geometry turns a header into the shape of the cache. rule holds what is known of the settings.
func (h header) geometry(rule *boundary.CheckpointRule, vision bool) (boundary.Geometry, *boundary.CheckpointRule) {
	if h.Window == 0 && !h.Recurrent {
		g := boundary.Geometry{Kind: boundary.AnyToken}
		if !vision && !h.Fixed {
			g.Shift, g.MinChunk = true, 1
		}
		return g, nil
	}
	var r boundary.CheckpointRule
	if rule != nil {
		r = *rule
	}
	if r.Window == 0 && !h.Recurrent {
		r.Window = h.Window
	}
	r = r.WithDefaults()
	return boundary.Geometry{Kind: boundary.Points}, &r
}

// ggufReader reads little-endian values; the first error stays.
type ggufReader struct {
	r   *bufio.Reader
	buf [8]byte
	err error
}

func (p *ggufReader) bytes(n int) []byte {
	b := p.buf[:n]
	clear(b)
	if p.err == nil {
		_, p.err = io.ReadFull(p.r, b)
	}
	return b
}

func (p *ggufReader) uint32() uint32 { return binary.LittleEndian.Uint32(p.bytes(4)) }
func (p *ggufReader) uint64() uint64 { return binary.LittleEndian.Uint64(p.bytes(8)) }

func (p *ggufReader) text(limit uint64) string {
	n := p.uint64()
	if p.err == nil && n > limit {
		p.err = fmt.Errorf("text of %d bytes", n)
	}
	if p.err != nil {
		return ""
	}
	b := make([]byte, n)
	_, p.err = io.ReadFull(p.r, b)
	return string(b)
}

// integer reads a whole number of any width; ok is false, and nothing read, for other types.
func (p *ggufReader) integer(kind uint32) (n int, ok bool) {
	switch kind {
	case 4, 5:
		n = int(p.uint32())
	case 10, 11:
		n = int(p.uint64())
	default:
		return 0, false
	}
	if n < 0 || n > 1<<30 {
		n = 0
	}
	return n, true
}

// maxAxes bounds the axes of a position.
const maxAxes = 16

// axes reads past an array and returns how many of its whole numbers are not 0: positions with more than one axis are those of models that also see.
func (p *ggufReader) axes() (n int) {
	item, items := p.uint32(), p.uint64()
	if p.err == nil && items > maxAxes {
		p.err = fmt.Errorf("a position of %d axes", items)
	}
	for range items {
		if p.err != nil {
			break
		}
		v, ok := p.integer(item)
		if !ok {
			p.skip(item, 1)
		}
		if v > 0 {
			n++
		}
	}
	return n
}

// skip reads past one value.
func (p *ggufReader) skip(kind uint32, depth int) {
	switch {
	case p.err != nil:
	case kind == ggufString:
		p.discard(p.uint64(), maxTextBytes)
	case kind == ggufArray && depth < 4:
		item, n := p.uint32(), p.uint64()
		if p.err == nil && n > maxArrayItems {
			p.err = fmt.Errorf("array of %d items", n)
			return
		}
		if item < uint32(len(ggufSize)) && ggufSize[item] > 0 {
			p.discard(n*uint64(ggufSize[item]), maxArrayItems*8)
			return
		}
		for range n {
			if p.skip(item, depth+1); p.err != nil {
				return
			}
		}
	case kind < uint32(len(ggufSize)) && ggufSize[kind] > 0:
		p.discard(uint64(ggufSize[kind]), 8)
	default:
		p.err = fmt.Errorf("value of type %d", kind)
	}
}

func (p *ggufReader) discard(n, limit uint64) {
	if p.err == nil && n > limit {
		p.err = fmt.Errorf("value of %d bytes", n)
	}
	if p.err == nil {
		_, p.err = p.r.Discard(int(n))
	}
}
