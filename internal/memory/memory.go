// Package memory says what the cache of a model of transformers takes while it runs,
// from its config.json. Each type of model that it knows keeps for every layer the
// keys and values of the last tokens:
//
//	full attention     2 x heads of keys and values x size of a head x context
//	sliding windows    the same, x min(context, window)
//	latents (MLA)      (kv_lora_rank + qk_rope_head_dim) x context
//
// numbers for each sequence of the batch, each as wide as the model's type. A configuration
// that does not say one of them is refused; nothing is guessed.
package memory

import (
	"io/fs"
	"math/bits"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

const (
	configName = "config.json"
	maxConfig  = 4 << 20
	maxLayers  = 1 << 16
)

// A Cache is what the keys and values take.
type Cache struct {
	Bytes  int64
	Type   string // of its numbers: "bfloat16"
	Layers int64
	// Sliding is how many of the layers keep a window alone, Window its tokens.
	Sliding, Window int64
	// Heads and Size are those of the keys and values of a layer; Latent is what a layer
	// keeps of a token where that is no head.
	Heads, Size, Latent int64
}

// How the layers of a type attend.
type attention uint8

const (
	full    attention = iota // unless layer_types says otherwise
	windows                  // all slide, if there is a window
	listed                   // as layer_types says, which has to be there
	latent
)

// The types that are known. Their attention was looked up in transformers 5.23, and the
// bytes compared with those of its StaticCache.
var types = map[string]attention{
	"llama": full, "qwen2": full, "qwen2_moe": full, "qwen3": full, "qwen3_moe": full, "granite": full, "granitemoe": full,
	"smollm3": full, "olmo": full, "olmo2": full, "olmoe": full, "cohere": full, "gemma": full, "glm": full, "glm4": full, "stablelm": full,
	"mistral": windows, "mixtral": windows, "phi3": windows, "starcoder2": windows,
	"gemma2": listed, "gemma3_text": listed, "cohere2": listed, "gpt_oss": listed, "olmo3": listed,
	"deepseek_v2": latent, "deepseek_v3": latent,
}

// sized are the types whose heads have another size than hidden_size has for each,
// unless head_dim says so.
var sized = map[string]bool{"gemma": true, "gemma2": true, "gemma3_text": true, "qwen3": true, "glm": true, "glm4": true, "gpt_oss": true}

// widths are the bytes of a number of torch's types.
var widths = map[string]int64{"float32": 4, "float16": 2, "bfloat16": 2}

// A reader takes numbers out of a configuration, and keeps the error about the first that is missing.
type reader struct {
	c     jsontree.Value
	sized bool // head_dim has to be there
	err   error
}

// need is a whole number above zero that must be there.
func (r *reader) need(name string) int64 {
	n, ok := r.c.Get(name).Int()
	if (!ok || n < 1) && r.err == nil {
		r.err = wire.ErrUnsupported.Errorf("its config.json states no %s", name)
	}
	return n
}

// either is a number that may be missing or null.
func (r *reader) either(name string, otherwise int64) int64 {
	if !r.c.Get(name).There {
		return otherwise
	}
	return r.need(name)
}

// Of returns the size of the cache for a number of tokens of context and a number of sequences.
func Of(b *limits.Budget, files fs.FS, context, batch int64) (Cache, error) {
	root, err := jsontree.Read(b, files, configName, maxConfig)
	if err != nil {
		return Cache{}, err
	}
	if !root.There {
		return Cache{}, wire.ErrUnsupported.Errorf("no config.json beside the weights says the layers, heads and type of the model")
	}
	model := root
	if text := root.Get("text_config"); text.Kind == strictjson.Object && !root.Get("num_hidden_layers").There {
		model = text
	}
	name := model.Get("model_type").String()
	kind, known := types[name]
	if !known {
		return Cache{}, wire.ErrUnsupported.Errorf("config.json has model_type %s, whose cache is not in the table of amn", wire.Quote(name))
	}
	r := &reader{c: model, sized: sized[name]}
	out := Cache{Layers: r.need("num_hidden_layers")}
	if r.err == nil && out.Layers > maxLayers {
		r.err = wire.ErrRange.Errorf("%d layers", out.Layers)
	}
	for _, v := range []jsontree.Value{model.First("dtype", "torch_dtype"), root.First("dtype", "torch_dtype")} {
		if out.Type == "" {
			out.Type = v.String()
		}
	}
	width := widths[out.Type]
	if width == 0 && r.err == nil {
		r.err = wire.ErrUnsupported.Errorf("its config.json states no type (dtype) that is known: %s", wire.Quote(out.Type))
	}
	if r.err == nil {
		r.shape(&out, kind)
	}
	if r.err == nil {
		r.windows(&out, kind)
	}
	if r.err != nil {
		return Cache{}, r.err
	}
	return out, out.fill(context, batch, width)
}

// shape reads what a layer keeps of one token.
func (r *reader) shape(out *Cache, kind attention) {
	if kind == latent {
		out.Latent = r.need("kv_lora_rank") + r.need("qk_rope_head_dim")
		return
	}
	heads := r.need("num_attention_heads")
	out.Heads = r.either("num_key_value_heads", heads)
	if out.Size = r.either("head_dim", 0); out.Size == 0 && r.sized && r.err == nil {
		r.need("head_dim")
	} else if out.Size == 0 && r.err == nil {
		if out.Size = r.need("hidden_size") / heads; out.Size*heads != r.need("hidden_size") && r.err == nil {
			r.err = wire.ErrUnsupported.Errorf("its config.json states no head_dim, and hidden_size is not a multiple of the heads")
		}
	}
}

// windows reads which layers slide.
func (r *reader) windows(out *Cache, kind attention) {
	window := r.c.Get("sliding_window")
	list := r.c.Get("layer_types")
	switch {
	case kind == latent:
	case list.There:
		if int64(len(list.List())) != out.Layers {
			r.err = wire.ErrMismatch.Errorf("layer_types lists %d layers of %d", len(list.List()), out.Layers)
			return
		}
		for _, l := range list.List() {
			switch text := l.String(); text {
			case "full_attention":
			case "sliding_attention":
				out.Sliding++
			default:
				r.err = wire.ErrUnsupported.Errorf("a layer of the type %s is not known here", wire.Quote(text))
				return
			}
		}
	case kind == listed:
		r.err = wire.ErrUnsupported.Errorf("its config.json does not state layer_types")
	case kind == windows && window.There:
		out.Sliding = out.Layers
	case kind == full && r.c.Get("use_sliding_window").True():
		r.err = wire.ErrUnsupported.Errorf("it uses windows, and its config.json does not state layer_types")
	}
	if out.Sliding > 0 && r.err == nil {
		out.Window = r.need("sliding_window")
	}
}

// fill multiplies.
func (c *Cache) fill(context, batch, width int64) error {
	token := []int64{c.Latent, batch, width}
	if c.Latent == 0 {
		token = []int64{2, c.Heads, c.Size, batch, width}
	}
	whole, ok := product(c.Layers-c.Sliding, context)
	part, also := product(c.Sliding, min(context, c.Window))
	tokens, carry := bits.Add64(uint64(whole), uint64(part), 0)
	ok = ok && also && carry == 0 && tokens < 1<<63
	if ok {
		c.Bytes, ok = product(append(token, int64(tokens))...)
	}
	if !ok {
		return wire.ErrOverflow.Errorf("the bytes of the cache")
	}
	return nil
}

// product multiplies whole numbers that are not negative.
func product(list ...int64) (int64, bool) {
	out := uint64(1)
	for _, n := range list {
		hi, lo := bits.Mul64(out, uint64(n))
		if hi != 0 || lo > 1<<63-1 {
			return 0, false
		}
		out = lo
	}
	return int64(out), true
}
