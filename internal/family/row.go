package family

import (
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A row describes one architecture of llama.cpp and the models of transformers that it
// runs.
type row struct {
	arch           string   // general.architecture
	names          []string // the architectures in config.json
	model          string   // model_type in config.json
	defaults       []preset // members of config.json with the defaults of transformers' class
	tied           bool     // the default of tie_word_embeddings
	layer          string   // prefix of a layer's tensors, with "#" for its number
	outer          []mapping
	layers         func() []mapping
	skipSuffixes   []string                            // suffixes of tensors that are not needed
	skipPrefixes   []string                            // prefixes of such
	headPrefixes   []string                            // prefixes of tensors that only a classifier needs
	trimPrefixes   []string                            // prefixes of all names that may be absent
	rename         func(c *config, full string) string // to the name that the mappings have
	restore        func(c *config, full string) string // the inverse of rename
	optionalPrefix string                              // prefix of all names but the head's, which a file may omit
	// depth returns the number of layers if it is not num_hidden_layers.
	depth func(*config) int64
	// dropExtraLayers says that tensors of layers beyond the last, which predict further
	// tokens, are skipped.
	dropExtraLayers bool
	// optionalMTP says that layers which predict further tokens may be missing as a whole.
	optionalMTP bool
	prefix      string // prefix of a layer's tensors in llama.cpp
	// decoder has the prefixes of the layers of a decoder, which are numbered after those of
	// the encoder.
	decoder *tower
	// mayRerank says that some models of the row are rerankers, see detectReranker.
	mayRerank bool
	// check refuses configurations of which llama.cpp has no model, before any size is known to
	// be possible; nil refuses none.
	check func(*config) error
	// choose returns another row for some configurations with the same architecture, or nil.
	choose func(*config) *row
	// aliases are names of one tensor. The first one in a file is used.
	aliases []string
	// keepPrefixes are the prefixes of tensors that belong to a vision part.
	keepPrefixes []string
	// matches chooses between rows with the same arch when a GGUF file is read.
	matches func(*settings) bool
	// backArch is the architecture that is written to config.json, if not names[0].
	backArch string
	// backRow is the row of the folder that is made of a GGUF file: the text model of a
	// published model with a vision part has an architecture of its own.
	backRow *row
	// mlx says how mlx-lm's tensors differ from transformers' beyond stacked experts; nil if
	// they do not.
	mlx *mlxForm
	// noMLX says why no folder for mlx-lm is made, "" if one is.
	noMLX string
	keys  func(*keys)
	vocab func(*keys) error
	back  func(*settings) // puts the members of config.json, read from keys
	lost  string          // what llama.cpp does not store, so that transformers' model cannot be restored
	// noFileType omits general.file_type, as the converter does.
	noFileType bool
	// kvHeads returns the number of key heads if it is not num_key_value_heads.
	kvHeads func(*config) int64
	// longRotated returns how many elements of a head are rotated by the factors long_factor
	// and short_factor.
	longRotated func(*config, rope) int64
	// skipDynamicRope ignores rope scaling of the type dynamic, as the converter does.
	skipDynamicRope bool
}

// A tower is one stack of layers of a model that has two.
type tower struct {
	layer, prefix string
	first         func(*config) int64 // number of layers before the tower
}

// towers returns all stacks of layers.
func (c *config) towers() []tower {
	one := tower{layer: c.row.layer, prefix: c.row.prefix}
	if c.row.decoder == nil {
		return []tower{one}
	}
	return []tower{one, *c.row.decoder}
}

// number returns the model's number of the tower's layer n.
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

// tower returns the prefixes of a layer's tensors in transformers and llama.cpp, and the
// layer's number within its tower.
func (c *config) tower(layer int64) (names, prefix string, number int64) {
	if d := c.row.decoder; d != nil && layer >= d.first(c) {
		return d.layer, d.prefix, layer - d.first(c)
	}
	return c.row.layer, c.row.prefix, layer
}

// lazy computes a list on first use, so that no start of the program pays for it.
func lazy(list func() []mapping) func() []mapping { return sync.OnceValue(list) }

// A preset is the default of a member of config.json.
type preset struct {
	name, value string // the value as JSON
}

// A transform says how the values of a tensor are changed or rearranged.
type transform uint8

const (
	plain     transform = iota
	permuteQ            // rows of each query head: the two halves of a head become pairs
	permuteK            // the same for key heads
	addOne              // x+1
	transpose           // rows become columns
	decay               // -exp(x)
	stack               // the matrices of all experts become one tensor
)

// A mapping is one tensor under its names in transformers and llama.cpp, without ".weight"
// or ".bias".
type mapping struct {
	hf, gguf      string
	shape         dims // of the weight
	op            transform
	optional      bool
	noSuffix      bool                                                    // the name in transformers has neither suffix
	key           string                                                  // a key that gets the tensor's one value as an element
	ggufNoSuffix  bool                                                    // the name in llama.cpp has neither suffix
	factors       []func(*config) (float64, bool)                         // all values are multiplied by these
	typeRule      typeRule                                                // the type, if not that of the other tensors
	inLayer       func(c *config, layer int64) bool                       // reports whether a layer has the tensor; nil means all do
	views         []view                                                  // what the tensor becomes, instead of gguf
	bias          string                                                  // the name of its bias, if views apply only to the weight
	interleave    *interleaving                                           // the inverse of views
	shapeOf       func(*config, int64) []int64                            // the shape, if it depends on the layer
	ggufNumber    func(*config) int64                                     // replaces "#" in gguf
	mayKeepBlocks bool                                                    // MXFP4 blocks of it can be copied unchanged
	join          func(c *config, of []tensor.Info, shape []int64) []Part // the inverse of views, for other cases
}

// A view is a tensor of llama.cpp that holds a part of one of transformers, or all of it
// in another order.
type view struct {
	gguf  string
	shape func(*config) []int64
	// strides and the first element refer to the tensor of transformers.
	strides func(*config) ([]int64, int64)
	// step and first select rows of a stack of blocks: every step-th row from first.
	step, first int64
	// cuts are consecutive ranges of rows, used instead of a shape and strides.
	cuts func(*config) []cut
	// squeeze removes dimensions of 1. noSuffix says that the name has neither suffix.
	squeeze, noSuffix bool
	// sourceShape is the shape that strides refer to, if it is not shape.
	sourceShape func(*config) []int64
}

// An interleaving says how a tensor of transformers is made of its views: turns elements
// of each view in turn, read with strides.
type interleaving struct {
	turns   func(*config) int64
	strides func(*config) []int64 // in the view's own tensor
}

// A config is config.json, read as transformers' class reads it.
type config struct {
	root, text jsontree.Value
	row        *row
	full       jsontree.Value // config.json, if root is its vision_config
	isVision   bool           // root is a vision_config
	mtpLayers  int64          // number of layers under "mtp.", which predict further tokens
	reranker   bool           // it is a reranker
	notBool    string         // the first member that was read as a boolean and is none
	notSize    string         // the first member that was read as a size and is none
}

// get returns the first of the members that is stated or has a default.
func (c *config) get(names ...string) jsontree.Value {
	_, v := c.first(names)
	return v
}

// first returns the first of the members that is stated or has a default, and its name.
func (c *config) first(names []string) (string, jsontree.Value) {
	for _, n := range names {
		if v := c.text.Get(n); v.There {
			return n, v
		}
		if v := c.root.Get(n); v.There {
			return n, v
		}
		for _, d := range c.row.defaults {
			if d.name == n {
				return n, jsontree.Preset(d.value)
			}
		}
	}
	return "", jsontree.Value{}
}

// maxSize bounds what a member that is a size or a number of things may be.
const maxSize = 1 << 31

// int returns a member as a size, or 0. What is not in 0 to maxSize counts as 0 for those who
// compute with it, and makes the whole configuration refused: see checkSizes.
func (c *config) int(names ...string) int64 {
	name, v := c.first(names)
	n, _ := v.Int()
	if n >= 0 && n <= maxSize {
		return n
	}
	if c.notSize == "" {
		c.notSize = name
	}
	return 0
}

// checkSizes returns an error if a member that was read as a size is none.
func (c *config) checkSizes() error {
	if c.notSize == "" {
		return nil
	}
	n, _ := c.get(c.notSize).Int()
	return wire.ErrRange.Errorf("%s is %d", c.notSize, n)
}

// readSizes reads every member that the row makes shapes of, or decides by whether a layer
// has a tensor: what is no size is known before a tensor is planned.
func (c *config) readSizes() {
	for _, list := range [][]mapping{c.row.outer, c.row.layers()} {
		for i := range list {
			n := &list[i]
			for _, one := range n.shape {
				_ = one(c)
			}
			if n.shapeOf != nil {
				_ = n.shapeOf(c, 0)
			}
			if n.inLayer != nil {
				_ = n.inLayer(c, 0)
			}
		}
	}
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

// tied reports whether the head may be the token embedding. A model with a vision part
// states that at the top level.
func (c *config) tied() bool {
	return c.bool("tie_word_embeddings", c.row.tied) || c.root.Get("vision_config").There && c.root.Get("tie_word_embeddings").True()
}

// bool returns a boolean member, or otherwise if there is none.
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

// checkMembers returns an error if a member that was read as a boolean is neither true nor
// false, or one that was read as a size is none.
func (c *config) checkMembers() error {
	if err := c.checkSizes(); err != nil {
		return wire.At(configName, "member "+wire.Quote(c.notSize), c.get(c.notSize).Off(), err)
	}
	if c.notBool == "" {
		return nil
	}
	return wire.At(configName, "member "+wire.Quote(c.notBool), c.get(c.notBool).Off(), wire.ErrRange.Errorf("it is neither true nor false"))
}

// find returns the row of an architecture in config.json, or nil.
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
