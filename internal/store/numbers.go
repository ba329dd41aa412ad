package store

import "strconv"

// numberList returns the parameter of json_each that lists numbers: one statement looks all of them up.
func numberList(list []int64) string {
	b := make([]byte, 0, 2+8*len(list))
	b = append(b, '[')
	for i, n := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return string(append(b, ']'))
}
