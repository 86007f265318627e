package sidecar

import (
	"math"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// CodeBeyond is the code of findings about a configuration that states a far larger model than the weights
// beside it are.
const CodeBeyond = "sidecar.beyond-weights"

// Weights are the files of a folder from which a library loads a model by their names.
type Weights struct {
	Bytes  int64 // of all files with weights
	Loaded bool  // one of them has a name by which transformers or diffusers finds those of config.json
}

// weightFiles are how names of files with weights end.
var weightFiles = strings.Fields(".safetensors .bin .pt .pth .ckpt .h5 .msgpack .gguf .onnx .onnx_data .data .npz .nemo .index")

// loadedFiles are how names begin by which transformers and diffusers find weights.
var loadedFiles = strings.Fields("model.safetensors model- pytorch_model tf_model flax_model diffusion_pytorch_model diffusion_flax_model consolidated")

// HasWeights reports whether a name is that of a file with weights, and whether transformers or diffusers
// finds it by that.
func HasWeights(name string) (is, loaded bool) {
	name = baseOf(name)
	for _, end := range weightFiles {
		is = is || strings.HasSuffix(name, end)
	}
	for _, begin := range loadedFiles {
		loaded = loaded || is && strings.HasPrefix(name, begin)
	}
	return is, loaded
}

// A dimension is what a member of a configuration says of a model.
type dimension uint8

const (
	hidden dimension = 1 + iota
	factored
	vocabulary
	deepLayers
	layerGroups
	wide
	expertWide
	experts
	heads
	headSize
	absolute // positions, of each of which old models have a row, and a pair for each two
	positions
	imageSize
	patchSize
	noDimensions
)

// dimensionsOf are the members by which transformers' and diffusers' configurations state sizes.
var dimensionsOf = map[string]dimension{
	"hidden_size": hidden, "n_embd": hidden, "d_model": hidden, "embed_dim": hidden, "hidden_dim": hidden, "dim": hidden, "width": hidden, "emb_dim": hidden,
	"embedding_size": factored, "word_embed_proj_dim": factored, "vocab_size": vocabulary, "n_vocab": vocabulary, "num_embeds": vocabulary,
	"num_hidden_layers": deepLayers, "n_layer": deepLayers, "n_layers": deepLayers, "num_layers": deepLayers, "encoder_layers": deepLayers, "decoder_layers": deepLayers, "num_decoder_layers": deepLayers, "depth": deepLayers, "num_hidden_groups": layerGroups,
	"intermediate_size": wide, "n_inner": wide, "ffn_dim": wide, "d_ff": wide, "encoder_ffn_dim": wide, "decoder_ffn_dim": wide, "ffn_hidden_size": wide, "moe_intermediate_size": expertWide, "moe_ffn_hidden_size": expertWide,
	"num_local_experts": experts, "num_experts": experts, "n_routed_experts": experts, "moe_num_experts": experts,
	"num_attention_heads": heads, "n_head": heads, "num_heads": heads, "encoder_attention_heads": heads, "head_dim": headSize, "d_kv": headSize, "attention_head_dim": headSize,
	"n_positions": absolute, "max_position_embeddings": positions, "image_size": imageSize, "patch_size": patchSize,
}

// learned are the types of models with a row for each position.
var learned = setOf(`albert bart beit bert big_bird bigbird_pegasus biogpt blenderbot blip blip_text_model bridgetower camembert canine clip clip_text_model clip_vision_model data2vec-text deberta deberta-v2 decision_transformer
	distilbert electra ernie flava gpt2 gpt_bigcode gpt_neo groupvit gptj ibert imagegpt layoutlm layoutlmv2 layoutlmv3 led lilt longformer luke lxmert marian markuplm mbart megatron-bert mobilebert mpnet mra mvp nezha nystromformer
	openai-gpt opt owlvit owlv2 pegasus perceiver prophetnet rembert roberta roberta-prelayernorm siglip siglip_text_model splinter squeezebert tapas trocr videomae vilt visual_bert vit whisper xglm xlm xlm-roberta xlm-roberta-xl xmod yoso`)

// A stated is what an object of a configuration states of a model.
type stated struct {
	sizes   [noDimensions]float64 // the largest that it states
	sides   [2]float64            // the two largest widths of matrices
	rows    float64               // of a matrix with the columns of the model
	learned bool                  // it is of a type with a row for each position
}

// states returns what an open object states, nil where that is not judged.
func (w *walk) states(i int) *stated {
	if i < 0 || w.t.Weights == nil || !strings.HasSuffix(w.file, configs) {
		return nil
	}
	if w.stated == nil {
		w.stated = map[int]*stated{}
	}
	if w.stated[i] == nil {
		w.stated[i] = new(stated)
	}
	return w.stated[i]
}

// state notes a number of a member, or of a list of it.
func (w *walk) state(text string) {
	i := len(w.open) - 1
	for i >= 0 && w.open[i].list {
		i--
	}
	if i < 0 {
		return
	}
	key, in := w.open[i].key, i == len(w.open)-1
	d := dimensionsOf[key]
	if !in {
		d = 0
	}
	rows, side := rowMembers()[key] && in, isSide(key)
	if d == 0 && !rows && !side {
		return
	}
	s := w.states(i)
	n, err := strconv.ParseFloat(text, 64)
	if s == nil || err != nil || !(n > 0) {
		return
	}
	s.sizes[d] = max(s.sizes[d], n)
	if rows {
		s.rows = max(s.rows, n)
	}
	if side && n > s.sides[0] {
		s.sides[1], s.sides[0] = s.sides[0], n
	} else if side {
		s.sides[1] = max(s.sides[1], n)
	}
}

// rowMembers say how many rows a matrix has whose columns are those of the model.
var rowMembers = setOf("type_vocab_size num_labels num_hash_buckets relative_attention_num_buckets num_virtual_tokens r num_queries num_query_tokens num_classes")

// sideEndings are how members end that say how wide a matrix is.
var sideEndings = setOf("size sizes dim dims features channels width widths")

// noSides are members with such an ending that say something else: of texts, images and blocks.
var noSides = setOf("vocab_size type_vocab_size image_size patch_size window_size chunk_size batch_size sample_size kernel_size block_size group_size buffer_size memory_size crop_size tile_size input_size max_size min_size " +
	"size_divisor queue_size cache_size max_width context_size step_size pool_size stack_size stride_size img_size target_size n_positions sizes")

// isSide reports whether a member says how wide a matrix is.
func isSide(key string) bool {
	return sideEndings()[key[strings.LastIndexByte(key, '_')+1:]] && !noSides()[key] && !strings.HasPrefix(key, "max_") && !strings.Contains(key, "image") && !strings.Contains(key, "window") && !strings.Contains(key, "kernel") && !strings.Contains(key, "patch")
}

// stateType notes the type of a model.
func (w *walk) stateType(key, text string) {
	if key != "model_type" || !learned()[text] {
		return
	}
	if s := w.states(len(w.open) - 1); s != nil {
		s.learned = true
	}
}

// within is the member that has the current object, "" for the text itself.
func (w *walk) within() string {
	for i := len(w.open) - 2; i >= 0; i-- {
		if !w.open[i].list {
			return w.open[i].key
		}
	}
	return ""
}

// elements returns how many weights a model has at least that states these sizes: rows of its vocabulary and
// positions, and one matrix of each kind of each layer.
func (s *stated) elements() float64 {
	or := func(d dimension, other float64) float64 {
		if s.sizes[d] > 0 {
			return s.sizes[d]
		}
		return other
	}
	h := or(hidden, 1)
	n := s.sizes[vocabulary]*or(factored, h) + s.rows*or(hidden, fewColumns) + s.sides[0]*s.sides[1]/16
	deep := or(deepLayers, 1)
	if groups := s.sizes[layerGroups]; groups > 0 {
		deep = min(deep, groups)
	}
	matrix := h * s.sizes[wide]
	if s.sizes[experts] > 0 {
		matrix = h * s.sizes[experts] * or(expertWide, or(wide, 1)) / 4 // as some layers have none
	}
	if s.sizes[headSize] > 0 {
		matrix += h * or(heads, 1) * s.sizes[headSize]
	}
	n += deep * (matrix + h*h/64) // of which a linear layer has a part, whatever its kind
	if s.learned {
		n += s.sizes[positions] * h
	}
	n += s.sizes[absolute]*h + s.sizes[absolute]*s.sizes[absolute]/4
	if s.sizes[patchSize] > 0 {
		n += math.Pow(s.sizes[imageSize]/s.sizes[patchSize], 2) * h
	}
	return n
}

const (
	// statedTimes is how many weights a model may state for each byte of them: with one bit for each
	// there are 8, and some configurations share layers.
	statedTimes = 16
	// fewColumns are those of a model that does not say how many it has.
	fewColumns = 64
	// statedGrace is how many it may state besides.
	statedGrace = 1 << 26
)

// beyond judges an object of a configuration, at its end: transformers makes all weights of a model that the
// file lacks, as large as the configuration states.
func (w *walk) beyond() error {
	at := len(w.open) - 1
	s := w.stated[at]
	if s == nil {
		return nil
	}
	delete(w.stated, at)
	n := s.elements()
	if n <= statedGrace {
		return nil
	}
	weights, known, err := w.t.Weights()
	if err != nil || !known || weights.Bytes == 0 || w.file == configs && !weights.Loaded || n <= statedTimes*float64(weights.Bytes)+statedGrace {
		return err
	}
	return w.once(CodeBeyond, tensor.Danger, w.within(), w.off, "it states a model of at least "+strconv.FormatFloat(n, 'g', 3, 64)+" weights, and all files of weights beside it have "+strconv.FormatInt(weights.Bytes, 10)+" bytes: a library makes what the files lack")
}
