package tokens_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer/codec"

	"sakur4/internal/tokens"
)

// benchTexts are the kinds of text that a session holds, about 64 KB each.
func benchTexts() map[string]string {
	fill := func(s string) string { return strings.Repeat(s, 1+65536/len(s)) }
	return map[string]string{
		"go":    fill("func (s *Server) handle(w http.ResponseWriter, r *http.Request) error {\n\tid, err := parseID(r.URL.Path)\n\tif err != nil {\n\t\treturn fmt.Errorf(\"bad id %q: %w\", r.URL.Path, err)\n\t}\n\n\t// Look the row up before the lock is taken.\n\treturn s.write(w, s.rows[id])\n}\n\n"),
		"prose": fill("The harbour lay quiet under the early fog, and only the bell of the lightship told the pilots where the channel began. Nobody had expected the letter; it came on a Tuesday, unsigned. "),
		"json":  fill(`{"id":48213,"name":"node-07","tags":["edge","eu-west"],"load":[0.42,1.07,0.93],"ok":true,"note":null},` + "\n"),
		"cjk":   fill("港は早朝の霧に静まり返り、灯台船の鐘だけが水路の入口を告げていた。信件在星期二寄到，没有署名。항구는 조용했다. "),
		"log":   fill("2031-04-09T11:22:33.123Z WARN  worker[17] retry 3/5: dial tcp 10.0.0.7:5432: connect: connection refused (took 1.204s)\n"),
	}
}

func BenchmarkCount(b *testing.B) {
	texts := benchTexts()
	for _, kind := range []string{"go", "prose", "json", "cjk", "log"} {
		for _, enc := range []*tokens.Encoding{tokens.O200k(), tokens.CL100k()} {
			b.Run(kind+"/"+enc.Name(), func(b *testing.B) {
				s := texts[kind]
				b.SetBytes(int64(len(s)))
				b.ReportAllocs()
				for b.Loop() {
					enc.Count(s)
				}
			})
		}
		for _, c := range []*codec.Codec{codec.NewO200kBase(), codec.NewCl100kBase()} {
			b.Run(kind+"/"+c.GetName()+"/tiktoken-go", func(b *testing.B) {
				s := texts[kind]
				b.SetBytes(int64(len(s)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := c.Count(s); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// small is a tool result of about 2 KB with that many values: lines of a log, or the answer of a service.
func small(facts int) string {
	words := func(bytes int) string {
		var b strings.Builder
		for b.Len() < bytes {
			fmt.Fprintf(&b, "%5d  the worker of shard %d waits for its channel; ", b.Len(), 17)
		}
		return b.String()[:bytes]
	}
	if facts == 0 {
		return strings.ReplaceAll(words(2000), "; ", "\n")
	}
	var b strings.Builder
	b.WriteString("{")
	for j := range facts {
		if j > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `"key%d": %q`, j, words(1980/facts-12))
	}
	b.WriteString("}")
	return b.String()
}

// BenchmarkCountSmall counts results of about 2 KB, as an agent's tools give most of theirs.
func BenchmarkCountSmall(b *testing.B) {
	enc := tokens.O200k() // which reads its vocabulary
	for _, facts := range []int{0, 1, 20} {
		b.Run(fmt.Sprintf("facts=%d", facts), func(b *testing.B) {
			s := small(facts)
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				enc.Count(s)
			}
		})
	}
}

// BenchmarkRuns counts a megabyte of one character or pair of them, the worst that a tool can print.
func BenchmarkRuns(b *testing.B) {
	for _, r := range []struct{ name, of string }{
		{"a", "a"}, {"newline", "\n"}, {"space", " "}, {"space-newline", " \n"}, {"equals", "="}, {"emoji", "😀"}, {"cjk", "中"}, {"mark", "\u0301"}, {"aB", "aB"}, {"zero", "0"}, {"bad-byte", "\xff"},
	} {
		b.Run(r.name, func(b *testing.B) {
			s := strings.Repeat(r.of, (1<<20)/len(r.of))
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				tokens.O200k().Count(s)
			}
		})
	}
}
