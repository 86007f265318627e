package family

import (
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// spmFile returns a sentencepiece BPE of the given pieces.
func spmFile(pieces ...string) []byte {
	var out []byte
	for _, text := range pieces {
		piece := append(protoBytes(1, text), 2<<3|5)
		piece = binary.LittleEndian.AppendUint32(piece, math.Float32bits(-1))
		out = append(out, protoBytes(1, string(piece))...)
	}
	return append(out, protoBytes(2, string(protoVarint(nil, 3, 2)))...)
}

// Under any limit the vocabulary of InternLM 2 is made or refused: it once panicked where
// the limit was reached between the keys of its tokens and of their types.
func TestInternLM2UnderAnyLimit(t *testing.T) {
	files := fstest.MapFS{tokenizer.SPMName: {Data: spmFile("<unk>", "[UNUSED_TOKEN_1]", "a", "b")}}
	kept, refused := 0, 0
	for most := int64(64); most < 1<<16; most += 16 {
		b := limits.Policy{MaxTotalBytes: most}.Budget(t.Context())
		r := &row{names: []string{"X"}, defaults: []preset{{"vocab_size", "4"}}}
		k := newTestKeys(b, r, files)
		err := internlm2Vocab(k)
		if err == nil {
			err = k.err
		}
		switch wire.ClassOf(err) {
		case wire.OK:
			kept++
		case wire.Limit:
			refused++
		default:
			t.Errorf("under %d bytes: %v", most, err)
		}
		b.Close()
	}
	if kept == 0 || refused == 0 {
		t.Errorf("%d kept, %d refused", kept, refused)
	}
}

// failingList is a list whose elements cannot be read.
type failingList struct {
	shortList
	err error
}

func (f failingList) Ints(*limits.Budget) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) { yield(0, f.err) }
}

// The error of reading a list is returned, not replaced.
func TestListErrorsAreKept(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	want := &limits.Error{Axis: limits.Total}
	s := &settings{b: b, row: lfm2Row, keys: map[string]any{"lfm2.block_count": uint32(2), "lfm2.attention.head_count_kv": failingList{err: want}},
		used: map[string]bool{}, tensors: map[string]*tensor.Info{}}
	s.headCounts("attention.head_count_kv")
	if !errors.Is(s.err, limits.ErrLimit) {
		t.Errorf("%v", s.err)
	}
}

// The number of a token is a whole number.
func TestTokenNumbersAreWhole(t *testing.T) {
	for _, v := range []any{math.NaN(), 0.5, float32(math.Inf(1)), -1.0} {
		r := &vocabWriter{s: &settings{keys: map[string]any{"tokenizer.ggml.bos_token_id": v}}, v: vocab{texts: []string{"a", "b"}}}
		if id := r.token("bos"); id != -1 {
			t.Errorf("%v is the token %d", v, id)
		}
	}
}

// numbersList is a list of whole numbers.
type numbersList struct {
	shortList
	list []int64
}

func (n numbersList) Len() int64 { return int64(len(n.list)) }
func (n numbersList) Ints(*limits.Budget) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		for _, v := range n.list {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// A number of a list that its type does not hold is refused, not cut.
func TestListNumbersAreNotCut(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	s := &settings{b: b, row: t5Row, keys: map[string]any{"tokenizer.ggml.precompiled_charsmap": numbersList{list: []int64{-1, 255, 256}}}}
	if _, err := (&vocabWriter{s: s}).charsmap(); wire.ClassOf(err) != wire.Malformed {
		t.Errorf("a character map: %v", err)
	}
	s = &settings{b: b, row: llamaRow, keys: map[string]any{"tokenizer.ggml.tokens": shortList{}, "tokenizer.ggml.token_type": numbersList{list: []int64{1, 1<<32 + 3}}},
		tensors: map[string]*tensor.Info{"token_embd.weight": {Shape: []int64{2, 2}}}}
	if err := (&vocabWriter{s: s}).read(); wire.ClassOf(err) != wire.Malformed {
		t.Errorf("types of tokens: %v", err)
	}
}

// Text of a file is quoted in messages, and a list is not printed as a Go value.
func TestMessagesQuoteValues(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	for v, want := range map[any]string{`x": y`: `"x\": y"`, shortList{1, 2}: "a list", true: "true", uint32(7): "7"} {
		s := &settings{b: b, row: llamaRow, keys: map[string]any{"llama.rope.scaling.type": v}, used: map[string]bool{}, tensors: map[string]*tensor.Info{}}
		s.rotations(8)
		if s.err == nil || !strings.HasSuffix(s.err.Error(), "its value is "+want) {
			t.Errorf("%v: %v", v, s.err)
		}
	}
}

// The same model has the same error each time: which of several missing experts is named
// does not depend on the order of a map.
func TestErrorsAreTheSameEachTime(t *testing.T) {
	seen := map[string]bool{}
	for range 40 {
		b := limits.Policy{}.Budget(t.Context())
		p := &planner{Plan: &Plan{}, b: b, c: &config{row: mixtralRow}, m: emptyModel{}, stacks: map[stackKey]int{}}
		for n := range 8 {
			p.Tensors = append(p.Tensors, Tensor{Name: "blk." + itoa(int64(n)) + ".ffn_up_exps.weight", Parts: make([]Part, 2)})
			p.stacks[stackKey{layer: int64(n)}] = n
		}
		seen[p.checkComplete(nil).Error()] = true
		b.Close()
	}
	if len(seen) != 1 {
		t.Errorf("%d errors: %v", len(seen), seen)
	}
}

// emptyModel is a model that has only a format.
type emptyModel struct{ tensor.Model }

func (emptyModel) Format() string { return "test" }

// The ranges of rows that a configuration asks for are charged before they are made.
func TestRowRangesAreChargedBeforeAllocation(t *testing.T) {
	b := limits.Policy{MaxTotalBytes: 1 << 20}.Budget(t.Context())
	defer b.Close()
	made := false
	n := &mapping{views: []view{{gguf: "attn_qkv", cuts: func(c *config) []cut {
		made = true
		return []cut{{rows: 3}}
	}}}}
	for heads, want := range map[string]wire.Class{"65536": wire.Limit, "64": wire.OK} {
		root, err := parseJSON(b, `{"num_key_value_heads": `+heads+`}`)
		if err != nil {
			t.Fatal(err)
		}
		made = false
		p := &planner{Plan: &Plan{}, b: b, c: &config{row: mixtralRow, root: root}}
		if _, err := p.cutsOf(n, 3); wire.ClassOf(err) != want || made != (want == wire.OK) {
			t.Errorf("%s heads: %v, made %v", heads, err, made)
		}
	}
}

// An invalid size is refused wherever a row reads it: for the sizes of tensors, for which layers
// have them, or for a key. Members that the row does not read may be what they like.
func TestSizesAreBoundedByWhoReadsThem(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	sizes := `"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 96, "vocab_size": 8, `
	for text, want := range map[string]wire.Class{
		`"architectures": ["LlamaForCausalLM"], "intermediate_size": -1`:                                    wire.Malformed,
		`"architectures": ["LlamaForCausalLM"], "kv_lora_rank": -1`:                                         wire.OK,
		`"architectures": ["Qwen2MoeForCausalLM"], "moe_intermediate_size": 4294967296`:                     wire.Malformed,
		`"architectures": ["Qwen2MoeForCausalLM"], "num_experts": -1`:                                       wire.Malformed,
		`"architectures": ["Lfm2MoeForCausalLM"], "num_dense_layers": -1`:                                   wire.Malformed,
		`"architectures": ["LlamaForCausalLM"], "num_dense_layers": -1`:                                     wire.OK,
		`"architectures": ["DistilBertModel"], "dim": 64, "n_heads": 4, "n_layers": 2, "hidden_dim": -96`:   wire.Malformed,
		`"architectures": ["ChatGLMModel"], "ffn_hidden_size": -96`:                                         wire.Malformed,
		`"architectures": ["LlamaForCausalLM"], "num_hidden_layers": -1`:                                    wire.Malformed,
		`"architectures": ["Llama4ForCausalLM"], "moe_layers": [` + strings.Repeat("0, ", maxLayers) + `0]`: wire.Malformed,
		`"architectures": ["LlamaForCausalLM"], "moe_layers": [` + strings.Repeat("0, ", maxLayers) + `0]`:  wire.OK,
		`"architectures": ["Qwen3NextForCausalLM"], "linear_num_key_heads": 3`:                              wire.Malformed,
		`"architectures": ["Ernie4_5_MoeForCausalLM"], "moe_layer_end_index": -1`:                           wire.OK,
		`"architectures": ["Ernie4_5_MoeForCausalLM"], "moe_layer_start_index": -1`:                         wire.Malformed,
	} {
		root, err := parseJSON(b, `{`+replaceMember(sizes, text)+`}`)
		if err != nil {
			t.Fatal(text, err)
		}
		if _, err := configOf(root); wire.ClassOf(err) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// replaceMember returns the members of text, and those of sizes that it does not state.
func replaceMember(sizes, text string) string {
	for one := range strings.SplitSeq(strings.TrimSuffix(sizes, ", "), ", ") {
		if name, _, _ := strings.Cut(one, ":"); !strings.Contains(text, name+":") {
			text += ", " + one
		}
	}
	return text
}

// Classes are found by their names: no two rows share one, and of several rows with one
// architecture of llama.cpp each says which files are its own.
func TestEachArchitectureHasOneRow(t *testing.T) {
	for _, list := range [][]*row{rows, projectors} {
		claimed := map[string]*row{}
		for _, r := range list {
			for _, name := range r.names {
				if claimed[name] != nil {
					t.Errorf("%s is in two rows", name)
				}
				claimed[name] = r
			}
		}
	}
	alone := map[string]int{}
	for _, r := range slices.Concat(rows, picked) {
		if r.back.members != nil || r.back.lost != "" {
			alone[r.arch]++
		}
	}
	for _, r := range slices.Concat(rows, picked) {
		if r.back.members != nil && alone[r.arch] > 1 && r.back.matches == nil {
			t.Errorf("%s of %s says nothing about which files of %s are its own", r.model, r.names[0], r.arch)
		}
	}
	if len(rows) < 130 || len(picked) != 3 || len(projectors) < 22 {
		t.Errorf("%d rows, %d that are chosen, %d of vision parts", len(rows), len(picked), len(projectors))
	}
}

// A file whose rotations two kinds of tensors scale is refused: config.json has one member for
// both.
func TestTwoScalingsOfRotationsAreRefused(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	s := &settings{b: b, row: phi3Row, tensors: map[string]*tensor.Info{ropeFreqs: {}, longNames[0]: {}, longNames[1]: {}}}
	p := &planner{Plan: &Plan{}, b: b, c: &config{row: phi3Row}, m: emptyModel{}}
	if _, err := p.readLongRope(s); wire.ClassOf(err) != wire.Unsupported {
		t.Errorf("%v", err)
	}
}

// A refusal says who lacks an architecture: llama.cpp, or this package.
func TestARefusalSaysWhoLacksAnArchitecture(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	if !slices.IsSorted(converterText) || !slices.IsSorted(converterParts) {
		t.Fatal("the classes of the converter are not sorted")
	}
	for class, want := range map[string]string{"RWKV7ForCausalLM": "there is no row for it yet", "InventedForCausalLM": "has none of that name", "Idefics3ForConditionalGeneration": "has none of that name"} {
		root, err := parseJSON(b, `{"architectures": ["`+class+`"], "vision_config": {"hidden_size": 8}}`)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := configOf(root); wire.ClassOf(err) != wire.Unsupported || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", class, err)
		}
	}
	root, err := parseJSON(b, `{"architectures": ["Granite4VisionForConditionalGeneration"], "vision_config": {"hidden_size": 8}}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := visionOf(root); wire.ClassOf(err) != wire.Unsupported || !strings.Contains(err.Error(), "there is no row for it yet") {
		t.Errorf("a vision part: %v", err)
	}
}
