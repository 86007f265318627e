package sidecar

import (
	_ "embed"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
)

// A Kind is a kind of folder: what one library loads, and which texts it opens there. Weights
// are judged by their format, wherever they lie.
type Kind struct {
	Name   string
	Reader string // the library, and the version whose members are listed
	// Marks are names of files, as path.Match takes them, of which a folder of the kind has one.
	Marks []string
	Texts []KindText
}

// A KindText are texts that a library opens by their names.
type KindText struct {
	// Names are names of files in small letters, as path.Match takes them.
	Names []string
	// Group is the group of members.txt that lists what is read in them; "" for a text whose
	// words are data, or that is judged by rules of its own.
	Group string
	// Shared says that other libraries have texts of these names, with other members: the group is
	// for the folders of the kind alone.
	Shared bool
}

func text(group, names string) KindText { return KindText{Names: strings.Fields(names), Group: group} }

// shared is text for names that other libraries use too.
func shared(group, names string) KindText {
	return KindText{Names: strings.Fields(names), Group: group, Shared: true}
}

// folderKinds are the kinds of folders, in the order of the documents.
var folderKinds = [...]Kind{
	{"transformers", "transformers 5.24.0", strings.Fields("config.json generation_config.json preprocessor_config.json processor_config.json video_preprocessor_config.json tokenizer_config.json tokenizer.json special_tokens_map.json trainer_state.json"), []KindText{
		text("transformers.config", "config.json"),
		text("transformers.generation", "generation_config.json"),
		text("transformers.processor", "preprocessor_config.json processor_config.json video_preprocessor_config.json image_processor_config.json feature_extractor_config.json"),
		text("transformers.tokenizer", "tokenizer_config.json"),
		text("transformers.quantization", "quantize_config.json quantization_config.json quant_config.json hf_quant_config.json"),
		text("transformers.trainer", "trainer_state.json all_results.json train_results.json eval_results.json predict_results.json test_results.json"),
		text("", "tokenizer.json special_tokens_map.json added_tokens.json vocab.json vocab.txt merges.txt *.index.json chat_template.jinja chat_template.json audio_tokenizer_config.json"),
	}},
	{"diffusers", "diffusers 0.42.1", strings.Fields("model_index.json modular_model_index.json modular_config.json scheduler_config.json diffusion_pytorch_model*"), []KindText{
		text("diffusers.index", "model_index.json modular_model_index.json modular_config.json"),
		text("diffusers.config", "config.json scheduler_config.json"),
	}},
	{"PEFT", "peft 0.21.2", strings.Fields("adapter_model*"), []KindText{text("peft.config", "adapter_config.json")}},
	{"sentence-transformers", "sentence-transformers 6.2.0", strings.Fields("modules.json config_sentence_transformers.json sentence_*_config.json router_config.json"), []KindText{
		text("sentence-transformers.config", "modules.json config_sentence_transformers.json sentence_*_config.json router_config.json config.json wordembedding_config.json whitespacetokenizer_config.json cnn_config.json lstm_config.json"),
	}},
	{"MLX", "mlx-lm 0.32.2", strings.Fields("config.json adapters.safetensors adapters.npz *_adapters.safetensors"), []KindText{text("mlx.config", "config.json adapter_config.json")}},
	{"GGUF and ollama", "ollama 0.6.3", strings.Fields("*.gguf modelfile"), []KindText{
		text("ollama.params", "params params.json"),
		text("", "modelfile template template.txt system license messages"),
	}},
	{"Keras 2 and 3", "keras 3.15.1", strings.Fields("metadata.json model.json model_config.json *.keras *.h5 *.hdf5"), []KindText{text("keras.config", "config.json metadata.json model.json model_config.json")}},
	{"ONNX and ONNX Runtime GenAI", "onnxruntime-genai 0.18.0", strings.Fields("*.onnx *.ort genai_config.json"), []KindText{text("onnxruntime-genai.config", "genai_config.json audio_processor_config.json")}},
	{"timm", "timm 1.0.31", strings.Fields("config.json"), []KindText{text("timm.config", "config.json")}},
	{"open_clip", "open_clip_torch 3.3.0", strings.Fields("open_clip_config.json open_clip_model_config.json"), []KindText{text("open_clip.config", "open_clip_config.json open_clip_model_config.json")}},
	{"Stable-Baselines3", "stable_baselines3 2.9.2", strings.Fields("data system_info.txt _stable_baselines3_version"), []KindText{
		text("stable-baselines3.data", "data"),
		text("", "system_info.txt _stable_baselines3_version"),
	}},
	{"MLflow", "mlflow-skinny 3.17.2", strings.Fields("mlmodel"), []KindText{
		text("mlflow.MLmodel", "mlmodel"),
		text("", "conda.yaml python_env.yaml requirements.txt registered_model_meta keras_module.txt pickle_module_info.txt input_example.json serving_input_example.json"),
	}},
	{"SavedModel", "tensorflow 2.21.0", strings.Fields("saved_model.pb saved_model.pbtxt keras_metadata.pb"), []KindText{text("", "saved_model.pbtxt fingerprint.pb variables.index")}},
	{"OpenVINO", "optimum-intel 2.2.0", strings.Fields("openvino_*.xml openvino_config.json"), []KindText{text("openvino.config", "openvino_config.json")}},
	{"NeMo", "nemo_toolkit 3.0.0", strings.Fields("*.nemo model_config.yaml"), []KindText{text("nemo.config", "model_config.yaml")}},
	{"SpeechBrain", "speechbrain 1.1.2", strings.Fields("hyperparams.yaml"), []KindText{text("", "label_encoder.txt hyperparams.yaml")}},
	{"spaCy", "spacy 3.8.18", strings.Fields("config.cfg"), []KindText{
		shared("spacy.meta", "meta.json"),
		text("", "config.cfg sentencizer.json strings.json cfg patterns.jsonl vectors.cfg tokenizer"),
	}},
	{"FunASR", "funasr 1.4.16", strings.Fields("am.mvn seg_dict jieba_usr_dict"), []KindText{shared("funasr.config", "config.yaml"), shared("funasr.configuration", "configuration.json"), text("", "am.mvn seg_dict jieba_usr_dict")}},
	{"pyannote", "pyannote.audio 4.0.7", strings.Fields("config.yaml"), []KindText{text("", "handler.py")}},
	{"SetFit", "setfit 1.2.0", strings.Fields("config_setfit.json"), []KindText{text("setfit.config", "config_setfit.json")}},
	{"GLiNER", "gliner 0.2.29", strings.Fields("gliner_config.json"), []KindText{text("gliner.config", "gliner_config.json")}},
	{"BentoML", "bentoml 1.4.40", strings.Fields("bento.yaml bentofile.yaml"), []KindText{text("", "bento.yaml bentofile.yaml")}},
	{"Triton", "Triton Inference Server 2.73", strings.Fields("config.pbtxt"), []KindText{text("", "config.pbtxt")}},
	{"TorchServe", "torchserve 0.12.0", strings.Fields("model-config.yaml *.mar manifest.json"), []KindText{text("torchserve.config", "model-config.yaml")}},
	{"SageMaker", "sagemaker-inference 1.10.1", strings.Fields("inference.py"), []KindText{text("", "inference.py requirements.txt")}},
	{"Ultralytics", "ultralytics 8.4.190", strings.Fields("args.yaml metadata.yaml"), []KindText{text("ultralytics.metadata", "metadata.yaml"), text("ultralytics.args", "args.yaml")}},
	{"Lightning", "lightning 2.6.6", strings.Fields("hparams.yaml *.ckpt"), []KindText{text("", "hparams.yaml")}},
	{"DeepSpeed", "deepspeed 0.18", strings.Fields("latest ds_config.json zero_to_fp32.py"), []KindText{text("", "latest")}},
	{"whisper.cpp", "whisper.cpp 1.8", strings.Fields("ggml-*.bin"), nil},
}

// Kinds lists the kinds of folders.
func Kinds() []Kind { return slices.Clone(folderKinds[:]) }

//go:embed members.txt
var membersTable string

// members are the members of each group, and what their values are.
var members = sync.OnceValue(func() map[string]map[string][]string {
	out := map[string]map[string][]string{}
	for line := range strings.Lines(membersTable) {
		if words := strings.Fields(line); words[0] != "#" {
			group := out[words[0]]
			if group == nil {
				group = map[string][]string{}
				out[words[0]] = group
			}
			group[words[1]] = words[2:]
		}
	}
	return out
})

// A schema is what the libraries that open a text by its name read in it.
type schema struct {
	kinds   Folder   // those whose libraries open the text
	shared  Folder   // those of them for which only their own folders count
	of      []Folder // the kind of each of them
	readers []string
	groups  []map[string][]string
}

// schemas keeps the schemas of names without patterns.
var schemas = sync.OnceValue(func() map[string]*schema {
	out := map[string]*schema{}
	for i, k := range folderKinds {
		for _, t := range k.Texts {
			for _, name := range t.Names {
				if t.Group == "" {
					continue
				}
				s := out[name]
				if s == nil {
					s = &schema{}
					out[name] = s
				}
				s.kinds |= 1 << i
				s.readers, s.groups, s.of = append(s.readers, k.Reader), append(s.groups, members()[t.Group]), append(s.of, 1<<i)
				if t.Shared {
					s.shared |= 1 << i
				}
			}
		}
	}
	return out
})

// schemaOf returns the schema of the texts of a name in small letters, or nil where no library
// of folderKinds opens them.
func schemaOf(base string) *schema {
	if s := schemas()[base]; s != nil {
		return s
	}
	for _, pattern := range patterns() {
		if is, _ := path.Match(pattern, base); is {
			return schemas()[pattern]
		}
	}
	return nil
}

// patterns are the names of schemas that stand for more than one, in order.
var patterns = sync.OnceValue(func() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(schemas())), func(name string) bool {
		return !strings.ContainsAny(name, `*?[\`)
	})
})

// grammars returns what the libraries take a member for, and the first library that reads it.
func (s *schema) grammars(key string) (grammars []string, reader string) {
	for i, group := range s.groups {
		if g, ok := group[key]; ok {
			grammars = append(grammars, g...)
			if reader == "" {
				reader = s.readers[i]
			}
		}
	}
	return grammars, reader
}

// reads says what the libraries make of a member, for a finding.
func (s *schema) reads(key string) string {
	grammars, reader := s.grammars(key)
	if reader == "" {
		return "none of " + strings.Join(s.readers, ", ") + " reads a member of this name"
	}
	slices.Sort(grammars)
	if grammars = slices.Compact(grammars); len(grammars) == 0 {
		return reader + " reads it"
	}
	return reader + " reads it as " + strings.Join(grammars, " or ")
}

// mistakes says which type the libraries expect where a text is: a number, a boolean, or a single
// text where this one is in a list. "" means that a text may be there.
func (s *schema) mistakes(key string, p place) (number, single string) {
	if len(p.keys) == 0 || p.keys[0] != key {
		return "", ""
	}
	isNumber, isSingle, read := true, true, false
	for _, group := range s.groups {
		grammars, ok := group[key]
		if !ok {
			continue
		}
		read = true
		for _, g := range grammars {
			isNumber = isNumber && (g == "number" || g == "boolean")
			isSingle = isSingle && g != "tree"
		}
		isNumber, isSingle = isNumber && len(grammars) > 0, isSingle && len(grammars) > 0
	}
	if read && isNumber {
		number = s.reads(key)
	}
	if read && isSingle && p.gaps[0] == list {
		single = s.reads(key) + ", and this is a list"
	}
	return number, single
}

// hasWord reports whether a text is one of the closed set of words that a member may have.
func (s *schema) hasWord(key, text string) bool {
	grammars, _ := s.grammars(key)
	for _, g := range grammars {
		if list, ok := strings.CutPrefix(g, "="); ok && slices.Contains(strings.Split(list, ","), text) {
			return true
		}
	}
	return false
}

// within returns the schema of a text in a folder of these kinds: that of the libraries which load
// such a folder, or that of all with a name of their own if none of those that open such a text does.
// It is nil if each shares the name with others.
func (s *schema) within(f Folder) *schema {
	if s == nil {
		return nil
	}
	if f &= s.kinds; f == 0 {
		f = s.kinds &^ s.shared
	}
	switch f {
	case s.kinds:
		return s
	case 0:
		return nil
	}
	out := &schema{kinds: f, shared: s.shared & f}
	for i, of := range s.of {
		if of&f != 0 {
			out.readers, out.groups, out.of = append(out.readers, s.readers[i]), append(out.groups, s.groups[i]), append(out.of, of)
		}
	}
	return out
}
