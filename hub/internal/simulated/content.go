package simulated

import (
	"archive/zip"
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"

	"github.com/anamnesis-go/anamnesis/corpus"
)

// A File is a file of a repository: a head, and numbers after it. Neither is made before it is asked for.
type File struct {
	Name string

	large bool // its SHA-256 is in the listing, and it is not an object of git
	body  int64
	key   uint64
	head  func() []byte
}

// Size is its length in bytes.
func (f *File) Size() int64 { return int64(len(f.head())) + f.body }

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(p []byte, off int64) (n int, err error) {
	size := f.Size()
	if off >= size {
		return 0, io.EOF
	}
	if left := size - off; int64(len(p)) > left {
		p, err = p[:left], io.EOF
	}
	head := f.head()
	if off < int64(len(head)) {
		n = copy(p, head[off:])
	}
	for at := uint64(off) + uint64(n); n < len(p); at, n = at+1, n+1 {
		p[n] = byte((at>>3 ^ f.key) * 0x9e3779b97f4a7c15 >> (56 - at&7*8) & 0x3f) // small numbers of any type
	}
	return n, err
}

// Digest is what the listing states: of a large file its SHA-256, else that of its object of git. What
// is read by its beginning only has a digest that nobody can compare.
func (f *File) Digest() string {
	head := f.head()
	switch {
	case !f.large:
		h := sha1.New()
		fmt.Fprintf(h, "blob %d\x00", f.Size())
		h.Write(head)
		return hex.EncodeToString(h.Sum(nil))
	case f.body == 0:
		sum := sha256.Sum256(head)
		return hex.EncodeToString(sum[:])
	}
	sum := sha256.Sum256(binary.LittleEndian.AppendUint64(head[:len(head):len(head)], f.key))
	return hex.EncodeToString(sum[:])
}

func small(name, text string) File {
	return File{Name: name, head: func() []byte { return []byte(text) }}
}

func whole(name string, make func() []byte) File {
	return File{Name: name, large: true, head: sync.OnceValue(make)}
}

// shape is that of a family.
type shape struct{ layers, hidden, ffn, vocab int }

func shapeOf(family int) shape {
	r := rand.New(rand.NewPCG(1, uint64(family)))
	h := 256 * (2 + r.IntN(14))
	return shape{layers: 12 + 4*r.IntN(13), hidden: h, ffn: 3 * h, vocab: 32000}
}

// Files are those of a repository, in the order of its listing.
func (r Repo) Files() []File {
	files := []File{
		small(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n*.safetensors filter=lfs diff=lfs merge=lfs -text\n*.gguf filter=lfs diff=lfs merge=lfs -text\n"),
		small("README.md", fmt.Sprintf("---\nlicense: apache-2.0\n---\n\n# Model %d\n\nA model of family %d.\n", r.Number, r.family)),
	}
	s := shapeOf(r.family)
	stated := s
	if r.kind == torchModel { // its checkpoint has few numbers, and a configuration may state no more than it explains
		stated = shape{layers: 2, hidden: 256, ffn: 768, vocab: 32000}
	}
	texts := func() {
		files = append(files, small("config.json", r.config(stated)), small("generation_config.json", "{\"bos_token_id\": 1, \"eos_token_id\": 2, \"transformers_version\": \"4.57.1\"}\n"),
			small("special_tokens_map.json", "{\"bos_token\": \"<s>\", \"eos_token\": \"</s>\"}\n"),
			small("tokenizer_config.json", "{\"bos_token\": \"<s>\", \"eos_token\": \"</s>\", \"model_max_length\": 4096, \"tokenizer_class\": \"PreTrainedTokenizerFast\"}\n"), tokenizer(r.family))
	}
	switch r.kind {
	case safetensorsModel:
		texts()
		files = append(files, r.shards(s)...)
	case torchModel:
		texts()
		files = append(files, r.checkpoint(s, r.Hostile))
	case bothModel:
		texts()
		files = append(append(files, r.shards(s)...), r.checkpoint(s, r.Hostile))
	case adapter:
		files = append(files, small("adapter_config.json", fmt.Sprintf("{\"base_model_name_or_path\": \"sim/r%d\", \"bias\": \"none\", \"lora_alpha\": 16, \"lora_dropout\": 0.05, \"peft_type\": \"LORA\", \"r\": 8, \"target_modules\": [\"q_proj\", \"v_proj\"], \"task_type\": \"CAUSAL_LM\"}\n", r.family)), r.adapter(s))
	case ggufModel:
		for i := range 1 + int(r.weights%6) {
			files = append(files, r.gguf(s, i))
		}
	case onnxModel:
		seeds := corpus.Valid("onnx")
		files = append(files, whole("model.onnx", func() []byte { return seeds[r.weights%uint64(len(seeds))].Data }))
	case picklesModel:
		files = append(files, whole("model.pkl", func() []byte { return estimator(r.weights) }))
	}
	if r.Hostile && r.kind != torchModel && r.kind != bothModel {
		files = append(files, r.attack())
	}
	return files
}

func (r Repo) config(s shape) string {
	text, err := json.MarshalIndent(map[string]any{
		"architectures": []string{"LlamaForCausalLM"}, "model_type": "llama", "hidden_size": s.hidden, "intermediate_size": s.ffn, "num_hidden_layers": s.layers,
		"num_attention_heads": s.hidden / 64, "num_key_value_heads": s.hidden / 64, "vocab_size": s.vocab, "rms_norm_eps": 1e-5, "hidden_act": "silu",
		"max_position_embeddings": 4096, "torch_dtype": "bfloat16", "transformers_version": "4.57.1", "bos_token_id": 1, "eos_token_id": 2, "tie_word_embeddings": false,
	}, "", "  ")
	if err != nil {
		panic(err) // numbers and words
	}
	return string(text)
}

// words are the tokens of a family.
var words = cached(func(family int) []string {
	r := rand.New(rand.NewPCG(2, uint64(family)))
	list := []string{"<unk>", "<s>", "</s>"}
	for len(list) < 32000 {
		list = append(list, "\u2581"[:3*r.IntN(2)]+strconv.FormatUint(r.Uint64N(1<<31), 36)+strconv.FormatInt(int64(len(list)), 36))
	}
	return list
})

var tokenizers = cached(func(family int) []byte {
	vocab := map[string]int{}
	for i, w := range words(family) {
		vocab[w] = i
	}
	text, err := json.Marshal(map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": []any{}, "normalizer": nil, "pre_tokenizer": nil, "post_processor": nil, "decoder": nil,
		"model": map[string]any{"type": "BPE", "dropout": nil, "unk_token": "<unk>", "continuing_subword_prefix": nil, "end_of_word_suffix": nil, "fuse_unk": true, "byte_fallback": false, "vocab": vocab, "merges": []any{}},
	})
	if err != nil {
		panic(err)
	}
	return text
})

func tokenizer(family int) File {
	return whole("tokenizer.json", func() []byte { return tokenizers(family) })
}

// cached remembers what a function of a family returned.
func cached[T any](make func(int) T) func(int) T {
	var m sync.Map
	return func(family int) T {
		once, _ := m.LoadOrStore(family, sync.OnceValue(func() T { return make(family) }))
		return once.(func() T)()
	}
}

// A tensor has a name and a shape.
type tensor struct {
	name       string
	rows, cols int // rows is 0 for a vector
}

func (t tensor) elements() int64 { return int64(max(t.rows, 1)) * int64(t.cols) }

func tensors(s shape) []tensor {
	list := []tensor{{"model.embed_tokens.weight", s.vocab, s.hidden}}
	for i := range s.layers {
		p := fmt.Sprintf("model.layers.%d.", i)
		list = append(list, tensor{p + "input_layernorm.weight", 0, s.hidden}, tensor{p + "mlp.down_proj.weight", s.hidden, s.ffn}, tensor{p + "mlp.gate_proj.weight", s.ffn, s.hidden}, tensor{p + "mlp.up_proj.weight", s.ffn, s.hidden},
			tensor{p + "post_attention_layernorm.weight", 0, s.hidden}, tensor{p + "self_attn.k_proj.weight", s.hidden, s.hidden}, tensor{p + "self_attn.o_proj.weight", s.hidden, s.hidden},
			tensor{p + "self_attn.q_proj.weight", s.hidden, s.hidden}, tensor{p + "self_attn.v_proj.weight", s.hidden, s.hidden})
	}
	return append(list, tensor{"model.norm.weight", 0, s.hidden}, tensor{"lm_head.weight", s.vocab, s.hidden})
}

// header is that of safetensors, with what follows it in bytes.
func header(list []tensor) (text []byte, data int64) {
	var b bytes.Buffer
	b.WriteString(`{"__metadata__":{"format":"pt"}`)
	for _, t := range list {
		end := data + 2*t.elements()
		shape := strconv.Itoa(t.cols)
		if t.rows > 0 {
			shape = strconv.Itoa(t.rows) + "," + shape
		}
		fmt.Fprintf(&b, `,%q:{"dtype":"BF16","shape":[%s],"data_offsets":[%d,%d]}`, t.name, shape, data, end)
		data = end
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	return append(binary.LittleEndian.AppendUint64(nil, uint64(b.Len())), b.Bytes()...), data
}

// shards are the files of safetensors, of at most 2 GB each, with their index.
func (r Repo) shards(s shape) []File {
	var groups [][]tensor
	var size, total int64
	for _, t := range tensors(s) {
		n := 2 * t.elements()
		if len(groups) == 0 || size+n > 2<<30 {
			groups, size = append(groups, nil), 0
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], t)
		size, total = size+n, total+n
	}
	var files []File
	index := map[string]string{}
	for i, g := range groups {
		name := "model.safetensors"
		if len(groups) > 1 {
			name = fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, len(groups))
		}
		head, data := header(g)
		files = append(files, File{Name: name, large: true, body: data, key: r.weights<<8 | uint64(i), head: func() []byte { return head }})
		for _, t := range g {
			index[t.name] = name
		}
	}
	if len(groups) > 1 {
		text, err := json.Marshal(map[string]any{"metadata": map[string]any{"total_size": total}, "weight_map": index})
		if err != nil {
			panic(err)
		}
		files = append(files, small("model.safetensors.index.json", string(text)))
	}
	return files
}

func (r Repo) adapter(s shape) File {
	var list []tensor
	for i := range s.layers {
		for _, m := range []string{"q_proj", "v_proj"} {
			p := fmt.Sprintf("base_model.model.model.layers.%d.self_attn.%s.lora_", i, m)
			list = append(list, tensor{p + "A.weight", 8, s.hidden}, tensor{p + "B.weight", s.hidden, 8})
		}
	}
	head, data := header(list)
	return File{Name: "adapter_model.safetensors", large: true, body: data, key: r.weights<<8 | 0xff, head: func() []byte { return head }}
}

// checkpoint is torch's ZIP archive. Its numbers are few, so that it is whole: a verdict reads its
// directory and its pickle, however large the rest is.
func (r Repo) checkpoint(s shape, evil bool) File {
	return whole("pytorch_model.bin", func() []byte {
		var program bytes.Buffer
		text := func(s string) {
			program.WriteByte('X')
			program.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(s))))
			program.WriteString(s)
		}
		program.WriteString("\x80\x02ccollections\nOrderedDict\n)R(")
		if evil {
			text("model.extra")
			program.WriteString("cposix\nsystem\n")
			text("id")
			program.WriteString("\x85R")
		}
		list := tensors(s)
		for i, t := range list {
			text(t.name)
			program.WriteString("ctorch._utils\n_rebuild_tensor_v2\n((")
			text("storage")
			program.WriteString("ctorch\nHalfStorage\n")
			text(strconv.Itoa(i))
			text("cpu")
			program.WriteString("K\x10tQK\x00K\x10\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR")
		}
		program.WriteString("u.")
		var out bytes.Buffer
		z := zip.NewWriter(&out)
		put := func(name string, data []byte) {
			w, err := z.CreateRaw(&zip.FileHeader{Name: "pytorch_model/" + name, Method: zip.Store, CRC32: crc32.ChecksumIEEE(data), CompressedSize64: uint64(len(data)), UncompressedSize64: uint64(len(data))})
			if err == nil {
				_, err = w.Write(data)
			}
			if err != nil {
				panic(err) // a buffer takes everything
			}
		}
		put("data.pkl", program.Bytes())
		for i := range list {
			data := make([]byte, 32)
			binary.LittleEndian.PutUint64(data, r.weights)
			data[8] = byte(i)
			put("data/"+strconv.Itoa(i), data)
		}
		put("version", []byte("3\n"))
		if err := z.Close(); err != nil {
			panic(err)
		}
		return out.Bytes()
	})
}

// gguf is one of the quantizations of a model.
func (r Repo) gguf(s shape, i int) File {
	name := []string{"Q4_K_M", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_S", "Q3_K_M"}[i]
	type blocks struct{ kind, elements, bytes uint64 }
	b := []blocks{{12, 256, 144}, {8, 32, 34}, {14, 256, 210}, {13, 256, 176}, {12, 256, 144}, {11, 256, 110}}[i]
	list := tensors(s)
	var size uint64
	for _, t := range list {
		size += align(ggufBytes(t, b.elements, b.bytes))
	}
	head := sync.OnceValue(func() []byte {
		le := binary.LittleEndian
		text := func(out []byte, s string) []byte { return append(le.AppendUint64(out, uint64(len(s))), s...) }
		tokens := words(r.family)
		var keys []byte
		count := 0
		key := func(name string, kind uint32) { keys, count = le.AppendUint32(text(keys, name), kind), count+1 }
		word := func(name, s string) { key(name, 8); keys = text(keys, s) }
		number := func(name string, n int) { key(name, 4); keys = le.AppendUint32(keys, uint32(n)) }
		word("general.architecture", "llama")
		word("general.name", fmt.Sprintf("Model %d", r.weights))
		for name, n := range map[string]int{"block_count": s.layers, "context_length": 4096, "embedding_length": s.hidden, "feed_forward_length": s.ffn, "attention.head_count": s.hidden / 64, "attention.head_count_kv": s.hidden / 64, "rope.dimension_count": 64} {
			number("llama."+name, n)
		}
		key("llama.attention.layer_norm_rms_epsilon", 6)
		keys = le.AppendUint32(keys, 0x3727c5ac) // 1e-5
		word("tokenizer.ggml.model", "llama")
		array := func(name string, kind uint32) {
			key(name, 9)
			keys = le.AppendUint64(le.AppendUint32(keys, kind), uint64(len(tokens)))
		}
		array("tokenizer.ggml.tokens", 8)
		for _, w := range tokens {
			keys = text(keys, w)
		}
		array("tokenizer.ggml.scores", 6)
		keys = append(keys, make([]byte, 4*len(tokens))...)
		array("tokenizer.ggml.token_type", 5)
		for i := range tokens {
			keys = le.AppendUint32(keys, uint32(1+min(2, max(0, 3-i))))
		}
		word("tokenizer.chat_template", "{% for m in messages %}{{ '<|' + m['role'] + '|>' + m['content'] }}{% endfor %}")
		out := le.AppendUint64(le.AppendUint64(le.AppendUint32([]byte("GGUF"), 3), uint64(len(list))), uint64(count))
		out = append(out, keys...)
		var at uint64
		for _, t := range list {
			out = text(out, ggufName(t.name))
			kind := b.kind
			if t.rows == 0 {
				kind = 0
				out = le.AppendUint64(le.AppendUint32(out, 1), uint64(t.cols))
			} else {
				out = le.AppendUint64(le.AppendUint64(le.AppendUint32(out, 2), uint64(t.cols)), uint64(t.rows))
			}
			out = le.AppendUint64(le.AppendUint32(out, uint32(kind)), at)
			at += align(ggufBytes(t, b.elements, b.bytes))
		}
		return append(out, make([]byte, align(uint64(len(out)))-uint64(len(out)))...)
	})
	return File{Name: fmt.Sprintf("model-%s.gguf", name), large: true, body: int64(size), key: r.weights<<8 | uint64(i), head: head}
}

func ggufBytes(t tensor, elements, size uint64) uint64 {
	if t.rows == 0 {
		return 4 * uint64(t.cols)
	}
	return uint64(t.elements()) / elements * size
}

func align(n uint64) uint64 { return (n + 31) &^ 31 }

func ggufName(name string) string {
	return strings.NewReplacer("model.embed_tokens", "token_embd", "model.norm", "output_norm", "lm_head", "output", "model.layers.", "blk.", "input_layernorm", "attn_norm", "post_attention_layernorm", "ffn_norm",
		"self_attn.k_proj", "attn_k", "self_attn.q_proj", "attn_q", "self_attn.v_proj", "attn_v", "self_attn.o_proj", "attn_output", "mlp.down_proj", "ffn_down", "mlp.gate_proj", "ffn_gate", "mlp.up_proj", "ffn_up").Replace(name)
}

// estimator is a pickle that names a class of a library.
func estimator(n uint64) []byte {
	return fmt.Appendf(nil, "\x80\x02csklearn.linear_model._logistic\nLogisticRegression\n)\x81}X\x01\x00\x00\x00CI%d\nsb.", n%1_000_000)
}

// attack is a hostile file of the corpus, as a loader would find it beside the model.
func (r Repo) attack() File {
	list := hostile()
	return whole("training_args.bin", func() []byte { return list[r.Number%len(list)].Bytes() })
}

var hostile = sync.OnceValue(func() (list []corpus.Recipe) {
	for _, c := range corpus.Hostile("pickle") {
		if c.Expect == "forbidden" && c.Policy == nil { // what the default policy refuses
			list = append(list, c)
		}
	}
	return list
})
