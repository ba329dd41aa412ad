package digest_test

import (
	"fmt"
	"strings"
	"testing"

	"sakur4/internal/digest"
)

func BenchmarkOf(b *testing.B) {
	for _, n := range []int{64, 2048, 1 << 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := strings.Repeat("x", n)
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				digest.Of(s)
			}
		})
	}
}
