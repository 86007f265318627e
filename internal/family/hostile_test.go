package family

import (
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// membersRead lists the members of a configuration that the package asks for, by the calls that
// do it: all of them, and those of each file.
func membersRead(t *testing.T) (all []string, own map[string][]string) {
	t.Helper()
	asks := map[string]bool{"int": true, "get": true, "bool": true, "u32": true, "f32": true, "requireMember": true, "globalMember": true, "factor": true, "every": true}
	found := map[string]bool{"architectures": false, "rope_parameters": true, "rope_scaling": true}
	own = map[string][]string{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := goparser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			of := ""
			switch f := call.Fun.(type) {
			case *ast.Ident:
				of = f.Name
			case *ast.SelectorExpr:
				of = f.Sel.Name
			}
			for _, arg := range call.Args {
				if lit, ok := arg.(*ast.BasicLit); ok && asks[of] && lit.Kind == token.STRING && !strings.Contains(lit.Value, ".") {
					member, _ := strconv.Unquote(lit.Value)
					found[member] = found[member] || member != "architectures"
					if found[member] && !slices.Contains(own[file], member) && member != "" {
						own[file] = append(own[file], member)
					}
				}
			}
			return true
		})
	}
	list := slices.DeleteFunc(slices.Sorted(maps.Keys(found)), func(n string) bool { return !found[n] || n == "" })
	if len(list) < 150 {
		t.Fatalf("only %d members are found", len(list))
	}
	return list, own
}

// ownMembers returns the members that the file of a row's keys asks for.
func ownMembers(r *row, of map[string][]string) []string {
	f := runtime.FuncForPC(reflect.ValueOf(r.keys).Pointer())
	name, _ := f.FileLine(f.Entry())
	return of[path.Base(name)]
}

var hostileValues = []string{
	"-1", "0", "1", "2", "3", "4", "8", "64", "512", "4096", "65536", "1048576", "2147483648", "9223372036854775807", "1e308", "-1e-300", "0.5", `"x"`, `""`, "true", "false", "null", "[]", "{}", `["x"]`, "[-1]",
	"[0, 1, 2]", `["full_attention", "sliding_attention", "mamba", "attention"]`, `"M*-E"`, `{"0": "a", "1": "b"}`, `{"0": {"head_dim": 8}}`, `"relu"`, `"gated-gelu"`, `"silu"`, `"sigmoid"`,
	`{"rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 8, "mscale_all_dim": 1}`, `{"rope_type": "llama3"}`, `{"long_factor": [1], "short_factor": []}`,
	`{"full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1}, "sliding_attention": {"rope_theta": 2}}`, `{"deepstack_visual_indexes": [0, 1]}`, `{"hidden_size": 8, "depth": 2, "num_heads": 2}`, `{"alibi": true, "alibi_bias_max": 8, "kv_n_heads": -3}`, `{"alibi": true, "alibi_bias_max": "x", "clip_qkv": 1e308}`,
}

// A draft is a configuration that a row is given: the members of its own part, those of a text
// model whose vision part it is, and which member holds that part.
type draft struct {
	row         *row
	own, around map[string]string
	part        string
}

// newDraft returns one with the sizes that all need.
func newDraft(r *row) *draft {
	d := &draft{row: r, own: map[string]string{"hidden_size": "64", "num_attention_heads": "4", "num_hidden_layers": "4", "intermediate_size": "96", "vocab_size": "8"}, around: map[string]string{}}
	if slices.Contains(projectors, r) {
		d.part = visionMember(r)
		d.around["text_config"] = `{"hidden_size": 64}`
		for name, value := range map[string]string{"patch_size": "2", "image_size": "8", "num_channels": "3", "spatial_merge_size": "1", "depth": "4", "num_heads": "4"} {
			d.own[name] = value
		}
	}
	return d
}

// text writes the configuration under one of the row's names.
func (d *draft) text(name string) string {
	object := func(text string, members map[string]string) string {
		for _, name := range slices.Sorted(maps.Keys(members)) {
			text += fmt.Sprintf(", %q: %s", name, members[name])
		}
		return text + "}"
	}
	text := fmt.Sprintf(`{"architectures": [%q]`, name)
	if d.part == "" {
		return object(text, d.own)
	}
	return object(text+fmt.Sprintf(", %q: ", d.part)+object(`{"initializer_range": 1`, d.own), d.around)
}

// For any configuration, each row computes keys and shapes or refuses it, within the account: for
// some members of all rows, and for each member that the row's own file asks for.
func TestHostileConfigurations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	all, of := membersRead(t)
	asked, kept := 0, 0
	ask := func(d *draft) {
		asked++
		if hostile(t, d.text(d.row.names[r.IntN(len(d.row.names))]), d.part != "") {
			kept++
		}
	}
	for _, row := range slices.Concat(rows, projectors) {
		for range 30 {
			d := newDraft(row)
			for range r.IntN(12) {
				to := d.own
				if d.part != "" && r.IntN(8) == 0 {
					to = d.around
				}
				to[all[r.IntN(len(all))]] = hostileValues[r.IntN(len(hostileValues))]
			}
			ask(d)
		}
		for _, member := range ownMembers(row, of) {
			for _, value := range hostileValues {
				d := newDraft(row)
				d.own[member] = value
				ask(d)
			}
		}
	}
	if kept < asked/10 || kept > asked*9/10 {
		t.Errorf("%d of %d configurations are kept: they say little", kept, asked)
	}
}

// configIn reads a configuration, or that of its vision part.
func configIn(t *testing.T, b *limits.Budget, text string, projector bool) (*config, error) {
	t.Helper()
	root, err := parseJSON(b, text)
	if err != nil {
		t.Fatal(err)
	}
	if projector {
		return visionOf(root)
	}
	return configOf(root)
}

// hostile reports a configuration of which keys were made.
func hostile(t *testing.T, text string, projector bool) bool {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	c, err := configIn(t, b, text, projector)
	if err != nil {
		return false
	}
	p := &planner{Plan: &Plan{Arch: c.row.arch}, b: b, c: c}
	for l := range min(c.layers(), 6) {
		shapes(p, c.row.layers(), l)
	}
	shapes(p, c.row.outer, 0)
	_ = p.derivedTensors()
	k := &keys{b: b, c: c, files: fstest.MapFS{}, plan: p.Plan}
	c.row.keys(k)
	switch wire.ClassOf(k.err) {
	case wire.OK, wire.Malformed, wire.Unsupported, wire.Limit:
	default:
		t.Fatalf("%s: %v", text, k.err)
	}
	for _, one := range k.list {
		if f, ok := one.Value.(float32); ok && k.err == nil && (math.IsInf(float64(f), 0) || math.IsNaN(float64(f))) {
			t.Errorf("%s: %s is %v", text, one.Key, f)
		}
	}
	return k.err == nil
}

// shapes asks for those of all names.
func shapes(p *planner, list []mapping, layer int64) {
	for i := range list {
		at := location{name: &list[i], index: i, layer: layer, outer: p.c.row.layer == "", expert: -1}
		if !at.exists(p.c) {
			continue
		}
		_ = strings.Clone(p.target(&at))
		if _, err := p.shape(&at); err != nil {
			continue
		}
		for at.view = range at.name.views {
			v := &at.name.views[at.view]
			if v.cuts != nil {
				_, _ = p.cutsOf(at.name, 64)
				continue
			}
			shape := v.shape(p.c)
			strides, first := v.strides(p.c)
			if v.sourceShape != nil {
				shape = v.sourceShape(p.c)
			}
			_ = checkView(4096, shape, strides, first, v)
		}
	}
}

// hostileKeys are keys of an architecture, and what stands for them.
var hostileKeys = []string{
	"block_count", "context_length", "embedding_length", "feed_forward_length", "attention.head_count", "attention.head_count_kv", "attention.key_length", "attention.value_length", "rope.dimension_count",
	"rope.freq_base", "rope.scaling.type", "rope.scaling.factor", "rope.scaling.original_context_length", "attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon", "expert_count", "expert_used_count",
	"expert_feed_forward_length", "expert_shared_feed_forward_length", "leading_dense_block_count", "decoder_block_count", "decoder_start_token_id", "attention.relative_buckets_count", "vocab_size", "pooling_type",
	"classifier.output_labels", "attention.sliding_window", "attention.causal", "attention.kv_lora_rank", "attention.q_lora_rank", "attention.key_length_mla", "attention.value_length_mla", "expert_gating_func",
	"attention.key_length_swa", "attention.value_length_swa", "rope.dimension_count_swa", "rope.freq_base_swa", "attention.shared_kv_layers", "attention.sliding_window_pattern", "attention.recurrent_layers",
	"embedding_length_per_layer_input", "ssm.conv_kernel", "ssm.state_size", "ssm.group_count", "ssm.inner_size", "ssm.time_step_rank", "rope.scaling.finetuned", "full_attention_interval", "nextn_predict_layers",
	"rope.dimension_sections", "n_deepstack_layers", "rope.scaling.attn_factor", "rope.scaling.yarn_log_multiplier", "attention.temperature_scale", "final_logit_softcapping", "expert_shared_count",
	"expert_weights_norm", "expert_weights_scale",
	"expert_group_count", "interleave_moe_layer_step", "shortconv.l_cache", "hidden_activation", "logit_scale", "embedding_scale", "residual_scale", "attention.scale",
}

// An array of a file that holds what it likes.
type hostileArray struct{ n int64 }

func (a hostileArray) Len() int64 { return a.n }
func (a hostileArray) Strings(*limits.Budget) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { _ = yield("\xff\"", nil) && yield("", wire.ErrSyntax) }
}
func (a hostileArray) Ints(*limits.Budget) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) { _ = yield(-1, nil) && yield(0, wire.ErrSyntax) }
}
func (a hostileArray) Floats(*limits.Budget) iter.Seq2[float64, error] {
	return func(yield func(float64, error) bool) { _ = yield(math.NaN(), nil) && yield(0, wire.ErrSyntax) }
}

func (a hostileArray) Bools(*limits.Budget) iter.Seq2[bool, error] {
	return func(yield func(bool, error) bool) { _ = yield(true, nil) && yield(false, wire.ErrSyntax) }
}

// A list of numbers, or of booleans, one for each of two layers.
type shortList struct{ a, b int64 }

func (a shortList) Len() int64 { return 2 }
func (a shortList) Strings(*limits.Budget) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { _ = yield("a", nil) && yield("b", nil) }
}
func (a shortList) Floats(*limits.Budget) iter.Seq2[float64, error] {
	return func(yield func(float64, error) bool) { _ = yield(float64(a.a), nil) && yield(float64(a.b), nil) }
}
func (a shortList) Ints(*limits.Budget) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) { _ = yield(a.a, nil) && yield(a.b, nil) }
}
func (a shortList) Bools(*limits.Budget) iter.Seq2[bool, error] {
	return func(yield func(bool, error) bool) { _ = yield(a.a > 0, nil) && yield(a.b > 0, nil) }
}

// A special token that the vocabulary does not have is ignored.
func TestTokensBeyondTheVocabulary(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	s := &settings{b: b, row: llamaRow, keys: map[string]any{
		"tokenizer.ggml.bos_token_id": uint32(1), "tokenizer.ggml.eos_token_id": uint32(8), "tokenizer.ggml.padding_token_id": int32(-1),
	}, tensors: map[string]*tensor.Info{"token_embd.weight": {Shape: []int64{8, 2}}}}
	if list := s.tokens(); len(list) != 1 || list[0] != (preset{"bos_token_id", "1"}) {
		t.Errorf("%v", list)
	}
}

// For any keys of a GGUF file, each row writes a configuration that it can read again, or refuses
// them.
func TestHostileKeys(t *testing.T) {
	ledger.Charges(t)
	r := rand.New(rand.NewPCG(3, 4))
	values := []any{uint32(0), uint32(1), uint32(2), uint32(4), uint32(64), uint32(1 << 31), int32(-1), uint64(1 << 63), float32(1e-5), float64(-1e308), math.NaN(), "yarn", "linear", "none", "\xff", true, false, hostileArray{1}, hostileArray{2}, hostileArray{1 << 60}, shortList{0, 2}, shortList{2, 4}, shortList{-1, 1 << 40}, shortList{1, 1}, nil}
	kept, asked := 0, 0
	for range 120 {
		for _, one := range slices.Concat(rows, picked) {
			if one.back.members == nil {
				continue
			}
			b := limits.Policy{}.Budget(t.Context())
			s := &settings{b: b, row: one, keys: map[string]any{}, used: map[string]bool{}, tensors: map[string]*tensor.Info{}}
			for _, key := range []string{"block_count", "embedding_length", "attention.head_count", "feed_forward_length", "context_length"} {
				s.keys[one.arch+"."+key] = uint32(2)
			}
			s.tensors["token_embd.weight"] = &tensor.Info{Name: "token_embd.weight", Shape: []int64{8, 2}}
			for range r.IntN(20) {
				s.keys[one.arch+"."+hostileKeys[r.IntN(len(hostileKeys))]] = values[r.IntN(len(values))]
				name := fmt.Sprintf("blk.%d.%s", r.IntN(3), []string{"attn_q.bias", "ffn_gate.weight", "attn_norm.bias", "ffn_gate_shexp.weight", "exp_probs_b.bias", "attn_v.weight", "ssm_conv1d.weight", "ssm_norm.weight", "ffn_up.weight"}[r.IntN(9)])
				s.tensors[name] = &tensor.Info{Name: name, Shape: []int64{2}}
			}
			asked++
			text, err := s.config()
			if err == nil {
				kept++
				_, err = s.read(text)
			}
			if c := wire.ClassOf(err); c != wire.OK && c != wire.Malformed && c != wire.Unsupported && c != wire.Limit {
				t.Fatalf("%s: %v: %v", one.arch, s.keys, err)
			}
			b.Close()
		}
	}
	if kept == 0 {
		t.Errorf("none of %d configurations is kept", asked)
	}
}

// A number that no float32 holds is refused, and does not become infinite; and so is what
// llama.cpp would abort at, or takes no notice of.
func TestKeysAreFinite(t *testing.T) {
	for _, more := range []string{`"architectures": ["LlamaForCausalLM"], "rope_theta": 1e308`, `"architectures": ["LlamaForCausalLM"], "rope_theta": 0`, `"architectures": ["LlamaForCausalLM"], "rope_theta": -10000.0`,
		`"architectures": ["LlamaForCausalLM"], "rope_theta": 1e4, "rope_scaling": {"rope_type": "linear", "factor": 0}`, `"architectures": ["MiniCPMForCausalLM"], "dim_model_base": 1e-320`, `"architectures": ["LlamaForCausalLM"], "rms_norm_eps": -1`, `"architectures": ["ExaoneForCausalLM"], "activation_function": []`, `"architectures": ["MambaForCausalLM"], "intermediate_size": 128, "time_step_rank": 1.5`, `"architectures": ["MambaForCausalLM"], "intermediate_size": 128, "expand": 3`} {
		if hostile(t, `{"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": 8, `+more+"}", false) {
			t.Errorf("%s is taken", more)
		}
	}
}
