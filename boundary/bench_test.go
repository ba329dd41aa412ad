package boundary_test

import (
	"testing"

	"sakur4/boundary"
)

func BenchmarkCache(b *testing.B) {
	for name, p := range map[string]boundary.Profile{
		"full-100k": fullAttention(), "sliding-100k": sliding(boundary.CheckpointRule{Window: 1024}),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			c := boundary.NewCache(p)
			c.Accept(run(0, 100_000), []int{0, 50_000, 90_000}, 0)
			next := run(0, 101_000)
			for b.Loop() {
				r := c.Predict(next, 0)
				c.Accept(next, []int{0, 50_000, 90_000, 100_000}, 0)
				c.Observe(r.Reused, r.Reused)
			}
		})
	}
}
