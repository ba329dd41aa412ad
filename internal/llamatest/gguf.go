package llamatest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// The value types of GGUF metadata that the writer needs.
const (
	ggufUint32  uint32 = 4
	ggufInt32   uint32 = 5
	ggufFloat32 uint32 = 6
	ggufBool    uint32 = 7
	ggufString  uint32 = 8
	ggufArray   uint32 = 9
)

// ggufAlignment is the default alignment of tensor data, in bytes.
const ggufAlignment = 32

// ggufTensor is one F32 tensor: its name, its dimensions (innermost first) and a source of its values.
type ggufTensor struct {
	name string
	dims []int
	// row gives the values of row r (all dimensions but the innermost, flattened) by filling dst.
	row func(r int, dst []float32)
}

func (t ggufTensor) rows() int {
	n := 1
	for _, d := range t.dims[1:] {
		n *= d
	}
	return n
}

func (t ggufTensor) bytes() uint64 {
	return uint64(t.rows()) * uint64(t.dims[0]) * 4
}

// ggufFile collects metadata and tensors in the order in which they are written.
type ggufFile struct {
	keys    uint64
	meta    []byte
	tensors []ggufTensor
}

func (f *ggufFile) key(name string, kind uint32) {
	f.keys++
	f.meta = appendString(f.meta, name)
	f.meta = binary.LittleEndian.AppendUint32(f.meta, kind)
}

func (f *ggufFile) setUint32(name string, v int) {
	f.key(name, ggufUint32)
	f.meta = binary.LittleEndian.AppendUint32(f.meta, uint32(v))
}

func (f *ggufFile) setFloat32(name string, v float32) {
	f.key(name, ggufFloat32)
	f.meta = binary.LittleEndian.AppendUint32(f.meta, math.Float32bits(v))
}

func (f *ggufFile) setBool(name string, v bool) {
	f.key(name, ggufBool)
	if v {
		f.meta = append(f.meta, 1)
	} else {
		f.meta = append(f.meta, 0)
	}
}

func (f *ggufFile) setString(name, v string) {
	f.key(name, ggufString)
	f.meta = appendString(f.meta, v)
}

func (f *ggufFile) setStrings(name string, v []string) {
	f.key(name, ggufArray)
	f.meta = binary.LittleEndian.AppendUint32(f.meta, ggufString)
	f.meta = binary.LittleEndian.AppendUint64(f.meta, uint64(len(v)))
	for _, s := range v {
		f.meta = appendString(f.meta, s)
	}
}

func (f *ggufFile) setInt32s(name string, v []int32) {
	f.key(name, ggufArray)
	f.meta = binary.LittleEndian.AppendUint32(f.meta, ggufInt32)
	f.meta = binary.LittleEndian.AppendUint64(f.meta, uint64(len(v)))
	for _, n := range v {
		f.meta = binary.LittleEndian.AppendUint32(f.meta, uint32(n))
	}
}

// write writes the file as GGUF version 3. Each tensor's rows are asked for in order, once.
func (f *ggufFile) write(w io.Writer) error {
	out := &countingWriter{w: bufio.NewWriterSize(w, 1<<18)}
	head := []byte("GGUF")
	head = binary.LittleEndian.AppendUint32(head, 3)
	head = binary.LittleEndian.AppendUint64(head, uint64(len(f.tensors)))
	head = binary.LittleEndian.AppendUint64(head, f.keys)
	out.write(head)
	out.write(f.meta)

	var info []byte
	var offset uint64
	for _, t := range f.tensors {
		info = appendString(info, t.name)
		info = binary.LittleEndian.AppendUint32(info, uint32(len(t.dims)))
		for _, d := range t.dims {
			info = binary.LittleEndian.AppendUint64(info, uint64(d))
		}
		info = binary.LittleEndian.AppendUint32(info, 0) // F32
		info = binary.LittleEndian.AppendUint64(info, offset)
		offset = align(offset + t.bytes())
	}
	out.write(info)
	out.pad()

	var raw []byte
	for _, t := range f.tensors {
		values := make([]float32, t.dims[0])
		for r := range t.rows() {
			t.row(r, values)
			raw = raw[:0]
			for _, v := range values {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
			}
			out.write(raw)
		}
		out.pad()
	}
	if out.err == nil {
		out.err = out.w.Flush()
	}
	if out.err != nil {
		return fmt.Errorf("llamatest: write model: %w", out.err)
	}
	return nil
}

// countingWriter keeps the position for the padding, and the first error.
type countingWriter struct {
	w   *bufio.Writer
	n   uint64
	err error
}

func (c *countingWriter) write(p []byte) {
	if c.err != nil {
		return
	}
	n, err := c.w.Write(p)
	c.n += uint64(n)
	c.err = err
}

func (c *countingWriter) pad() {
	c.write(make([]byte, align(c.n)-c.n))
}

func align(n uint64) uint64 {
	return (n + ggufAlignment - 1) / ggufAlignment * ggufAlignment
}

func appendString(b []byte, s string) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(len(s)))
	return append(b, s...)
}
