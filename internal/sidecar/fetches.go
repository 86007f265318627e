package sidecar

import (
	"path"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A fetch is a member of a text of its own by which a library fetches another model, whatever loads
// the folder.
type fetch struct {
	file, key string
	who       string
	// runs says that the library builds the model as if it was told to trust its code; built is the
	// member that keeps it from fetching, an object from which it builds the model itself.
	runs  bool
	built string
}

var fetches = [...]fetch{
	{"audio_tokenizer_config.json", "audio_tokenizer_name_or_path", "transformers", false, ""},
	// AutoModel.from_config(AutoConfig.from_pretrained(name), trust_remote_code=True) of GLiNER 0.2.
	{"gliner_config.json", "model_name", "GLiNER", true, "encoder_config"},
	{"gliner_config.json", "labels_encoder", "GLiNER", true, "labels_encoder_config"},
	{"gliner_config.json", "labels_decoder", "GLiNER", true, "labels_decoder_config"},
}

// A hubName is a member that names a model whatever its text looks like: a hub has models without an
// owner, which are words elsewhere, and a folder may have such a name.
type hubName struct {
	file, key, who string
}

var hubNames = [...]hubName{
	{"sentence_*_config.json", "tokenizer_name_or_path", "sentence-transformers"},
	{"open_clip_config.json", "hf_model_name", "open_clip"},
	{"open_clip_model_config.json", "hf_model_name", "open_clip"},
	{configs, "vlm_model_name", "LeRobot"},
	{"modular_model_index.json", "repo", "diffusers"},
}

// fetchesWord returns the library that takes any text of a member for a model, "" for none.
func (w *walk) fetchesWord(key string) string {
	if key == "name_or_path" && w.file == configs && w.below("verifier") {
		return "vLLM"
	}
	for _, n := range hubNames {
		if n.key != key {
			continue
		}
		if is, _ := path.Match(n.file, w.file); is {
			return n.who
		}
	}
	return ""
}

// isHubWord reports whether a text is words to couldName, and yet the name of a model without an
// owner, or of a folder.
func isHubWord(k *kept) bool { return k.text != "" && couldName(k) == "" }

// encoders are models of which GLiNER's publishers build theirs.
var encoders = setOf("microsoft/deberta-v3-xsmall microsoft/deberta-v3-small microsoft/deberta-v3-base microsoft/deberta-v3-large microsoft/mdeberta-v3-base")

// fetchOf returns the row of a member of the root, or nil.
func (w *walk) fetchOf(key string) *fetch {
	if len(w.open) != 1 {
		return nil
	}
	for i := range fetches {
		if fetches[i].file == w.file && fetches[i].key == key {
			return &fetches[i]
		}
	}
	return nil
}

func (w *walk) fetchKey(key string) bool { return w.fetchOf(key) != nil }

// builds notes that a member is an object from which a library may build what it would fetch else.
func (w *walk) builds(key string) {
	if len(w.open) != 2 || w.file != "gliner_config.json" || !strings.HasSuffix(key, "_config") {
		return
	}
	for i := range fetches {
		if fetches[i].built == key {
			if w.built == nil {
				w.built = map[string]bool{}
			}
			w.built[key] = true
		}
	}
}

// fetches judges, at the end of the root, a member by which a library fetches a model.
func (w *walk) fetches(f *frame, key string, v value) (bool, error) {
	row := w.fetchOf(key)
	switch {
	case key == "tokenizer_name_or_path" && w.isPrompt(key) && isHubWord(&kept{text: v.text}):
		return true, w.once(CodeUnexplained, tensor.Warning, key, v.off, "PEFT fetches the tokenizer "+wire.Quote(v.text)+" for the text of its prompt")
	case w.isBackbone(f, key, v.text):
		return true, w.once(CodeUnexplained, tensor.Warning, key, v.off, "transformers fetches the model "+wire.Quote(v.text)+", or takes a folder of this name where it runs")
	case row == nil:
		return false, nil
	case leadsOut(v.text) || strings.HasPrefix(v.text, "."):
		return true, w.once("sidecar.index-path", tensor.Danger, key, v.off, row.who+" loads a model from "+wire.Quote(v.text))
	case (f.twice == key || row.built == "" || !w.built[row.built]) && isHubWord(&kept{text: v.text}):
		return true, w.once(CodeUnexplained, tensor.Warning, key, v.off, row.who+" fetches the model "+wire.Quote(v.text)+", or takes a folder of this name where it runs")
	case f.twice != key && row.built != "" && w.built[row.built], !isOwned(v.text) && !isSourced(v.text):
		return f.twice != key && isOwned(v.text), nil
	case row.runs && !encoders()[v.text]:
		return true, w.once(codeImport, tensor.Danger, key, v.off, row.who+" fetches the model "+wire.Quote(v.text)+", whose configuration may name code that it runs, for there is no "+row.built)
	}
	return true, w.once(CodeUnexplained, tensor.Warning, key, v.off, row.who+" fetches the model "+wire.Quote(v.text))
}

// expert judges where X-LoRA loads one of its adapters from: a folder, or a repository whose name may
// have no owner before it (XLoraModel of PEFT 0.21, if the caller gives no adapters of its own).
func (w *walk) expert(key, text string, at int64) error {
	if leadsOut(text) {
		return w.once("sidecar.index-path", tensor.Danger, "adapters", at, "PEFT loads an adapter of X-LoRA from "+wire.Quote(text))
	}
	return w.once(CodeUnexplained, tensor.Warning, wire.Quote(key), at, "PEFT fetches "+wire.Quote(text)+" for X-LoRA, or takes a folder of this name where it runs")
}

// isBackbone reports whether transformers fetches the model that a member backbone names, though it is
// but a word: the configuration says that timm's table does not have it (4.57 its weights, 5.24 its
// configuration).
func (w *walk) isBackbone(f *frame, key, text string) bool {
	return key == "backbone" && w.file == configs && f.noTimm && isHubWord(&kept{text: text})
}

// isSourced reports whether a text says whence timm and open_clip take a model: hf-hub:name,
// local-dir:folder.
func isSourced(text string) bool {
	source, _, ok := strings.Cut(text, ":")
	switch strings.ToLower(source) {
	case "hf-hub", "hf_hub", "local-dir":
		return ok
	}
	return false
}

// isSpaCy reports whether a text is the name of one of spaCy's own packages, such as en_core_web_sm.
func isSpaCy(text string) bool {
	parts := strings.Split(text, "_")
	return len(parts) == 4 && len(parts[0]) == 2 && strings.Trim(parts[0], "abcdefghijklmnopqrstuvwxyz") == "" &&
		spacyKinds()[parts[1]] && spacyTexts()[parts[2]] && spacySizes()[parts[3]]
}

var (
	spacyKinds = setOf("core dep ent sent")
	spacyTexts = setOf("web news wiki ud")
	spacySizes = setOf("sm md lg trf")
)

// isPrompt reports a member of PEFT's prompt tuning that is judged with another.
func (w *walk) isPrompt(key string) bool {
	return w.file == adapters && len(w.open) == 1 && (key == "tokenizer_name_or_path" || key == "prompt_tuning_init")
}

// readsNone reports a member that no library reads, by another of the object: PEFT writes the name
// of a tokenizer, and loads it for a prompt that begins as a text alone (PromptEmbedding, 0.21).
func (w *walk) readsNone(f *frame, key string) bool {
	return w.isPrompt(key) && key == "tokenizer_name_or_path" && f.twice == "" && f.kept["prompt_tuning_init"].text != "TEXT"
}
