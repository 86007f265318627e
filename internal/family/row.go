package family

import (
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A row is one architecture of llama.cpp and the models of transformers that it
// runs.
type row struct {
	arch           string   // as general.architecture has it
	names          []string // of architectures in config.json
	model          string   // model_type of transformers
	defaults       []preset // of its configuration class
	tied           bool     // tie_word_embeddings where the configuration is silent
	layer          string   // of tensors of a layer, "#" for its number
	outer          []mapping
	layers         func() []mapping
	skipSuffixes   []string                            // endings of tensors that are not needed
	skipPrefixes   []string                            // beginnings of such
	headPrefixes   []string                            // beginnings of those that only a model that classifies texts needs
	trimPrefixes   []string                            // what may stand before all names
	rename         func(c *config, full string) string // of tensors that stand elsewhere
	restore        func(c *config, full string) string // the way back of rename
	optionalPrefix string                              // what stands before all names but the head's, and may be left out
	// depth is how many layers there are, where num_hidden_layers is not all of them.
	depth func(*config) int64
	// dropExtraLayers says that layers beyond the last are there and not needed: those that
	// predict further tokens.
	dropExtraLayers bool
	prefix          string // before the name of a layer's tensor, where llama.cpp has one
	// decoder is what layer and prefix are for the layers of a decoder, whose numbers
	// follow those of the encoder.
	decoder *tower
	// mayRerank says that rerankers are among the models of the row: see rankers.
	mayRerank bool
	// choose chooses between rows of one architecture in config.json, by the configuration.
	choose func(*config) *row
	// aliases are names of one tensor: the first of a file is taken.
	aliases []string
	// keepPrefixes are the beginnings of the tensors that a vision part has.
	keepPrefixes []string
	// matches chooses between rows of one architecture of llama.cpp, on the way back.
	matches func(*settings) bool
	// backArch is the architecture in config.json on the way back, where it is not the first of
	// the names.
	backArch string
	// backRow is the row of the model that comes back: a text model that is published with
	// a vision part is one of another architecture without it.
	backRow *row
	// mlx is what mlx-lm has otherwise than transformers, nil where nothing is but experts.
	mlx *mlxForm
	// noMLX says why there is no folder of mlx-lm.
	noMLX string
	keys  func(*keys)
	vocab func(*keys) error
	back  func(*settings) // the members of config.json, out of the keys
	lost  string          // what llama.cpp has not, so that there is no way back
	// noFileType leaves general.file_type out, as the converter does.
	noFileType bool
	// kvHeads is how many heads of keys there are, where num_key_value_heads does not say it.
	kvHeads func(*config) int64
	// longRotated is how many numbers of a head rotate by factors of the configuration, in long
	// texts and in short ones.
	longRotated func(*config, rope) int64
	// skipDynamicRope says that rotations which change in longer texts are left out, as the
	// converter does.
	skipDynamicRope bool
}

// A tower is a stack of layers beside another one.
type tower struct {
	layer, prefix string
	first         func(*config) int64 // how many layers stand before it
}

// towers are all stacks of layers of the model.
func (c *config) towers() []tower {
	one := tower{layer: c.row.layer, prefix: c.row.prefix}
	if c.row.decoder == nil {
		return []tower{one}
	}
	return []tower{one, *c.row.decoder}
}

// number is which layer of the model the one with the number n of the tower is.
func (t *tower) number(c *config, n int64) int64 {
	switch d := c.row.decoder; {
	case d == nil:
		return n
	case t.first != nil:
		return n + d.first(c)
	case n >= d.first(c):
		return c.layers() // the encoder has it not
	}
	return n
}

// tower is where a layer belongs: what stands before the names of its tensors in
// transformers and in llama.cpp, and its number there.
func (c *config) tower(layer int64) (names, prefix string, number int64) {
	if d := c.row.decoder; d != nil && layer >= d.first(c) {
		return d.layer, d.prefix, layer - d.first(c)
	}
	return c.row.layer, c.row.prefix, layer
}

// lazy makes a list when it is first asked for: no start of the program pays for it.
func lazy(list func() []mapping) func() []mapping { return sync.OnceValue(list) }

// A preset is what a member of the configuration is where it is not stated.
type preset struct {
	name, value string // the value as JSON
}

// A transform is what is done with a tensor.
type transform uint8

const (
	plain     transform = iota
	permuteQ            // rows of each head of the query: from two halves to pairs
	permuteK            // the same, of the key
	addOne              // to each number
	transpose           // of rows and columns
	decay               // the exponential of each number, less than nothing
	stack               // of all experts, one after the other
)

// A mapping is one tensor in both worlds, without ".weight" or ".bias".
type mapping struct {
	hf, gguf      string
	shape         string // of the weight: letters of the configuration, see dims
	op            transform
	optional      bool
	noSuffix      bool                              // the name has no ending
	key           string                            // the key of which its one number is an element, instead of a tensor
	ggufNoSuffix  bool                              // llama.cpp's has none
	factors       []func(*config) (float64, bool)   // what each number is multiplied by, in turn
	typeRule      typeRule                          // its type, where it is not that of the others
	inLayer       func(c *config, layer int64) bool // which layers have it; nil is all
	views         []view                            // what it becomes, instead of gguf
	bias          string                            // the name of its bias, where views have only the weight
	interleave    *interleaving                     // the way back of views
	shapeOf       func(*config, int64) []int64      // the shape, where it depends on the layer
	ggufNumber    func(*config) int64               // what stands for "#" in llama.cpp's
	mayKeepBlocks bool                              // MXFP4 of it stays what it is
	join          func(c *config, of []tensor.Info, shape []int64) []Part
}

// A view is a tensor of llama.cpp that is a part of one of transformers, or all of it
// in another order.
type view struct {
	gguf  string
	shape func(*config) []int64
	// strides and the first element, in the tensor of transformers
	strides func(*config) ([]int64, int64)
	// rows of a stack of blocks, every step-th from first on
	step, first int64
	// cuts are rows of the tensor of transformers, one after the other: instead of a
	// shape and strides
	cuts func(*config) []cut
	// squeeze leaves out dimensions of one; naked says that the name has no ending.
	squeeze, noSuffix bool
	// sourceShape is the shape that strides are of, where the tensor has another one.
	sourceShape func(*config) []int64
}

// interleaving says how a tensor of transformers is made of its views again: so many elements
// of each in turn, read as back says.
type interleaving struct {
	turns   func(*config) int64
	strides func(*config) []int64 // strides, in the view's own tensor
}

// dims are the letters of shapes.
var dims = map[byte]func(*config) int64{
	'V': func(c *config) int64 { return c.int("vocab_size") },
	'H': func(c *config) int64 { return c.hidden() },
	'F': func(c *config) int64 { return c.int("intermediate_size", "n_inner", "d_ff") },
	'Q': func(c *config) int64 { return c.heads() * c.headDim() },
	'K': func(c *config) int64 { return c.kvHeads() * c.headDim() },
	'D': func(c *config) int64 { return c.headDim() },
	'E': func(c *config) int64 { return c.experts() },
	'M': func(c *config) int64 { return c.int("moe_intermediate_size", "intermediate_size") },
	'S': func(c *config) int64 {
		return c.int("shared_expert_intermediate_size", "moe_shared_expert_intermediate_size")
	},
	'P': func(c *config) int64 { return c.int("max_position_embeddings", "n_positions", "n_ctx") },
	'T': func(c *config) int64 { return c.int("type_vocab_size") },
	'1': func(*config) int64 { return 1 },
	'3': func(c *config) int64 { return 3 * c.hidden() },
	'I': func(c *config) int64 { return c.ffnWidth() },
	'R': func(c *config) int64 { return (c.heads() + 2*c.kvHeads()) * c.headDim() },
	'G': func(c *config) int64 { return 2 * c.int("intermediate_size") },
	// of DeepSeek's attention, whose keys and values are latent
	'q': func(c *config) int64 { return c.heads() * (c.nope() + c.int("qk_rope_head_dim")) },
	'l': func(c *config) int64 { return c.int("q_lora_rank") },
	'k': func(c *config) int64 { return c.int("kv_lora_rank") },
	'a': func(c *config) int64 { return c.int("kv_lora_rank") + c.int("qk_rope_head_dim") },
	'b': func(c *config) int64 { return c.heads() * (c.nope() + c.int("v_head_dim")) },
	'w': func(c *config) int64 { return c.heads() * c.int("v_head_dim") },
	's': func(c *config) int64 {
		return c.int("n_shared_experts", "moe_num_shared_experts") * c.int("moe_intermediate_size")
	},
	'A': func(c *config) int64 { return c.heads() },
	'd': func(c *config) int64 { return c.int("hidden_dim") },
	'y': func(c *config) int64 { return 2 * c.hidden() },
	'U': func(c *config) int64 { return c.int("intermediate_size_mlp") },
	// of linear attention
	'W': func(c *config) int64 { return c.valueHeads() },
	'B': func(c *config) int64 { return 2*c.keyHeads()*c.keyWidth() + c.valueHeads()*c.valueWidth() },
	'J': func(c *config) int64 { return c.int("linear_conv_kernel_dim") },
	'X': func(c *config) int64 { return 2 * c.keyHeads() * (c.keyWidth() + c.valueWidth()*c.valuesEach()) },
	'i': func(c *config) int64 { return 2 * c.valueHeads() },
	'O': func(c *config) int64 { return c.valueHeads() * c.valueWidth() },
	'v': func(c *config) int64 { return c.valueWidth() },
	'N': func(c *config) int64 { return 2 * c.heads() * c.headDim() },
	// of state spaces
	'r': func(c *config) int64 { return c.states() },
	'z': func(c *config) int64 { return c.int("mamba_n_heads", "mamba_num_heads") },
	'u': func(c *config) int64 { return c.int("mamba_d_conv", "conv_kernel") },
	'L': func(c *config) int64 { return c.states() + 2*c.groupStates() },
	'o': func(c *config) int64 {
		return 2*c.states() + 2*c.groupStates() + c.int("mamba_n_heads", "mamba_num_heads")
	},
	'C': func(c *config) int64 { return c.int("conv_L_cache") },
	'j': func(c *config) int64 { return c.lfm2Width() },
	'Y': func(c *config) int64 { return c.int("relative_attention_num_buckets") },
	'2': func(c *config) int64 { return 2 * c.int("moe_intermediate_size") },
	'0': func(c *config) int64 { return c.int("num_position_embeddings") },
	'4': func(c *config) int64 { return c.classCount() },
	'5': func(c *config) int64 { return c.int("hidden_size_per_layer_input") },
	'6': func(c *config) int64 { return c.int("vocab_size_per_layer_input") },
	'7': func(c *config) int64 { return c.layers() * c.int("hidden_size_per_layer_input") },
	'Z': func(c *config) int64 { return c.int("shared_intermediate_size") },
	'g': func(c *config) int64 { return 2 * c.int("shared_intermediate_size") },
	// of vision parts
	'h': func(c *config) int64 { return c.textWidth() },
	'c': func(c *config) int64 { return c.channels() },
	'p': func(c *config) int64 { return c.patch() },
	't': func(*config) int64 { return 2 },
	'n': func(c *config) int64 { return (c.int("image_size") / c.patch()) * (c.int("image_size") / c.patch()) },
	'm': func(c *config) int64 { return c.merge() * c.merge() * c.width() },
	'e': func(c *config) int64 { return c.width() },
	'x': func(c *config) int64 { return 3 * c.width() },
	'f': func(c *config) int64 { return c.int("mlp_ratio") * c.width() },
}

// A config is config.json as its class of transformers reads it.
type config struct {
	root, text jsontree.Value
	row        *row
	full       jsontree.Value // config.json of which root is the vision part
	isVision   bool           // it is that of a vision part
	mtpLayers  int64          // layers that predict further tokens, of those under "mtp."
	reranker   bool           // it is a reranker
	notBool    string         // the first member that is no truth value, and was asked for as one
}

// get is the first member that is there: stated, or by the class.
func (c *config) get(names ...string) jsontree.Value {
	for _, n := range names {
		if v := c.text.Get(n); v.There {
			return v
		}
		if v := c.root.Get(n); v.There {
			return v
		}
		for _, d := range c.row.defaults {
			if d.name == n {
				return jsontree.Preset(d.value)
			}
		}
	}
	return jsontree.Value{}
}

// int is a whole number, 0 where there is none.
func (c *config) int(names ...string) int64 {
	n, _ := c.get(names...).Int()
	return n
}

func (c *config) hidden() int64 { return c.int("hidden_size", "n_embd", "n_embed", "dim", "d_model") }
func (c *config) heads() int64  { return c.int("num_attention_heads", "n_head", "n_heads", "num_heads") }
func (c *config) layers() int64 {
	if c.row.depth != nil {
		return c.row.depth(c)
	}
	return c.hiddenLayers()
}

func (c *config) hiddenLayers() int64 {
	return c.int("n_layers", "num_hidden_layers", "n_layer", "num_layers", "depth")
}
func (c *config) experts() int64 {
	return c.int("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
}

func (c *config) nope() int64 { return c.int("qk_nope_head_dim") }

func (c *config) kvHeads() int64 {
	if c.row.kvHeads != nil {
		return c.row.kvHeads(c)
	}
	if n := c.int("num_key_value_heads", "n_kv_heads"); n > 0 {
		return n
	}
	return c.heads()
}

func (c *config) headDim() int64 {
	if n := c.int("head_dim", "d_kv"); n > 0 {
		return n
	}
	if c.heads() <= 0 {
		return 0
	}
	return c.hidden() / c.heads()
}

// ffnWidth is the width of GPT-2's feed forward layer.
func (c *config) ffnWidth() int64 {
	if n := c.int("n_inner"); n > 0 {
		return n
	}
	return 4 * c.hidden()
}

// tied reports that the head may be the table of tokens; a model with a vision part
// says so for all of it.
func (c *config) tied() bool {
	return c.bool("tie_word_embeddings", c.row.tied) || c.root.Get("vision_config").There && c.root.Get("tie_word_embeddings").True()
}

// bool is a truth value, or what it is where there is none.
func (c *config) bool(name string, otherwise bool) bool {
	v := c.get(name)
	if is, ok := v.Bool(); ok {
		return is
	}
	if n, ok := v.Int(); ok && (n == 0 || n == 1) {
		return n == 1
	}
	if v.There && c.notBool == "" {
		c.notBool = name
	}
	return otherwise
}

// checkBools refuses a configuration of which a member that was asked for is none of true and
// false.
func (c *config) checkBools() error {
	if c.notBool == "" {
		return nil
	}
	return wire.At(configName, "member "+wire.Quote(c.notBool), c.get(c.notBool).Off(), wire.ErrRange.Errorf("it is neither true nor false"))
}

// find looks for the row of an architecture.
func find(name string) *row {
	for _, r := range rows {
		for _, n := range r.names {
			if n == name {
				return r
			}
		}
	}
	return nil
}
