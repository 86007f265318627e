package family

import (
	"math"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// The vision part of a model is a separate file, which llama.cpp's mtmd loads with the text
// model: convert_hf_to_gguf.py --mmproj writes it. Its configuration is vision_config.

// A typeRule says which type a tensor has if not that of the others.
type typeRule uint8

const (
	asOthers typeRule = iota
	asHalf            // F16 in a file of F16, else F32
	alwaysF16
	asMatrices // that of the other matrices, where llama.cpp's converter makes no exception
	alwaysF32
)

// dtypeFor returns the type of a tensor that is written.
func (p *planner) dtypeFor(n *mapping, written string, dimensions int, from tensor.DType) tensor.DType {
	if p.asIs {
		return from
	}
	to := from
	if p.o.Type != tensor.Unknown {
		to = p.o.Type
	}
	switch {
	case n.typeRule == alwaysF16, n.typeRule == asHalf && to == tensor.F16:
		return tensor.F16
	case n.typeRule == asMatrices:
		return to
	case n.typeRule != asOthers:
		return tensor.F32
	}
	return stored(written, dimensions, from)
}

// visionOf returns the configuration of the vision part.
func visionOf(root jsontree.Value) (*config, error) {
	list := root.Get("architectures").List()
	if len(list) != 1 {
		return nil, wire.ErrUnsupported.Errorf("the configuration names %d architectures: no vision part can be written", len(list))
	}
	vision := root.Get("vision_config")
	if own := vision.Get("architectures").List(); len(own) == 1 {
		list = own
	}
	var found *row
	for _, r := range projectors {
		if slices.Contains(r.names, list[0].String()) {
			found = r
		}
	}
	if found != nil && found.vision.config != "" {
		vision = root.Get(found.vision.config)
	}
	c := &config{root: vision, text: vision, full: root, isVision: true, row: found}
	kind := vision.Get("model_type").String()
	switch {
	case !vision.There:
		return nil, wire.ErrMissing.Errorf("%s has no %s: the model has no such part", wire.Quote(list[0].String()), visionMember(found))
	case c.row == nil:
		return nil, wire.ErrUnsupported.Errorf("the vision part of %s is not supported: %s", wire.Quote(list[0].String()), lacking(list[0].String(), converterParts))
	case kind != c.row.model && c.row.model != "" && kind != "":
		return nil, wire.ErrUnsupported.Errorf("a vision part of the type %s, but llama.cpp's %s has %s", wire.Quote(kind), wire.Quote(list[0].String()), wire.Quote(c.row.model))
	}
	if n := c.textWidth(); n < 1 || n > 1<<24 {
		return nil, wire.ErrRange.Errorf("the text model is %d wide", n)
	}
	if n := c.merge(); n < 1 || n > 64 {
		return nil, wire.ErrRange.Errorf("spatial_merge_size is %d", n)
	}
	if n := c.patch(); (n < 1 || n > 1<<12) && c.row.vision.config == "" {
		return nil, wire.ErrRange.Errorf("patch_size is %d", n)
	}
	if n := c.int("image_size"); n < 0 || n > 1<<20 {
		return nil, wire.ErrRange.Errorf("image_size is %d", n)
	}
	if n := c.channels(); (n < 1 || n > 1<<12) && c.row.vision.config == "" {
		return nil, wire.ErrRange.Errorf("%d channels", n)
	}
	if n := c.int("mlp_ratio"); n < 0 || n > 1<<10 {
		return nil, wire.ErrRange.Errorf("mlp_ratio is %d", n)
	}
	if n := c.int("embed_dim"); n < 0 || n > 1<<24 {
		return nil, wire.ErrRange.Errorf("embed_dim is %d", n)
	}
	return c.bounded()
}

// visionMember returns the member of config.json with the configuration of a vision or audio part.
func visionMember(r *row) string {
	if r == nil || r.vision.config == "" {
		return "vision_config"
	}
	return r.vision.config
}

// textWidth returns the width of the text model.
func (c *config) textWidth() int64 {
	for _, v := range []jsontree.Value{textConfig(c.full), c.full} {
		if n, ok := v.First("hidden_size", "n_embd").Int(); ok {
			return n
		}
	}
	for _, d := range c.row.defaults {
		if d.name == "text hidden_size" {
			n, _ := jsontree.Preset(d.value).Int()
			return n
		}
	}
	return 0
}

func (c *config) patch() int64 { return c.int("patch_size") }

func (c *config) channels() int64 { return c.int("num_channels", "in_channels", "in_chans") }

// merge returns how many patches of a side are merged into one.
func (c *config) merge() int64 {
	if n, ok := c.full.Get("spatial_merge_size").Int(); ok {
		return n
	}
	if n, ok := c.get("spatial_merge_size").Int(); ok {
		return n
	}
	return 1
}

// vision adds the keys of every vision part: MmprojModel in base.py.
func vision(k *keys, projector string) {
	k.put("general.type", "mmproj")
	k.put("clip.has_vision_encoder", true)
	k.put("clip.projector_type", projector)
	k.putArch("vision.projection_dim", uint32(k.c.textWidth()))
	k.u32("vision.image_size", "image_size")
	k.u32("vision.patch_size", "patch_size")
	k.putArch("vision.embedding_length", uint32(k.c.hidden()))
	k.u32("vision.feed_forward_length", "intermediate_size")
	k.putArch("vision.block_count", uint32(k.c.layers()))
	k.putArch("vision.attention.head_count", uint32(k.c.heads()))
	for _, name := range []string{"image_mean", "image_std"} {
		k.imageNormalization(name)
	}
}

// imageNormalization adds the numbers for each color channel from the preprocessor's
// configuration.
func (k *keys) imageNormalization(name string) {
	v, err := k.preprocessor(name)
	if err != nil && k.err == nil {
		k.err = err
	}
	if k.err != nil {
		return
	}
	if !v.There {
		k.err = wire.At(preprocessorName, "", wire.NoOffset, wire.ErrMissing.Errorf("neither it nor %s beside the weights has %s, by which images are normalized: the image processor's save_pretrained writes it", processorName, wire.Quote(name)))
		return
	}
	list := v.List()
	if len(list) < 1 || len(list) > 16 {
		k.err = wire.At(preprocessorName, "member "+wire.Quote(name), v.Off(), wire.ErrMissing.Errorf("%d numbers, where each colour has one", len(list)))
		return
	}
	numbers, err := limits.Make[float32](k.b, len(list))
	for i := range numbers {
		f, ok := list[i].Float()
		if !ok || math.IsNaN(f) || math.IsInf(f, 0) {
			err = wire.At(preprocessorName, "member "+wire.Quote(name), v.Off(), wire.ErrRange.Errorf("it holds something other than a number"))
			break
		}
		numbers[i] = float32(f)
	}
	if k.err = err; err == nil {
		k.putArch("vision."+name, numbers)
	}
}

const (
	preprocessorName = "preprocessor_config.json"
	processorName    = "processor_config.json"
)

// preprocessor returns a member of the image preprocessor's configuration. That of the
// whole processor takes precedence.
func (k *keys) preprocessor(name string) (found jsontree.Value, err error) {
	for _, file := range []string{preprocessorName, processorName} {
		v, err := jsontree.Read(k.b, k.files, file, maxConfig)
		if err != nil {
			return found, err
		}
		for _, at := range []jsontree.Value{v.Get(name), v.Get("media_proc_cfg").Get(name), v.Get("image_processor").Get(name)} {
			if at.There {
				found = at
			}
		}
	}
	return found, nil
}

// epsilon adds the epsilon of norms, or its default.
func (k *keys) epsilon(v jsontree.Value, otherwise float32) {
	if !v.There {
		k.putArch("vision.attention.layer_norm_epsilon", otherwise)
		return
	}
	k.number("vision.attention.layer_norm_epsilon", "layer_norm_eps", v)
}

func noVocab(*keys) error { return nil }

// visionText puts the members of a text model: its rotary sections are equal for a text,
// and deepstack layers concern only images.
func visionText(text func(*settings)) func(*settings) {
	return func(s *settings) {
		_, _ = s.key("rope.dimension_sections")
		_, _ = s.key("n_deepstack_layers")
		text(s)
	}
}

// deepstack returns the layers of the vision part that the text model reads.
func (c *config) deepstack() jsontree.Value {
	v := c.full.Get("vision_config")
	if !v.There {
		v = c.root.Get("vision_config")
	}
	return v.Get("deepstack_visual_indexes")
}

// maxDeepstack bounds the number of those layers: published models have three.
const maxDeepstack = 16

// deepstack returns their tensors. llama.cpp numbers them by the layer that they belong
// to.
func deepstack() (list []mapping) {
	for i := range int64(maxDeepstack) {
		at := func(c *config) int64 {
			if all := c.deepstack().List(); i < int64(len(all)) {
				n, _ := all[i].Int()
				return n
			}
			return -1
		}
		there := func(c *config, _ int64) bool { return at(c) >= 0 }
		from := "visual.deepstack_merger_list." + itoa(i) + "."
		list = append(list,
			mapping{hf: from + "norm", gguf: "v.deepstack.#.norm", shape: dims{Merged}, inLayer: there, ggufNumber: at},
			mapping{hf: from + "linear_fc1", gguf: "v.deepstack.#.fc1", shape: dims{Merged, Merged}, inLayer: there, ggufNumber: at},
			mapping{hf: from + "linear_fc2", gguf: "v.deepstack.#.fc2", shape: dims{TextHidden, Merged}, inLayer: there, ggufNumber: at},
		)
	}
	return list
}

// frames are the two halves of a convolution over two frames.
func frames(gguf string, first int64) view {
	return view{
		gguf:  gguf,
		shape: func(c *config) []int64 { return []int64{c.width(), c.channels(), c.patch(), c.patch()} },
		strides: func(c *config) ([]int64, int64) {
			one := c.patch() * c.patch()
			return []int64{2 * one * c.channels(), 2 * one, c.patch(), 1}, first * one
		},
	}
}

// third is the view of one of three consecutive matrices.
func third(gguf string, first int64) view {
	return view{
		gguf:  gguf,
		shape: func(c *config) []int64 { return []int64{c.width(), c.width()} },
		strides: func(c *config) ([]int64, int64) {
			return []int64{c.width(), 1}, first * c.width() * c.width()
		},
	}
}

// width is that of Qwen's vision part, which has another name in Qwen2-VL.
func (c *config) width() int64 {
	if n := c.int("embed_dim"); n > 0 {
		return n
	}
	return c.hidden()
}
