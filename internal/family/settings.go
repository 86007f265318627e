package family

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// replace puts a member that may have been put before.
func (s *settings) replace(member, value string) {
	for i := range s.list {
		if s.list[i].name == member {
			s.list[i].value = value
			return
		}
	}
	s.put(member, value)
}

// float64JSON formats a number so that the same float64 is read.
func float64JSON(f float64) string {
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if f == math.Trunc(f) {
		text += ".0"
	}
	return text
}

// statedMembers puts the members of a decoder whose file states all of them.
func (s *settings) statedMembers() (hidden, heads int64) {
	hidden = s.requireInt("hidden_size", "embedding_length")
	s.requireInt("num_hidden_layers", "block_count")
	heads = s.requireInt("num_attention_heads", "attention.head_count")
	s.requireInt("num_key_value_heads", "attention.head_count_kv")
	s.requireInt("intermediate_size", "feed_forward_length")
	s.requireInt("max_position_embeddings", "context_length")
	s.optionalFloat("rms_norm_eps", "attention.layer_norm_rms_epsilon")
	return hidden, heads
}

// parallelResidual puts whether attention and the feed-forward layer read the same norm,
// which is the default.
func (s *settings) parallelResidual() {
	v, there := s.key("use_parallel_residual")
	on, isBool := v.(bool)
	if there && !isBool {
		s.fail(s.row.arch+".use_parallel_residual", "its value is %s", valueText(v))
	}
	s.put("use_parallel_residual", boolText(on || !there))
}

// An array is a list of values in a GGUF file, read on demand.
type array interface {
	Len() int64
	Strings(*limits.Budget) iter.Seq2[string, error]
	Ints(*limits.Budget) iter.Seq2[int64, error]
	Floats(*limits.Budget) iter.Seq2[float64, error]
}

// settings are the keys of a GGUF file while they are turned into members of config.json.
// The first error is kept.
type settings struct {
	b       *limits.Budget
	row     *row
	keys    map[string]any
	used    map[string]bool
	tensors map[string]*tensor.Info
	list    []preset
	as      string // the architecture in config.json, if the keys decide it
	err     error
}

// maxKeys bounds the keys of a file: published ones have some dozens.
const maxKeys = 4096

func newSettings(b *limits.Budget, m tensor.Model) (*settings, error) {
	s := &settings{b: b, keys: map[string]any{}, used: map[string]bool{}, tensors: map[string]*tensor.Info{}}
	for k, v := range m.Meta() {
		if len(s.keys) == maxKeys {
			return nil, wire.ErrUnsupported.Errorf("more than %d keys", maxKeys)
		}
		if err := b.Hold(128); err != nil {
			return nil, err
		}
		s.keys[k] = v
	}
	for i := range m.Tensors() {
		if err := b.Hold(256); err != nil {
			return nil, err
		}
		s.tensors[i.Name] = &i
	}
	return s, nil
}

func (s *settings) fail(key, want string, args ...any) {
	if s.err == nil {
		s.err = wire.At("gguf", "key "+wire.Quote(key), wire.NoOffset, wire.ErrUnsupported.Errorf(want, args...))
	}
}

// key returns the value of a key of the architecture and marks the key as used.
func (s *settings) key(key string) (any, bool) {
	key = s.row.arch + "." + key
	s.used[key] = true
	v, ok := s.keys[key]
	return v, ok
}

// number converts a number of any kind.
func number(v any) (float64, bool) {
	switch n := v.(type) {
	case uint8:
		return float64(n), true
	case int8:
		return float64(n), true
	case uint16:
		return float64(n), true
	case int16:
		return float64(n), true
	case uint32:
		return float64(n), true
	case int32:
		return float64(n), true
	case uint64:
		return float64(n), true
	case int64:
		return float64(n), true
	case float32:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

// valueText returns a value of a key as a message shows it.
func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return "missing"
	case string:
		return wire.Quote(v)
	case array:
		return "a list"
	}
	return fmt.Sprint(v)
}

// int returns a key as an integer; ok is false if the key is absent.
func (s *settings) int(key string) (int64, bool) {
	v, there := s.key(key)
	if !there {
		return 0, false
	}
	n, ok := number(v)
	if !ok || n != math.Trunc(n) || n < 0 || n > math.MaxUint32 {
		s.fail(s.row.arch+"."+key, "its value is not an unsigned 32-bit integer")
		return 0, false
	}
	return int64(n), true
}

// float returns a number as JSON: the shortest text that is read as the same float32.
func (s *settings) float(key string) (string, bool) {
	v, there := s.key(key)
	if !there {
		return "", false
	}
	n, ok := number(v)
	if !ok || math.IsNaN(n) || math.IsInf(n, 0) {
		s.fail(s.row.arch+"."+key, "its value is not a number")
		return "", false
	}
	return float32JSON(n), true
}

// float32JSON formats a float32 that is held in a float64.
func float32JSON(n float64) string {
	text := strconv.FormatFloat(n, 'g', -1, 32)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// put adds a member of config.json, its value as JSON.
func (s *settings) put(member, value string) {
	if s.err == nil {
		s.list, s.err = limits.Append(s.b, s.list, preset{member, value})
	}
}

func (s *settings) putInt(member string, n int64) { s.put(member, itoa(n)) }

// requireInt adds a member whose key must be there.
func (s *settings) requireInt(member, key string) int64 {
	n, ok := s.int(key)
	if !ok {
		s.fail(s.row.arch+"."+key, "it is missing, and %s depends on it", member)
	}
	s.putInt(member, n)
	return n
}

// optionalFloat adds a member if its key is there.
func (s *settings) optionalFloat(member, key string) bool {
	text, ok := s.float(key)
	if ok {
		s.put(member, text)
	}
	return ok
}

// expect returns an error if a key is there with another value than the one that the
// architecture always has.
func (s *settings) expect(key string, want float64) {
	v, there := s.key(key)
	if !there {
		return
	}
	n, ok := number(v)
	if truth, is := v.(bool); is {
		n, ok = map[bool]float64{true: 1}[truth], true
	}
	if !ok || n != want {
		s.fail(s.row.arch+"."+key, "its value is %s, but config.json can only express %v", valueText(v), want)
	}
}

// vocabRows returns the number of rows of the token embedding, or 0.
func (s *settings) vocabRows() int64 {
	if i := s.tensors["token_embd.weight"]; i != nil && len(i.Shape) == 2 {
		return i.Shape[0]
	}
	return 0
}

// rows returns the number of rows of a matrix.
func (s *settings) rows(name string) int64 {
	i := s.tensors[name]
	if i == nil || len(i.Shape) != 2 {
		if s.err == nil {
			s.err = wire.At("gguf", "", wire.NoOffset, wire.ErrMissing.Errorf("there is no matrix %s", wire.Quote(name)))
		}
		return 0
	}
	return i.Shape[0]
}

// common puts the members that most configurations have. It returns the width of the
// model, the number of heads and the width of a head.
func (s *settings) common() (hidden, heads, head int64) {
	hidden = s.requireInt("hidden_size", "embedding_length")
	s.requireInt("num_hidden_layers", "block_count")
	heads = s.requireInt("num_attention_heads", "attention.head_count")
	kv, ok := s.int("attention.head_count_kv")
	if !ok {
		kv = heads
	}
	s.putInt("num_key_value_heads", kv)
	s.requireInt("intermediate_size", "feed_forward_length")
	s.requireInt("max_position_embeddings", "context_length")
	s.optionalFloat("rms_norm_eps", "attention.layer_norm_rms_epsilon")
	s.vocabulary()
	if heads > 0 {
		head = hidden / heads
	}
	if n, ok := s.int("attention.key_length"); ok {
		head = n
	}
	s.expect("attention.value_length", float64(head))
	s.expect("attention.causal", 1)
	s.putInt("head_dim", head)
	return hidden, heads, head
}

// vocabulary puts the number of tokens, and whether the head is the token embedding.
func (s *settings) vocabulary() {
	n := s.rows("token_embd.weight")
	s.expect("vocab_size", float64(n))
	s.putInt("vocab_size", n)
	s.put("tie_word_embeddings", boolText(s.tensors["output.weight"] == nil))
}

func boolText(is bool) string { return strconv.FormatBool(is) }

// biases puts a member that says whether the named modules of all layers have a bias. With
// "" all of them must.
func (s *settings) biases(member string, layers int64, names ...string) {
	n := int64(0)
	for l := range layers {
		for _, name := range names {
			if s.tensors["blk."+itoa(l)+"."+name+".bias"] != nil {
				n++
			}
		}
	}
	all := layers * int64(len(names))
	if (n != 0 || member == "") && n != all && s.err == nil {
		s.err = wire.At("gguf", "", wire.NoOffset, wire.ErrMismatch.Errorf("%d of %d modules (%s) have a bias", n, all, strings.Join(names, ", ")))
	}
	if member != "" {
		s.put(member, boolText(n > 0))
	}
}

var (
	projections = []string{"attn_q", "attn_k", "attn_v", "attn_output"}
	feed        = []string{"ffn_gate", "ffn_up", "ffn_down"}
)

// layers returns the number of layers, at most maxLayers; configOf refuses more.
func (s *settings) layers() int64 {
	n, _ := s.int("block_count")
	return min(n, maxLayers)
}

// checkUnused refuses keys of the architecture that no member was made of.
func (s *settings) checkUnused() error {
	for _, key := range slices.Sorted(maps.Keys(s.keys)) {
		if strings.HasPrefix(key, s.row.arch+".") && !s.used[key] {
			s.fail(key, "no member of config.json corresponds to it")
		}
	}
	return s.err
}

// config returns config.json.
func (s *settings) config() ([]byte, error) {
	s.row.back.members(s)
	if err := s.checkUnused(); err != nil {
		return nil, err
	}
	return s.encode()
}

// outRow returns the row of the folder that is made.
func (s *settings) outRow() *row { return cmp.Or(s.row.back.row, s.row) }

// architecture returns the architecture of the folder that is made.
func (s *settings) architecture() string {
	r := s.outRow()
	return cmp.Or(s.as, r.back.arch, r.names[0])
}

// encode returns config.json with the members put so far.
func (s *settings) encode() ([]byte, error) {
	w := jsontree.NewText(s.b)
	w.Put("{\n  \"architectures\": [\"", s.architecture(), "\"],\n  \"model_type\": \"", s.outRow().model, "\"")
	for _, m := range slices.Concat(s.list, s.tokens()) {
		w.Put(",\n  ")
		w.Quote(m.name)
		w.Put(": ", m.value)
	}
	w.Put("\n}\n")
	return w.Done()
}

// tokens returns the members for special tokens. A number beyond the vocabulary is left
// out: llama.cpp ignores it, and transformers would not load the folder.
func (s *settings) tokens() (list []preset) {
	for _, name := range []string{"bos", "eos", "pad"} {
		if n, ok := number(s.keys["tokenizer.ggml."+specialKeys[name]+"_token_id"]); ok && n >= 0 && n == math.Trunc(n) && n < float64(s.vocabRows()) {
			list = append(list, preset{name + "_token_id", itoa(int64(n))})
		}
	}
	return list
}
