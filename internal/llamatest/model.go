package llamatest

import (
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"strings"
)

// Arch is the kind of attention, which decides how a server can rewind its cache.
type Arch string

const (
	// Full attention: the cache can be rewound to any token.
	Full Arch = "full"
	// Sliding window attention in all layers: the cache can be rewound to checkpoints.
	Sliding Arch = "sliding"
	// Axes is full attention whose positions have several axes, as models that also see have them: the cache can be rewound to any token, and nothing in it
	// can be moved.
	Axes Arch = "axes"
)

// Vocab names a vocabulary.
type Vocab string

const (
	// Bytes is a small vocabulary of 256 bytes and some common pieces. Its model is about half a megabyte.
	Bytes Vocab = "bytes"
	// CL100k and O200k are the vocabularies cl100k_base and o200k_base, for realistic counts. The ids of ordinary tokens are those of the encoding.
	// Their models are 26 and 51 megabytes, and take a second to write.
	CL100k Vocab = "cl100k"
	O200k  Vocab = "o200k"
)

// Defaults of [Model].
const (
	// DefaultContext is the context in tokens that the file says the model was trained with.
	DefaultContext = 131072
	// DefaultSlidingWindow is the window of a [Sliding] model in tokens. It is as small as one batch, so that short tests need checkpoints.
	DefaultSlidingWindow = 512
)

// Model describes a tiny model. The zero value is a [Full] attention model with the [Bytes] vocabulary and the [ChatML] template.
// Equal values give equal files.
type Model struct {
	// Arch is the kind of attention; "" means Full.
	Arch Arch
	// Vocab is the vocabulary; "" means Bytes.
	Vocab Vocab
	// Template is the Jinja text of the chat template; "" means ChatML.
	Template string
	// Context is the context in tokens that the model was trained with; 0 means DefaultContext.
	Context int
	// SlidingWindow is the window of a Sliding model in tokens; 0 means DefaultSlidingWindow. A Full model ignores it.
	SlidingWindow int
	// Layers is the number of layers; 0 means 2. One is twice as fast on long prompts, but its keys and values do not depend on what stands
	// before, so a shifted cache would be exact, which it is not with real models.
	Layers int
	// Seed of the weights.
	Seed uint64
}

func (m Model) withDefaults() Model {
	if m.Arch == "" {
		m.Arch = Full
	}
	if m.Vocab == "" {
		m.Vocab = Bytes
	}
	if m.Template == "" {
		m.Template = ChatML
	}
	if m.Context == 0 {
		m.Context = DefaultContext
	}
	if m.Layers == 0 {
		m.Layers = 2
	}
	if m.SlidingWindow == 0 {
		m.SlidingWindow = DefaultSlidingWindow
	}
	return m
}

// The size of the network. Attention over long prompts dominates, so there is a single narrow head.
const (
	width   = 64
	hidden  = 64
	headDim = 16
)

// marks are texts that are control tokens of a model if its template uses them.
var marks = []string{"<start_of_turn>", "<end_of_turn>", "[INST]", "[/INST]"}

// WriteModel writes m as a GGUF file.
func WriteModel(w io.Writer, m Model) error {
	m = m.withDefaults()
	arch := ""
	switch m.Arch {
	case Full:
		arch = "llama"
	case Sliding:
		arch = "gemma3"
	case Axes:
		arch = "qwen3vl"
	default:
		return fmt.Errorf("llamatest: unknown architecture %q", m.Arch)
	}
	v, err := vocabularyOf(m.Vocab)
	if err != nil {
		return err
	}
	end := v.addControl("<|endoftext|>")
	v.addControl("<|im_start|>")
	stop := v.addControl("<|im_end|>")
	for _, mark := range marks {
		if strings.Contains(m.Template, mark) {
			id := v.addControl(mark)
			if mark == "<end_of_turn>" {
				stop = id
			}
		}
	}

	var f ggufFile
	f.setString("general.architecture", arch)
	f.setString("general.name", "tiny "+string(m.Arch)+" "+string(m.Vocab))
	f.setUint32(arch+".vocab_size", len(v.tokens))
	f.setUint32(arch+".context_length", m.Context)
	f.setUint32(arch+".embedding_length", width)
	f.setUint32(arch+".block_count", m.Layers)
	f.setUint32(arch+".feed_forward_length", hidden)
	f.setUint32(arch+".attention.head_count", 1)
	f.setUint32(arch+".attention.head_count_kv", 1)
	f.setUint32(arch+".attention.key_length", headDim)
	f.setUint32(arch+".attention.value_length", headDim)
	f.setFloat32(arch+".attention.layer_norm_rms_epsilon", 1e-6)
	f.setFloat32(arch+".rope.freq_base", 10000)
	f.setUint32(arch+".rope.dimension_count", headDim)
	switch m.Arch {
	case Sliding:
		f.setUint32(arch+".attention.sliding_window", m.SlidingWindow)
	case Axes:
		f.setInt32s(arch+".rope.dimension_sections", []int32{headDim / 4, headDim / 8, headDim / 8, 0})
	}
	f.setString("tokenizer.ggml.model", "gpt2")
	f.setString("tokenizer.ggml.pre", v.pre)
	f.setStrings("tokenizer.ggml.tokens", v.tokens)
	f.setInt32s("tokenizer.ggml.token_type", v.types)
	f.setStrings("tokenizer.ggml.merges", v.merges)
	f.setUint32("tokenizer.ggml.bos_token_id", end)
	f.setUint32("tokenizer.ggml.eos_token_id", stop)
	f.setBool("tokenizer.ggml.add_bos_token", false)
	f.setString("tokenizer.chat_template", m.Template)
	f.tensors = tensors(m, &v)
	return f.write(w)
}

// ModelFile writes m to a new file at path.
func ModelFile(path string, m Model) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("llamatest: %w", err)
	}
	defer func() {
		if e := file.Close(); e != nil && err == nil {
			err = fmt.Errorf("llamatest: %w", e)
		}
	}()
	return WriteModel(file, m)
}

func tensors(m Model, v *vocabulary) []ggufTensor {
	list := []ggufTensor{embedding(m, v), ones("output_norm.weight", width)}
	for i := range m.Layers {
		name := func(s string) string { return fmt.Sprintf("blk.%d.%s.weight", i, s) }
		list = append(list,
			ones(name("attn_norm"), width),
			random(m, name("attn_q"), width, headDim),
			random(m, name("attn_k"), width, headDim),
			random(m, name("attn_v"), width, headDim),
			random(m, name("attn_output"), headDim, width),
			ones(name("ffn_norm"), width),
			random(m, name("ffn_gate"), width, hidden),
			random(m, name("ffn_up"), width, hidden),
			random(m, name("ffn_down"), hidden, width),
		)
		if m.Arch != Full {
			list = append(list,
				ones(name("attn_q_norm"), headDim),
				ones(name("attn_k_norm"), headDim),
			)
		}
		if m.Arch == Sliding {
			list = append(list,
				ones(name("post_attention_norm"), width),
				ones(name("post_ffw_norm"), width),
			)
		}
	}
	return list
}

// embedding serves as the output matrix too. Rows of control tokens and of bytes that are no words are small, so that replies are made of
// letters and do not end by themselves; the first norm makes up for it on the way in.
func embedding(m Model, v *vocabulary) ggufTensor {
	t := random(m, "token_embd.weight", width, len(v.tokens))
	values := t.row
	t.row = func(r int, dst []float32) {
		values(r, dst)
		scale := float32(8)
		if !v.loud[r] {
			scale = 0.08
		}
		for i := range dst {
			dst[i] *= scale
		}
	}
	return t
}

// random gives a matrix of normally distributed values with variance 1/in, from a generator of its own.
func random(m Model, name string, in, out int) ggufTensor {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	rng := rand.New(rand.NewPCG(m.Seed, h.Sum64()))
	scale := float32(1)
	for scale*scale*float32(in) > 1 {
		scale /= 2
	}
	return ggufTensor{name: name, dims: []int{in, out}, row: func(_ int, dst []float32) {
		for i := range dst {
			dst[i] = float32(rng.NormFloat64()) * scale
		}
	}}
}

func ones(name string, n int) ggufTensor {
	return ggufTensor{name: name, dims: []int{n}, row: func(_ int, dst []float32) {
		for i := range dst {
			dst[i] = 1
		}
	}}
}
