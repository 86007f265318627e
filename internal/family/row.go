package family

import (
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A row describes one architecture of llama.cpp and the models of transformers that it runs: fields
// that each row has, and capabilities that only some have. A capability that a row does not state
// is that of most models, or missing.
type row struct {
	arch     string   // general.architecture
	model    string   // model_type in config.json
	names    []string // the architectures in config.json
	defaults []preset // members of config.json with the defaults of transformers' class
	tied     bool     // the default of tie_word_embeddings

	outer  []mapping        // tensors outside of layers
	layers func() []mapping // tensors of a layer
	layer  string           // prefix of a layer's tensors, with "#" for its number
	prefix string           // prefix of a layer's tensors in llama.cpp
	biased []string         // tensors whose bias llama.cpp requires, by llama.cpp's names

	keys       func(*keys) // adds the keys of a GGUF file
	vocab      func(*keys) error
	noFileType bool // general.file_type is omitted, as by the converter

	// check refuses configurations of which llama.cpp has no model, before any size is known to
	// be possible; nil refuses none.
	check func(*config) error
	// choose returns another row for some configurations with the same architecture, or nil.
	choose func(*config) *row
	// chosen says that only choose of another row returns this one.
	chosen bool

	naming     naming
	attention  attention
	linear     bool // some layers have linear attention
	ranges     size // of rows that the views of a mapping have, if more than seven for each head
	ahead      ahead
	decoder    *tower // the second stack of layers, numbered after those of the encoder
	classifier classifier
	vision     visionPart
	mlx        mlxRow
	back       backward
}

// A naming says how the names of tensors in checkpoints differ from those of the mappings.
type naming struct {
	optionalPrefix string                            // prefix of all names but the head's, which a file may omit
	bare           bool                              // folders made of a GGUF file omit optionalPrefix
	trimPrefixes   []string                          // prefixes of all names that may be absent
	skipPrefixes   []string                          // prefixes of tensors that are not needed
	unneeded       func(c *config, name string) bool // further such tensors, by the configuration
	skipSuffixes   []string                          // suffixes of such
	aliases        []string                          // names of one tensor. The first one in a file is used.
	headless       []string                          // classes that are saved without a head
	inner          []string                          // parts of names that are left out, once each
	otherParts     []string                          // prefixes of tensors of other parts of the model
	replaces       [][2]string                       // parts of names, and what the mappings have instead
	renames        [][2]string                       // prefixes, and what the mappings have instead
	ofTarget       bool                              // that table has numbers up to the target's vocab_size, not the draft's
	drafted        string                            // the table of a draft model's tokens; "" for models that draft for no other
	asked          []string                          // ends of names: whether a file has such decides about other tensors
	numbered       []string                          // what comes before the numbers of matrices that become one tensor, besides experts
}

// An attention says what is unusual about a row's attention.
type attention struct {
	// kvHeads returns the number of key heads if it is not num_key_value_heads.
	kvHeads func(*config) int64
	// scalings are the kinds of rope scaling that common leaves to the row.
	scalings []string
	// factors adds tensors of factors of rotary embeddings if the configuration has such that
	// only this row knows; ok is false if it has none.
	factors func(p *planner, r rope) (ok bool, err error)
	// thetas says that rope_theta may be a list: of the first layer, which has full attention, and of the
	// second, which has a window, and so on.
	thetas bool
}

// An ahead describes layers after the others, which predict further tokens.
type ahead struct {
	// count returns the number of these layers; nil for none.
	count func(*config) int64
	// apart says that their names begin with "mtp.", and are not those of further layers.
	apart bool
	// optional says that a file may lack these layers as a whole.
	optional bool
	// dropped says that tensors of layers beyond the last are skipped.
	dropped bool
}

// A classifier says what is unusual about models with a classification head.
type classifier struct {
	heads   []string // prefixes of tensors that only a classifier needs
	reranks bool     // some models are rerankers, see detectReranker
}

// A visionPart is a part of a model that is a file of its own.
type visionPart struct {
	keep   []string // prefixes of its tensors
	config string   // the member of config.json with its configuration, if not vision_config
}

// A backward says how a folder is made of a GGUF file.
type backward struct {
	members func(*settings) // puts the members of config.json, read from keys
	lost    string          // what llama.cpp does not store, so that transformers' model cannot be restored
	// matches chooses between rows with the same arch; nil for the only one.
	matches func(*settings) bool
	arch    string // the architecture in config.json, if not names[0]
	// row is that of the folder, if that differs: the text model of a published model with a vision
	// part has its own architecture.
	row *row
	// factors sets the members that follow from tensors of rotary factors which are not those of
	// Llama 3; found is false if there are none.
	factors func(p *planner, s *settings) (found bool, err error)
	// consumed are such tensors, which the folder does not have.
	consumed []string
	// fewerTokens says that the token embedding may have more rows than there are tokens.
	fewerTokens bool
	// pieces says that the vocabulary is written as spiece.model.
	pieces bool
	// left is what the folder lacks, "" for nothing.
	left string
}

// A tower is one stack of layers of a model that has two.
type tower struct {
	layer, prefix string
	first         func(*config) int64 // number of layers before the tower
	count         func(*config) int64 // number of its layers
	continued     bool                // llama.cpp numbers its layers after the others
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
		if d.continued {
			return d.layer, d.prefix, layer
		}
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
	wideDecay           // -exp(x) in F32, of numbers of F16 too
	stack               // the matrices of all experts become one tensor
)

// decays reports a transform that is an exponential.
func (t transform) decays() bool { return t == decay || t == wideDecay }

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
	biasColumn    bool                                                    // that bias is a matrix with one column
	interleave    *interleaving                                           // the inverse of views
	shapeOf       func(*config, int64) []int64                            // the shape, if it depends on the layer
	ggufNumber    func(*config) int64                                     // replaces "#" in gguf
	joined        bool                                                    // several matrices become one of all rows, not a stack
	plus          float32                                                 // what addOne adds, if not 1
	of            size                                                    // how many matrices become one tensor, if they are no experts
	rows          size                                                    // how many rows llama.cpp has: those beyond the tensor's own are zeros
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
	// repeat is how many times the view is written, if not once.
	repeat size
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
	full       jsontree.Value  // config.json, if root is its vision_config
	isVision   bool            // root is a vision_config
	mtpLayers  int64           // number of layers under "mtp.", which predict further tokens
	reranker   bool            // it is a reranker
	targetRoot jsontree.Value  // config.json of the model that it drafts for
	stored     map[string]bool // which of naming.asked the file has
	notBool    string          // the first member that was read as a boolean but is not one
	notSize    string          // the first member that was read as a size but is not one
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

// int returns a member as a size, or 0. A value outside of 0 to maxSize counts as 0 in
// computations, and checkSizes then refuses the whole configuration.
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

// checkSizes returns an error if a member that was read as a size is not one.
func (c *config) checkSizes() error {
	if c.notSize == "" {
		return nil
	}
	n, _ := c.get(c.notSize).Int()
	return wire.ErrRange.Errorf("%s is %d", c.notSize, n)
}

// readSizes reads every member from which the row computes shapes or decides which tensors a layer
// has, so that invalid sizes are found before a tensor is planned.
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

func (c *config) hidden() int64 {
	return c.int("hidden_size", "n_embd", "n_embed", "dim", "d_model", "model_dim", "vt_hidden_size")
}

func (c *config) heads() int64 {
	return c.int("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads", "vt_num_attention_heads")
}

func (c *config) layers() int64 {
	switch {
	case c.row.decoder != nil:
		return c.row.decoder.first(c) + c.row.decoder.count(c)
	case c.row.ahead.count != nil:
		return c.hiddenLayers() + c.row.ahead.count(c)
	}
	return c.hiddenLayers()
}

// hiddenLayers counts the layers. Where no member does, the list of their types has one for each:
// transformers 5.24 saves Nemotron-H so.
func (c *config) hiddenLayers() int64 {
	n := c.int("n_layers", "num_hidden_layers", "n_layer", "num_layers", "depth", "encoder_layers", "num_transformer_layers", "vt_num_hidden_layers")
	if n == 0 {
		return int64(len(c.get("layers_block_type").List()))
	}
	return n
}

func (c *config) nope() int64 { return c.int("qk_nope_head_dim") }

func (c *config) kvHeads() int64 {
	if c.row.attention.kvHeads != nil {
		return c.row.attention.kvHeads(c)
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
	return c.bool("tie_word_embeddings", c.row.tied) || c.isPart() && c.root.Get("tie_word_embeddings").True()
}

// bool returns a boolean member, or the default if it is missing.
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
// false, or one that was read as a size is not a size.
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
