package sakur4_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"sakur4"
)

// noise gives each text a direction of its own, in as many numbers as small models have.
type noise struct{}

const noiseDim = 384

func (noise) Model() string { return "noise" }
func (noise) Dim() int      { return noiseDim }

func (noise) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		h := fnv.New64a()
		_, _ = h.Write([]byte(text)) // never fails
		r := rand.New(rand.NewPCG(h.Sum64(), 1))
		out[i] = make([]float32, noiseDim)
		for j := range out[i] {
			out[i][j] = r.Float32() - 0.5
		}
	}
	return out, nil
}

// BenchmarkRecallDense asks as BenchmarkRecall does, with an embedder that takes no time. Between the questions it compares one vector with as many of
// full numbers, one by one: as little as an exact search can do.
func BenchmarkRecallDense(b *testing.B) {
	for _, episodes := range recallSizes() {
		b.Run(fmt.Sprintf("episodes=%d", episodes), func(b *testing.B) {
			ctx := b.Context()
			path := storePath(b)
			eng, err := sakur4.Open(ctx, path, &sakur4.Options{Project: "p"})
			if err != nil {
				b.Fatal(err)
			}
			l := newLanguage(2)
			fill(b, eng, episodes, func() string { return l.text(100 + l.random.IntN(300)) })
			if err := eng.Close(); err != nil {
				b.Fatal(err)
			}
			if eng, err = sakur4.Open(ctx, path, &sakur4.Options{Project: "p", Embedder: noise{}}); err != nil {
				b.Fatal(err)
			}
			defer eng.Close()
			if _, err := eng.Embed(ctx, nil); err != nil {
				b.Fatal(err)
			}
			full := make([]float32, episodes*noiseDim)
			for i := range full {
				full[i] = l.random.Float32() - 0.5
			}
			start := time.Now()
			if _, err := eng.Recall(ctx, sakur4.Query{Text: l.word(5)}); err != nil { // completes the index and reads the vectors
				b.Fatal(err)
			}
			first := time.Since(start)
			var ours, floor []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				query := l.text(60)
				start := time.Now()
				if _, err := eng.Recall(ctx, sakur4.Query{Text: query}); err != nil {
					b.Fatal(err)
				}
				ours = append(ours, time.Since(start))
				q := full[:noiseDim]
				start = time.Now()
				var best float32
				for i := 0; i < len(full); i += noiseDim {
					var sum float32
					for j, x := range full[i : i+noiseDim] {
						sum += x * q[j]
					}
					best = max(best, sum)
				}
				floor = append(floor, time.Since(start))
				if best == 0 {
					b.Fatal("the floor has compared nothing")
				}
			}
			slices.Sort(ours)
			slices.Sort(floor)
			p50, least := ours[len(ours)/2], floor[len(floor)/2]
			b.ReportMetric(float64(p50.Microseconds())/1e3, "p50-ms")
			b.ReportMetric(float64(least.Microseconds())/1e3, "floor-p50-ms")
			b.ReportMetric(float64(p50)/float64(least), "p50-ratio")
			b.ReportMetric(float64(first.Microseconds())/1e3, "first-ms")
		})
	}
}
