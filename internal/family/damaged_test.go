package family

import (
	"bytes"
	"io"
	"io/fs"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A listedModel is a model of which a test lists the tensors. All have the same bytes.
type listedModel struct {
	tensor.Model
	list   []tensor.Info
	meta   []Key
	files  fstest.MapFS
	body   []byte
	packed bool // no tensor can be read at an offset
}

func (m *listedModel) Format() string                 { return "test" }
func (m *listedModel) Len() int                       { return len(m.list) }
func (m *listedModel) Configs() fs.FS                 { return m.files }
func (m *listedModel) Tensors() iter.Seq[tensor.Info] { return slices.Values(m.list) }
func (m *listedModel) At(tensor.Info) (io.ReaderAt, bool) {
	return bytes.NewReader(m.body), !m.packed
}
func (m *listedModel) Meta() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, k := range m.meta {
			if !yield(k.Key, k.Value) {
				return
			}
		}
	}
}

// with returns a model that differs.
func (m *listedModel) with(change func(m *listedModel)) *listedModel {
	other := *m
	other.list, other.meta = slices.Clone(m.list), slices.Clone(m.meta)
	change(&other)
	return &other
}

// biasName returns the name by which a row says that llama.cpp requires a bias.
func biasName(n *mapping) string {
	if len(n.views) == 1 {
		return n.views[0].gguf
	}
	return n.gguf
}

// modelOf returns a model with each tensor that a configuration asks for, in the smallest of the
// sizes that it gives.
func modelOf(t *testing.T, b *limits.Budget, text string, projector bool) *listedModel {
	t.Helper()
	m := &listedModel{files: fstest.MapFS{configName: {Data: []byte(text)}}, body: make([]byte, 1<<16)}
	p, err := reading(b, m, Options{Projector: projector})
	if err != nil {
		return nil
	}
	list := func(all []mapping, layer int64, outer bool) {
		for i := range all {
			at := location{name: &all[i], index: i, layer: layer, outer: outer, expert: -1}
			if !at.exists(p.c) || at.name.optional {
				continue
			}
			shape, err := p.shape(&at)
			if err != nil {
				t.Fatal(err)
			}
			biases := []bool{false}
			if slices.Contains(p.c.row.biased, biasName(at.name)) {
				biases = []bool{false, true}
			}
			for _, at.bias = range biases {
				if at.bias {
					shape, _ = p.shape(&at)
				}
				name, count := at.hfName(p.c), int64(1)
				if strings.Contains(name, "*") {
					count = p.c.matrices(at.name)
				}
				for e := range min(count, 16) {
					m.list = append(m.list, tensor.Info{Name: strings.Replace(name, "*", itoa(e), 1), DType: tensor.F32, Shape: slices.Clone(shape)})
				}
			}
		}
	}
	list(p.c.row.outer, 0, true)
	for l := range min(p.c.layers(), 8) {
		list(p.c.row.layers(), l, false)
	}
	return m
}

// generous are members that many rows ask for: without them their models have parts of no size.
var generous = map[string]string{
	"num_experts": "4", "num_local_experts": "4", "n_routed_experts": "4", "moe_num_experts": "4", "num_experts_per_tok": "2", "moe_intermediate_size": "32", "kv_lora_rank": "16", "q_lora_rank": "24",
	"qk_nope_head_dim": "8", "qk_rope_head_dim": "8", "v_head_dim": "8", "shared_intermediate_size": "32", "mup_enabled": "true", "first_k_dense_replace": "1", "max_position_embeddings": "64", "rms_norm_eps": "1e-5",
	"layer_norm_epsilon": "1e-5", "layer_norm_eps": "1e-5", "rope_theta": "10000", "hidden_act": `"silu"`,
	"n_shared_experts": "1", "num_shared_experts": "1", "attention_multiplier": "0.5", "embedding_multiplier": "2", "residual_multiplier": "0.5", "logits_scaling": "2", "decoder_start_token_id": "0", "shared_expert_intermediate_size": "32",
}

// drafts returns configurations of a row, from the one that states most.
func drafts(r *row) (list []*draft) {
	for _, without := range [][]string{nil, {"layer_norm_epsilon", "layer_norm_eps", "experts"}, {"experts"}, {"layer_norm_epsilon", "layer_norm_eps", "max_position_embeddings"}} {
		d := newDraft(r)
		for name, value := range generous {
			if left := slices.Contains(without, name) || slices.Contains(without, "experts") && strings.Contains(name, "expert"); d.part == "" && !left {
				d.own[name] = value
			}
		}
		list = append(list, d)
	}
	return append(list, newDraft(r))
}

// A damage changes one thing of a model: its tensor n.
type damage struct {
	name   string
	change func(m *listedModel, n int)
	// refused says that no model with it is planned with that tensor.
	refused bool
}

var damages = []damage{
	{"it is missing", func(m *listedModel, n int) { m.list = slices.Delete(m.list, n, n+1) }, false},
	{"it is there twice", func(m *listedModel, n int) { m.list = append(m.list, m.list[n]) }, true},
	{"it is of integers", func(m *listedModel, n int) { m.list[n].DType = tensor.I16 }, false},
	{"it is of an unknown type", func(m *listedModel, n int) { m.list[n].DType = tensor.Unknown }, true},
	{"it is of blocks", func(m *listedModel, n int) { m.list[n].DType = tensor.Q8_0 }, false},
	{"it is of half precision", func(m *listedModel, n int) { m.list[n].DType = tensor.F16 }, false},
	{"it has one row more", func(m *listedModel, n int) {
		m.list[n].Shape = slices.Clone(m.list[n].Shape)
		m.list[n].Shape[0]++
	}, true},
	{"it has one dimension more", func(m *listedModel, n int) { m.list[n].Shape = append(slices.Clone(m.list[n].Shape), 1) }, true},
	{"it has another name", func(m *listedModel, n int) { m.list[n].Name = "other." + m.list[n].Name }, false},
	{"it is of a layer that there is not", func(m *listedModel, n int) { m.list[n].Name = strings.Replace(m.list[n].Name, ".0.", ".77.", 1) }, false},
	{"it is of an expert that there is not", func(m *listedModel, n int) {
		m.list[n].Name = strings.Replace(m.list[n].Name, "experts.0.", "experts.99.", 1)
	}, false},
	{"it is of an expert that has it", func(m *listedModel, n int) {
		m.list[n].Name = strings.Replace(m.list[n].Name, "experts.0.", "experts.1.", 1)
	}, false},
	{"it is a bias", func(m *listedModel, n int) { m.list[n].Name = strings.TrimSuffix(m.list[n].Name, ".weight") + ".bias" }, false},
	{"it is a view", func(m *listedModel, n int) {
		m.list[n].Strides = make([]int64, len(m.list[n].Shape))
		for i := range m.list[n].Strides {
			m.list[n].Strides[i] = 1
		}
	}, false},
	{"it is big-endian", func(m *listedModel, n int) { m.list[n].Order = tensor.Big }, false},
	{"nothing is read at an offset", func(m *listedModel, n int) { m.packed = true }, false},
	{"its numbers are none", func(m *listedModel, n int) { m.body = bytes.Repeat([]byte{0xff}, 1<<16) }, false},
}

// For each row a model with all of its tensors is planned, and each change of one tensor either is
// refused by a class of the file, or leaves a plan in which nothing is made of what is not there.
func TestDamagedModelsAreRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	planned, refused, asked := 0, 0, 0
	for _, of := range slices.Concat(rows, projectors) {
		m, text, names := wholeModel(t, of)
		if m == nil {
			continue
		}
		planned++
		for _, d := range damages {
			for range 2 {
				n := r.IntN(m.Len())
				if strings.Contains(d.name, "expert") {
					n = max(n, slices.IndexFunc(m.list, func(i tensor.Info) bool { return strings.Contains(i.Name, "experts.0.") }))
				}
				asked++
				b := limits.Policy{}.Budget(t.Context())
				p, err := New(b, m.with(func(m *listedModel) { d.change(m, n) }), Options{TensorsAlone: true, Projector: slices.Contains(projectors, of)})
				b.Close()
				switch c := wire.ClassOf(err); {
				case err == nil && d.refused && uses(p, m.list[n].Name):
					t.Errorf("%s is planned, and of %s %s", text, m.list[n].Name, d.name)
				case err == nil && len(p.Tensors) > names:
					t.Errorf("%s: %d tensors, and of %s %s: %d", text, names, m.list[n].Name, d.name, len(p.Tensors))
				case err == nil:
				case c != wire.Malformed && c != wire.Unsupported:
					t.Errorf("%s: of %s %s: %v", text, m.list[n].Name, d.name, err)
				default:
					refused++
				}
			}
		}
	}
	if planned < 130 || refused < asked/2 {
		t.Errorf("%d models, %d of %d changes of them are refused", planned, refused, asked)
	}
}

// uses reports whether something is made of a tensor.
func uses(p *Plan, name string) bool {
	return slices.ContainsFunc(p.Tensors, func(t Tensor) bool {
		return slices.ContainsFunc(t.Parts, func(p Part) bool { return p.Info.Name == name })
	})
}

// wholeModel returns a model of a row that is planned, its configuration, and of how many tensors
// the plan is; nil if none of the drafts has one.
func wholeModel(t *testing.T, r *row) (*listedModel, string, int) {
	t.Helper()
	for _, d := range drafts(r) {
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		text := d.text(r.names[0])
		m := modelOf(t, b, text, d.part != "")
		if m == nil {
			continue
		}
		if p, err := New(b, m, Options{TensorsAlone: true, Projector: d.part != ""}); err == nil {
			return m, text, len(p.Tensors)
		}
	}
	return nil, "", 0
}

// The file of a plan is planned back to the tensors that it was made of, or refused; and a change of
// one of its tensors or keys is refused by a class of the file, or leaves a folder in which nothing
// is made of what is not there.
func TestDamagedFilesAreNotRestored(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	restored, refused, asked := 0, 0, 0
	back := func(g *listedModel) (*Folder, error) {
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		f, err := Back(b, g, "float32", true)
		if f != nil && err != nil && strings.Contains(err.Error(), "tokenizer.ggml.") {
			err = nil // these files have no vocabulary
		}
		return f, err
	}
	for _, of := range rows {
		if of.back.members == nil {
			continue
		}
		g, m := wholeFile(t, of, back)
		if g == nil {
			continue
		}
		restored++
		f, _ := back(g)
		sameNames(t, of, m, f)
		for _, d := range damages {
			for range 2 {
				n := r.IntN(g.Len())
				asked++
				is, err := back(g.with(func(m *listedModel) { d.change(m, n) }))
				switch c := wire.ClassOf(err); {
				case err == nil && d.refused && uses(&Plan{Tensors: is.Tensors}, g.list[n].Name) && !(of.back.fewerTokens && g.list[n].Name == "token_embd.weight"):
					t.Errorf("%s is restored, and of %s %s", of.names[0], g.list[n].Name, d.name)
				case err == nil:
				case c != wire.Malformed && c != wire.Unsupported:
					t.Errorf("%s: of %s %s: %v", of.names[0], g.list[n].Name, d.name, err)
				default:
					refused++
				}
			}
		}
		for n := range g.meta {
			for _, v := range []any{nil, uint32(0), uint32(3), uint32(1 << 31), "x", true, float32(0.1), shortList{1, 2}} {
				asked++
				_, err := back(g.with(func(m *listedModel) {
					if m.meta[n].Value = v; v == nil {
						m.meta = slices.Delete(m.meta, n, n+1)
					}
				}))
				if c := wire.ClassOf(err); err != nil && c != wire.Malformed && c != wire.Unsupported {
					t.Errorf("%s: %s is %v: %v", of.names[0], g.meta[n].Key, v, err)
				} else if err != nil {
					refused++
				}
			}
		}
	}
	if restored < 50 || refused < asked/2 {
		t.Errorf("%d files, %d of %d changes of them are refused", restored, refused, asked)
	}
}

// wholeFile returns a file of a row that is restored, and the model that it was made of.
func wholeFile(t *testing.T, r *row, back func(*listedModel) (*Folder, error)) (g, m *listedModel) {
	t.Helper()
	for _, d := range drafts(r) {
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		m := modelOf(t, b, d.text(r.names[0]), false)
		if m == nil {
			continue
		}
		p, err := New(b, m, Options{TensorsAlone: true})
		if err != nil {
			continue
		}
		if g := ggufOf(t, b, m, p); g != nil {
			if _, err = back(g); err == nil {
				return g, m
			}
		}
	}
	return nil, nil
}

// sameNames compares the names and shapes of a folder with those that it was made of.
func sameNames(t *testing.T, of *row, m *listedModel, f *Folder) {
	t.Helper()
	if of.back.row != nil {
		return // the folder is of another class
	}
	have := map[string][]int64{}
	for _, one := range f.Tensors {
		have[one.Name] = one.Shape
	}
	for _, one := range m.list {
		shape, ok := have[one.Name]
		if !ok {
			continue
		}
		if !slices.Equal(shape, one.Shape) {
			t.Errorf("%s: %s is %v, and %v when it is restored", of.names[0], one.Name, one.Shape, shape)
		}
		delete(have, one.Name)
	}
	if len(have) > 0 {
		t.Errorf("%s: %d tensors are restored that there were not: %v", of.names[0], len(have), have)
	}
}

// A valueList is a list of a file.
type valueList struct {
	array
	list []float64
}

func listOf[T any](from []T, number func(T) float64) (l valueList) {
	for _, v := range from {
		l.list = append(l.list, number(v))
	}
	return l
}

func (l valueList) Len() int64 { return int64(len(l.list)) }
func (l valueList) Ints(*limits.Budget) iter.Seq2[int64, error] {
	return eachOf(l.list, func(f float64) int64 { return int64(f) })
}
func (l valueList) Floats(*limits.Budget) iter.Seq2[float64, error] {
	return eachOf(l.list, func(f float64) float64 { return f })
}
func (l valueList) Bools(*limits.Budget) iter.Seq2[bool, error] {
	return eachOf(l.list, func(f float64) bool { return f != 0 })
}

func eachOf[T any](list []float64, of func(float64) T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, f := range list {
			if !yield(of(f), nil) {
				return
			}
		}
	}
}

// ggufOf returns the file of a plan, without a vocabulary, or nil if the configuration lacks what a key needs.
func ggufOf(t *testing.T, b *limits.Budget, m *listedModel, p *Plan) *listedModel {
	t.Helper()
	of, err := reading(b, m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	k := &keys{b: b, c: of.c, files: fstest.MapFS{}, plan: p, find: find}
	if of.c.row.keys(k); k.err != nil {
		return nil
	}
	g := &listedModel{body: m.body, meta: []Key{{"general.architecture", p.Arch}}}
	for _, one := range k.list {
		switch list := one.Value.(type) {
		case []int32:
			one.Value = listOf(list, func(n int32) float64 { return float64(n) })
		case []uint32:
			one.Value = listOf(list, func(n uint32) float64 { return float64(n) })
		case []float32:
			one.Value = listOf(list, func(n float32) float64 { return float64(n) })
		case []bool:
			one.Value = listOf(list, func(is bool) float64 { return float64(btoi(is)) })
		}
		g.meta = append(g.meta, one)
	}
	for _, one := range p.Tensors {
		g.list = append(g.list, tensor.Info{Name: one.Name, DType: one.DType, Shape: one.Shape})
	}
	return g
}

// A file whose keys choose another row than its architecture is refused as a contradiction: of
// Granite's hybrids one with attention in every layer is Granite 3.
func TestKeysOfAnotherArchitecture(t *testing.T) {
	for _, c := range []struct {
		heads valueList
		class wire.Class
	}{{listOf([]int32{0, 4, 4, 0}, func(n int32) float64 { return float64(n) }), wire.OK}, {listOf([]int32{4, 4, 4, 4}, func(n int32) float64 { return float64(n) }), wire.Malformed}} {
		b := limits.Policy{}.Budget(t.Context())
		s := &settings{b: b, row: graniteHybridRow, keys: map[string]any{}, used: map[string]bool{}, tensors: map[string]*tensor.Info{"token_embd.weight": {Shape: []int64{8, 64}}}}
		for key, value := range map[string]any{
			"block_count": uint32(4), "embedding_length": uint32(64), "attention.head_count": uint32(4), "attention.head_count_kv": c.heads, "feed_forward_length": uint32(96), "context_length": uint32(1 << 20),
			"attention.layer_norm_rms_epsilon": float32(1e-5), "attention.scale": float32(0.5), "embedding_scale": float32(1), "residual_scale": float32(1), "logit_scale": float32(1), "rope.dimension_count": uint32(16),
			"expert_shared_feed_forward_length": uint32(96), "ssm.conv_kernel": uint32(4), "ssm.state_size": uint32(16), "ssm.group_count": uint32(1), "ssm.inner_size": uint32(128), "ssm.time_step_rank": uint32(8),
		} {
			s.keys["granitehybrid."+key] = value
		}
		text, err := s.config()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.read(text); wire.ClassOf(err) != c.class {
			t.Errorf("%v: %v", c.heads.list, err)
		}
		b.Close()
	}
}
