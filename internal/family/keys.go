package family

import (
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// keys collects the keys of a GGUF file. The first error is kept.
type keys struct {
	b        *limits.Budget
	c        *config
	files    fs.FS
	o        Options
	plan     *Plan
	fileType uint32
	list     []Key
	find     func(class string) *row // a function of its own would be a cycle of initialization
	mask     *int64                  // the number of the token that masks, which replaces that of the vocabulary
	err      error
}

// put adds a key or replaces its value.
func (k *keys) put(name string, value any) {
	if k.err != nil {
		return
	}
	if f, ok := value.(float32); ok && (math.IsInf(float64(f), 0) || math.IsNaN(float64(f))) {
		k.err = wire.At(configName, "", wire.NoOffset, wire.ErrRange.Errorf("%s is %v, which is not a finite float32", name, f))
		return
	}
	if f, ok := value.(float32); ok && f < 0 && strings.HasSuffix(name, "epsilon") { // at which llama.cpp aborts
		k.err = wire.At(configName, "", wire.NoOffset, wire.ErrRange.Errorf("%s is %v", name, f))
		return
	}
	divides := func(end string) bool { return strings.HasSuffix(name, end) }
	if f, ok := value.(float32); ok && f <= 0 && slices.ContainsFunc(divisors, divides) {
		k.err = wire.At(configName, "", wire.NoOffset, wire.ErrRange.Errorf("%s is %v, by which llama.cpp divides", name, f))
		return
	}
	for i := range k.list {
		if k.list[i].Key == name {
			k.list[i].Value = value
			return
		}
	}
	if k.err = k.b.Hold(64); k.err == nil {
		k.list, k.err = limits.Append(k.b, k.list, Key{name, value})
	}
}

// divisors are the suffixes of keys that llama.cpp divides by. With 0 it would load the
// model and compute NaN.
var divisors = []string{".rope.freq_base", ".rope.freq_base_swa", ".rope.scaling.factor"}

// putArch adds a key of the architecture.
func (k *keys) putArch(name string, value any) { k.put(k.c.row.arch+"."+name, value) }

func (k *keys) fail(name string, v jsontree.Value, want string) {
	if k.err == nil {
		k.err = wire.At(configName, "member "+wire.Quote(name), v.Off(), wire.ErrRange.Errorf("it is not %s", want))
	}
}

// u32 adds the first of the members that there is, as an unsigned integer.
func (k *keys) u32(key string, members ...string) {
	v := k.c.get(members...)
	if !v.There {
		return
	}
	n, ok := v.Int()
	if f, is := v.Float(); !ok && is && f == math.Trunc(f) {
		n, ok = int64(f), true
	}
	if !ok || n < 0 || n > math.MaxUint32 {
		k.fail(members[0], v, "an unsigned 32-bit integer")
		return
	}
	k.putArch(key, uint32(n))
}

// f32 adds the first of the members that there is, as a float.
func (k *keys) f32(key string, members ...string) {
	if v := k.c.get(members...); v.There {
		k.number(key, members[0], v)
	}
}

func (k *keys) number(key, member string, v jsontree.Value) {
	f, ok := v.Float()
	if !ok {
		k.fail(member, v, "a number")
		return
	}
	k.putArch(key, float32(f))
}

// all adds every key.
func (k *keys) all() error {
	k.put("general.architecture", k.c.row.arch)
	k.put("general.type", "model")
	if k.o.Name != "" {
		k.put("general.name", k.o.Name)
	}
	k.c.row.keys(k)
	k.checkExperts()
	if !k.c.row.noFileType {
		k.put("general.file_type", k.fileType)
	}
	k.put("general.quantization_version", uint32(2))
	if k.err != nil {
		return k.err
	}
	if err := k.c.row.vocab(k); err != nil {
		return err
	}
	if k.mask != nil {
		k.put("tokenizer.ggml.mask_token_id", uint32(*k.mask))
	}
	return k.err
}

// checkExperts refuses more experts per token than there are, which makes llama.cpp abort.
func (k *keys) checkExperts() {
	count := map[string]uint32{}
	for i := range k.list {
		if n, ok := k.list[i].Value.(uint32); ok {
			count[k.list[i].Key] = n
		}
	}
	arch := k.c.row.arch
	if used, all := count[arch+".expert_used_count"], count[arch+".expert_count"]; used > all && all > 0 {
		k.fail("num_experts_per_tok", k.c.get("num_experts_per_tok"), "a number of experts, of which there are "+itoa(int64(all)))
	}
}

// common adds the keys that most architectures have: TextModel in base.py.
func common(k *keys) {
	k.putArch("block_count", uint32(k.c.layers()))
	k.u32("context_length", "max_position_embeddings", "n_ctx", "n_positions", "max_length", "max_sequence_length", "model_max_length")
	k.u32("embedding_length", "hidden_size", "n_embd", "dim")
	if wide := []string{"prefix_dense_intermediate_size", "dense_intermediate_size", "intermediate_size", "n_inner", "hidden_dim"}; k.c.get(wide...).List() == nil { // a list is the row's
		k.u32("feed_forward_length", wide...)
	}
	k.u32("attention.head_count", "num_attention_heads", "n_head", "n_heads")
	k.u32("attention.head_count_kv", "num_key_value_heads", "n_kv_heads")
	if causal, ok := k.c.get("is_causal").Bool(); ok && !causal {
		k.putArch("attention.causal", false)
	}
	k.rope()
	k.f32("attention.layer_norm_rms_epsilon", "rms_norm_eps", "norm_eps")
	k.f32("attention.layer_norm_epsilon", "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon")
	k.u32("expert_count", "num_local_experts", "num_experts", "n_routed_experts")
	k.u32("expert_used_count", "num_experts_per_tok", "num_experts_per_token", "top_k_experts")
	k.u32("expert_group_count", "n_group")
	k.u32("expert_group_used_count", "topk_group")
	k.gating()
	k.u32("attention.key_length", "head_dim")
	k.u32("attention.value_length", "head_dim")
}

// gating adds the function that scores experts.
func (k *keys) gating() {
	v := k.c.get("score_function", "scoring_func", "score_func", "moe_router_activation", "moe_router_activation_func", "expert_selection_fn")
	if !v.There {
		return
	}
	n, ok := map[string]uint32{"softmax": 1, "sigmoid": 2}[v.String()]
	if !ok {
		k.fail("scoring_func", v, "a known function")
		return
	}
	k.putArch("expert_gating_func", n)
}

// requireMember refuses a member with another value than the one that llama.cpp assumes
// whatever the file says. An absent or null member is fine, a list or an object never is.
func (k *keys) requireMember(member, want string) {
	v := k.c.get(member)
	is, plain := written(v)
	if v.There && (!plain || is != want) {
		k.fail(member, v, want+", as llama.cpp assumes")
	}
}

// written returns a boolean, a text or a number as text.
func written(v jsontree.Value) (string, bool) {
	if b, ok := v.Bool(); ok {
		return boolText(b), true
	}
	if v.IsString() {
		return v.String(), true
	}
	if n, ok := v.Int(); ok {
		return itoa(n), true
	}
	f, ok := v.Float()
	return float32JSON(f), ok
}

// putPerLayer adds a number for each layer.
func (k *keys) putPerLayer(key string, of func(int64) int64) error {
	list, err := limits.Make[int32](k.b, int(k.c.layers()))
	for i := range list {
		list[i] = int32(of(int64(i)))
	}
	k.putArch(key, list)
	return err
}

// hasKey reports whether a key was added.
func (k *keys) hasKey(name string) bool {
	for i := range k.list {
		if k.list[i].Key == name {
			return true
		}
	}
	return false
}
