package family

// A size is a dimension of a tensor: a function of the configuration, so that its formula is
// where its name is. Sizes begin with a capital, so that rows read as tables; those that only
// one row has are beside it.
type size func(*config) int64

// dims is the shape of a tensor in transformers.
type dims []size

// Sizes of decoders and encoders.

// One is a dimension that a view removes, or a single number.
func One(*config) int64 { return 1 }

// Vocab is the number of tokens.
func Vocab(c *config) int64 { return c.int("vocab_size") }

// Hidden is the width of the model.
func Hidden(c *config) int64 { return c.hidden() }

// Hidden2 and Hidden3 are two and three vectors beside each other.
func Hidden2(c *config) int64 { return 2 * c.hidden() }

func Hidden3(c *config) int64 { return 3 * c.hidden() }

// Positions is the number of position embeddings, TokenTypes that of segment embeddings.
func Positions(c *config) int64 {
	return c.int("max_position_embeddings", "n_positions", "n_ctx")
}

func TokenTypes(c *config) int64 { return c.int("type_vocab_size") }

// Classes is the number of classes of a classifier.
func Classes(c *config) int64 { return c.classCount() }

// Sizes of attention.

// Heads is the number of query heads, Head the width of one, Q the width of all.
func Heads(c *config) int64 { return c.heads() }

func Head(c *config) int64 { return c.headDim() }

func Q(c *config) int64 { return c.heads() * c.headDim() }

// KV is the width of all key heads, which is that of all value heads.
func KV(c *config) int64 { return c.kvHeads() * c.headDim() }

// QKV is the width of queries, keys and values in one matrix, QGate that of queries and a
// gate for each.
func QKV(c *config) int64 { return (c.heads() + 2*c.kvHeads()) * c.headDim() }

func QGate(c *config) int64 { return 2 * Q(c) }

// RelativeBuckets is the number of relative positions.
func RelativeBuckets(c *config) int64 { return c.int("relative_attention_num_buckets") }

// Sizes of latent attention, in which keys and values are made of one vector.

// QRank and KVRank are the widths of what queries, and keys and values, are made of. KVRankRope
// has the part of the keys that rotates beside it.
func QRank(c *config) int64 { return c.int("q_lora_rank") }

func KVRank(c *config) int64 { return c.int("kv_lora_rank") }

func KVRankRope(c *config) int64 { return KVRank(c) + c.int("qk_rope_head_dim") }

// LatentQ is the width of all queries.
func LatentQ(c *config) int64 { return c.heads() * (c.nope() + c.int("qk_rope_head_dim")) }

// LatentKV is the width of all keys, without the part that rotates, and of all values.
func LatentKV(c *config) int64 { return c.heads() * (c.nope() + c.int("v_head_dim")) }

// LatentV is the width of all values.
func LatentV(c *config) int64 { return c.heads() * c.int("v_head_dim") }

// Sizes of feed-forward layers.

// FFN is the width of a feed-forward layer, GateUp that of its gate and its first matrix in one.
func FFN(c *config) int64 {
	return c.int("intermediate_size", "n_inner", "d_ff", "vt_intermediate_size")
}

func GateUp(c *config) int64 { return 2 * c.int("intermediate_size") }

// FFN4 is the width of GPT-2's, four times the model's unless it is stated.
func FFN4(c *config) int64 {
	if n := c.int("n_inner"); n > 0 {
		return n
	}
	return 4 * c.hidden()
}

// DenseFFN is the width of the layers of a mixture that have no experts, if it is another.
func DenseFFN(c *config) int64 { return c.int("intermediate_size_mlp") }

// DistilFFN is FFN under the name that DistilBERT's configuration has for it.
func DistilFFN(c *config) int64 { return c.int("hidden_dim") }

// Sizes of mixtures.

// Experts is the number of experts, ExpertFFN the width of one, ExpertGateUp that of its gate
// and its first matrix in one.
func Experts(c *config) int64 { return c.experts() }

func ExpertFFN(c *config) int64 { return c.int("moe_intermediate_size", "intermediate_size") }

func ExpertGateUp(c *config) int64 { return 2 * c.int("moe_intermediate_size") }

// SharedFFN is the width of the expert that all tokens have, as it is stated; SharedExperts
// that of several in one, each as wide as the others.
func SharedFFN(c *config) int64 {
	return c.int("shared_expert_intermediate_size", "moe_shared_expert_intermediate_size")
}

func SharedExperts(c *config) int64 {
	return c.int("n_shared_experts", "moe_num_shared_experts") * c.int("moe_intermediate_size")
}

// SharedDense is the width of Granite's shared expert, SharedGateUp that of its gate and its
// first matrix in one.
func SharedDense(c *config) int64 { return c.int("shared_intermediate_size") }

func SharedGateUp(c *config) int64 { return 2 * SharedDense(c) }

// Sizes of linear attention.

// ValueHeads is the number of value heads, ValueWidth the width of one, Values that of all.
func ValueHeads(c *config) int64 { return c.valueHeads() }

func ValueWidth(c *config) int64 { return c.valueWidth() }

func Values(c *config) int64 { return c.valueHeads() * c.valueWidth() }

// LinearQKV is the width of queries, keys and values in one matrix; LinearQKVZ has the gates
// too, LinearBA is that of the two numbers of each value head.
func LinearQKV(c *config) int64 { return 2*c.keyHeads()*c.keyWidth() + Values(c) }

func LinearQKVZ(c *config) int64 {
	return 2 * c.keyHeads() * (c.keyWidth() + c.valueWidth()*c.valuesEach())
}

func LinearBA(c *config) int64 { return 2 * c.valueHeads() }

// LinearKernel is the length of its convolution, ShortKernel that of a layer which is one.
func LinearKernel(c *config) int64 { return c.int("linear_conv_kernel_dim") }

func ShortKernel(c *config) int64 { return c.int("conv_L_cache") }

// Sizes of state spaces.

// States is the width of a state space, SSMHeads the number of its heads, SSMKernel the length
// of its convolution.
func States(c *config) int64 { return c.states() }

func SSMHeads(c *config) int64 { return c.int("mamba_n_heads", "mamba_num_heads") }

func SSMKernel(c *config) int64 { return c.int("mamba_d_conv", "conv_kernel") }

// SSMConv is the width of the convolution: states and the two projections of each group. SSMIn
// has gates and time steps too.
func SSMConv(c *config) int64 { return c.states() + 2*c.groupStates() }

func SSMIn(c *config) int64 { return 2*c.states() + 2*c.groupStates() + SSMHeads(c) }

// Sizes of embeddings for each layer.

// LayerInput is the width of a layer's own embedding, LayerInputs that of all layers'
// beside each other, LayerVocab the number of tokens that have them.
func LayerInput(c *config) int64 { return c.int("hidden_size_per_layer_input") }

func LayerInputs(c *config) int64 { return c.layers() * LayerInput(c) }

func LayerVocab(c *config) int64 { return c.int("vocab_size_per_layer_input") }

// Sizes of vision parts.

// TextHidden is the width of the text model, VisionHidden that of the vision part, VisionQKV
// that of queries, keys and values in one matrix, VisionFFN that of a feed-forward layer.
func TextHidden(c *config) int64 { return c.textWidth() }

func VisionHidden(c *config) int64 { return c.width() }

func VisionQKV(c *config) int64 { return 3 * c.width() }

func VisionFFN(c *config) int64 { return c.int("mlp_ratio") * c.width() }

// Channels is the number of colours, Patch the side of a patch in pixels, Frames how many
// pictures of a film a patch has.
func Channels(c *config) int64 { return c.channels() }

func Patch(c *config) int64 { return c.patch() }

func Frames(*config) int64 { return 2 }

// Patches is the number of patches of an image, Merged the width of those that become one
// token, VisionPositions the number of position embeddings.
func Patches(c *config) int64 {
	side := c.int("image_size") / c.patch()
	return side * side
}

func Merged(c *config) int64 { return c.merge() * c.merge() * c.width() }

func VisionPositions(c *config) int64 { return c.int("num_position_embeddings") }
