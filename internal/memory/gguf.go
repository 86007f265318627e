package memory

import (
	"iter"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// asked are the keys that say what the cache takes, below the architecture.
var asked = []string{"block_count", "embedding_length", "attention.head_count", "attention.head_count_kv", "attention.key_length", "attention.value_length", "attention.sliding_window"}

// architectures are those of GGUF whose layers all keep the keys and values of the whole
// context, as llama.cpp builds them (src/models, with build_attn_inp_kv).
var architectures = []string{"llama", "qwen2", "qwen2moe", "qwen3", "qwen3moe", "granite", "granitemoe", "smollm3", "olmo", "olmoe", "command-r", "gemma",
	"chatglm", "stablelm", "starcoder", "starcoder2", "gpt2", "gptneox", "falcon", "bloom", "mpt", "phi2", "internlm2", "minicpm", "baichuan", "ernie4_5", "orion", "xverse"}

// OfGGUF says the same from the keys of a GGUF file. The numbers are F16, llama.cpp's default.
func OfGGUF(b *limits.Budget, keys iter.Seq2[string, any], context, batch int64) (Cache, error) {
	arch := ""
	for key, value := range keys {
		if err := b.Step(1); err != nil {
			return Cache{}, err
		}
		if text, ok := value.(string); ok && key == "general.architecture" {
			arch = text
		}
	}
	if !slices.Contains(architectures, arch) {
		return Cache{}, wire.ErrUnsupported.Errorf("the architecture %s is not in the table of those whose layers all keep the whole context", wire.Quote(arch))
	}
	found := map[string]any{} // of this architecture alone: a file has as many keys of others as it likes
	for key, value := range keys {
		if err := b.Step(1); err != nil {
			return Cache{}, err
		}
		if below, ok := strings.CutPrefix(key, arch+"."); ok && slices.Contains(asked, below) {
			found[below] = value
		}
	}
	if found["attention.sliding_window"] != nil {
		return Cache{}, wire.ErrUnsupported.Errorf("it uses sliding windows, whose layers a GGUF file does not list")
	}
	var err error
	need := func(key string, otherwise int64) int64 {
		v, there := found[key]
		n, ok := wire.Integer(v)
		if (there && (!ok || n < 1) || !there && otherwise == 0) && err == nil {
			err = wire.ErrUnsupported.Errorf("%s.%s is not a whole number above zero", arch, key)
		}
		if !there {
			return otherwise
		}
		return n
	}
	out := Cache{Type: "F16", Layers: need("block_count", 0)}
	heads := need("attention.head_count", 0)
	out.Heads = need("attention.head_count_kv", heads)
	wide := need("embedding_length", 0)
	if err != nil {
		return Cache{}, err
	}
	out.Size = need("attention.key_length", wide/heads)
	if values := need("attention.value_length", wide/heads); err == nil && values != out.Size {
		err = wire.ErrUnsupported.Errorf("its keys and values have other sizes: %d and %d", out.Size, values)
	}
	if err == nil && out.Layers > maxLayers {
		err = wire.ErrRange.Errorf("%d layers", out.Layers)
	}
	if err != nil {
		return Cache{}, err
	}
	return out, out.fill(context, batch, 2)
}
