// Command tinymodel writes a tiny model of random weights that llama-server loads, for trying things by hand.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"sakur4/internal/llamatest"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "tinymodel:", err)
		os.Exit(1)
	}
}

func run() error {
	var names []string
	for _, t := range llamatest.Templates() {
		names = append(names, t.Name)
	}
	var (
		out      = flag.String("o", "", "file to write (required)")
		arch     = flag.String("arch", "full", "attention: full, sliding or axes")
		vocab    = flag.String("vocab", "bytes", "vocabulary: bytes, cl100k or o200k")
		template = flag.String("template", "chatml", "chat template: "+strings.Join(names, ", ")+", simulated, or @FILE")
		context  = flag.Int("context", llamatest.DefaultContext, "context in tokens")
		window   = flag.Int("window", llamatest.DefaultSlidingWindow, "sliding window in tokens")
		layers   = flag.Int("layers", 2, "number of layers")
		seed     = flag.Uint64("seed", 0, "seed of the weights")
	)
	flag.Parse()
	if *out == "" || flag.NArg() > 0 {
		flag.Usage()
		return fmt.Errorf("-o FILE is required, further arguments are not accepted")
	}
	text, ok := llamatest.TemplateNamed(*template)
	if file, isFile := strings.CutPrefix(*template, "@"); isFile {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text, ok = string(b), true
	}
	if !ok {
		return fmt.Errorf("unknown template %q", *template)
	}
	return llamatest.ModelFile(*out, llamatest.Model{
		Arch: llamatest.Arch(*arch), Vocab: llamatest.Vocab(*vocab), Template: text,
		Context: *context, SlidingWindow: *window, Layers: *layers, Seed: *seed,
	})
}
