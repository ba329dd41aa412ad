package llamacpp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// fields builds a JSON object out of raw values, byte for byte as they were given. The first value of a key wins.
type fields struct {
	buf  bytes.Buffer
	seen map[string]bool
}

// add writes one field unless value is empty or the key is there already.
func (f *fields) add(key string, value json.RawMessage) {
	if len(value) == 0 || f.seen[key] {
		return
	}
	if f.seen == nil {
		f.seen = make(map[string]bool)
	}
	f.seen[key] = true
	if f.buf.Len() > 0 {
		f.buf.WriteByte(',')
	}
	name, _ := json.Marshal(key)
	f.buf.Write(name)
	f.buf.WriteByte(':')
	f.buf.Write(value)
}

// addText adds a string unless it is empty.
func (f *fields) addText(key, value string) {
	if value == "" {
		return
	}
	b, _ := json.Marshal(value)
	f.add(key, b)
}

// merge adds the fields of a JSON object in their order.
func (f *fields) merge(object json.RawMessage) error {
	if len(object) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil {
		return fmt.Errorf("llamacpp: fields: %w", err)
	} else if t != json.Delim('{') {
		return errors.New("llamacpp: fields: not a JSON object")
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return fmt.Errorf("llamacpp: fields: %w", err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return fmt.Errorf("llamacpp: fields: %v: %w", key, err)
		}
		f.add(key.(string), value)
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("llamacpp: fields: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("llamacpp: fields: text behind the JSON object")
	}
	return nil
}

func (f *fields) body() []byte {
	return append(append([]byte{'{'}, f.buf.Bytes()...), '}')
}
