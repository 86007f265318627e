package sidecar

import (
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/jinja"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A text beside a model is explained by the row of a kind of folder, it is for people, it is data by
// its own schema, or it is code, of which there is a finding. Any other is unexplained: a warning, and
// danger if it holds more than words and numbers. That a folder is of a kind says nothing of a text
// that no row of the kind has.

// tableEndings are the extensions of vocabularies, of which no library makes members.
var tableEndings = setOf("vocab bpe codes tiktoken")

// dataNames are more names of vocabularies, of what counts tokens and of lists of digests, which are data by
// what reads them.
var dataNames = setOf("tekken.json bpe.codes vocab.bpe emoji.json normalizer.json entity_vocab.json target_vocab.json vocab-src.json vocab-tgt.json " +
	"word_shape.json word_pronunciation.json dict.json label2id.json id2label.json labels.json classes.json " +
	"sha256sums sha512sums sha1sums md5sums checklist.chk tokenizer_checklist.chk")

// peopleEndings are the extensions that a text for people may have.
var peopleEndings = setOf("md markdown rst adoc txt bib tex html htm pdf cff log")

// treesOf has the members by which models of trees are known that libraries write as JSON.
var treesOf = map[string]string{"gradient_booster": "XGBoost", "oblivious_trees": "CatBoost", "tree_info": "LightGBM"}

// gitTexts are what git reads in a folder of files that it keeps: patterns of names, and words for them,
// which mean something only in a configuration of git, which is judged by itself.
var gitTexts = setOf(".gitattributes .gitignore .gitkeep .dockerignore .hfignore")

// rowNames has, by the names of texts that rows of folderKinds have without members, the kinds whose
// libraries open them.
var rowNames = sync.OnceValue(func() map[string]Folder {
	out := map[string]Folder{}
	for i, k := range folderKinds {
		for _, t := range k.Texts {
			for _, name := range t.Names {
				if t.Group == "" {
					out[name] |= 1 << i
				}
			}
		}
	}
	return out
})

// rootMembers has, by the names of texts that libraries share without a group of members, the members that
// such a library has at their root. A text with others is of none of them.
var rootMembers = map[string]func() map[string]bool{
	"model.yaml":               setOf("name version module labels options metadata context signatures api_version creation_time"),
	"config.yaml":              setOf("version dependencies pipeline params preprocessors freeze device"),
	"configuration.json":       setOf("framework task allow_remote model file_path_metas model_name_in_hub pipeline"),
	"ds_config.json":           setOf("train_batch_size train_micro_batch_size_per_gpu gradient_accumulation_steps gradient_clipping prescale_gradients steps_per_print wall_clock_breakdown optimizer scheduler fp16 bf16 bfloat16 zero_optimization zero_allow_untested_optimizer communication_data_type"),
	"policy_preprocessor.json": setOf("name steps"), "policy_postprocessor.json": setOf("name steps"),
	"mergekit_config.yml": mergekit, "mergekit_config.yaml": mergekit,
	"recipe.yaml":       setOf("default_stage quant_stage sparsity_stage default_modifiers quant_modifiers quantization_modifiers"),
	"dataset_info.json": setOf("builder_name citation config_name dataset_name dataset_size description download_checksums download_size features homepage license size_in_bytes splits supervised_keys version post_processed post_processing_size"),
	"oci-layout":        setOf("imageLayoutVersion"),
	"index.json":        setOf("schemaVersion mediaType manifests annotations"),
}

// mergekit are the members of what mergekit keeps beside a model that it has merged.
var mergekit = setOf("slices models merge_method base_model parameters dtype out_dtype tokenizer_source tokenizer chat_template modules architecture moe_config name")

// atRoot notes a member at the root of a text.
func (r *reader) atRoot(name string) {
	if set := rootMembers[r.file]; set == nil || !set()[name] {
		r.stranger = true
	}
	r.rooted = true
}

// rootLine notes the member that a line of YAML has at the root.
func (r *reader) rootLine(line string) {
	if line == "" || strings.IndexByte(" \t\r#", line[0]) >= 0 || strings.HasPrefix(line, "---") && strings.Trim(line, "-\r ") == "" {
		return
	}
	key, _ := pair(line)
	r.atRoot(key)
}

// ofStore reports whether the text is one that a store of OCI or ollama has under its digest.
func (r *reader) ofStore() bool {
	digest, isOllama := strings.CutPrefix(r.file, "sha256-")
	return len(digest) == 64 && strings.Trim(digest, "0123456789abcdef") == "" && (isOllama || r.inFolder(1) == "sha256" && r.inFolder(2) == "blobs")
}

// inRow reports whether a row of the folder's kinds has the text.
func (r *reader) inRow() bool {
	if r.known != nil || rowNames()[r.file]&r.kinds != 0 {
		return true
	}
	if rootMembers[r.file] != nil && r.rooted && !r.stranger || r.ofStore() {
		return true
	}
	return r.file == "schema.json" && strings.Contains(strings.ToLower(r.t.Name), ".skops!") || strings.HasSuffix(r.file, ".index.json") || strings.HasPrefix(r.file, "openvino_") && strings.HasSuffix(r.file, ".xml")
}

// ending is the extension of the text, without its point.
func (r *reader) ending() string { return strings.TrimPrefix(path.Ext(r.file), ".") }

// isForPeople reports whether a text is called as one that people read: a README, a licence, a page.
func (r *reader) isForPeople() bool {
	ext := r.ending()
	if isNamedForPeople(r.file) {
		return true
	}
	return ext != "xml" && documentEndings()[ext]
}

// isNamedForPeople reports whether the name says it, and the extension does not say another thing:
// README.gin is read by Gin.
func isNamedForPeople(file string) bool {
	stem, ext, dotted := strings.Cut(file, ".")
	stem, _, _ = strings.Cut(stem, "-")
	return documentNames()[stem] && (!dotted || peopleEndings()[ext[strings.LastIndexByte(ext, '.')+1:]])
}

// isData reports whether a text is data by what reads it: a vocabulary, a list of labels.
func (r *reader) isData() bool {
	return dataTexts[r.file] || vocabularyNames()[r.file] || dataNames()[r.file] || tableEndings()[r.ending()] || strings.HasPrefix(r.file, "rwkv_vocab") ||
		r.file == "strings.json" && r.kinds&kindOf("spaCy") != 0
}

// isJudged reports whether a judge of its own says all of a text: of a template, of what git reads, of
// a file that one library opens by its name or its extension.
func (r *reader) isJudged() bool {
	if r.byGit() != nil || readersOf[r.file] != nil || r.isManifest() {
		return true
	}
	if inside, _, _ := r.belowGit(); inside {
		return true
	}
	switch r.ending() {
	case "jinja", "jinja2", "j2", "textproto", "pbtxt", "onnxtxt", "onnxtext", "onnxjson", "meta":
		return true
	}
	return false
}

// isManifest reports whether TorchServe reads what it runs from the text.
func (r *reader) isManifest() bool {
	_, is := ManifestOf(r.t.Name)
	return is
}

// unexplainedText reports a text that nothing explains.
func (r *reader) unexplainedText() error {
	switch {
	case r.trees != "":
		return r.report(CodeUnexplained, tensor.Danger, "", 0, "it is a model of "+r.trees+" as text: its trees are not proven here, and the library reads them without a check")
	case r.t.Part, r.t.Field, r.inRow(), r.isJudged(), r.isData(), gitTexts()[r.file]:
		return nil
	}
	r.begin()
	if p, _ := r.in.Peek(len("tree\r\n")); strings.HasPrefix(string(p), "tree\n") || string(p) == "tree\r\n" {
		r.trees = "LightGBM"
		return r.unexplainedText()
	}
	if r.isForPeople() {
		return r.rendered()
	}
	p, _ := r.in.Peek(2)
	script := string(p) == "#!" && r.ending() == ""
	if !script && r.code(r.file, path.Ext(r.file)) != "" || r.ending() == "dir" || r.ending() == "modelfile" || strings.HasPrefix(r.file, "modelfile.") {
		return nil // code has a finding of its own
	}
	if script {
		return r.once(CodeUnexplained, tensor.Danger, "", 0, "no row of a kind of folder has this text, and it is a script")
	}
	return r.bareText()
}

// bareText reports a text that nothing explains by what it holds: danger
// if that could run, a warning if it only names something.
func (r *reader) bareText() error {
	b := bare{features: r.file == "dataset_info.json", flat: readers[path.Ext(r.file)] == nil && !r.t.JSON}
	if err := r.eachPiece(b.piece); err != nil {
		return err
	}
	if b.what == "" || isNamed[b.what] {
		b.piece([]byte("\n"), r.off) // what ends the last word, or the last line
	}
	switch {
	case b.what != "":
		severity := tensor.Danger
		if isNamed[b.what] {
			severity = tensor.Warning
		}
		return r.once(CodeUnexplained, severity, "", b.at, "no row of a kind of folder has this text, and it holds "+b.what)
	case !b.members && (r.ending() == "txt" || !b.words):
		return nil // words and numbers, proven to the end; in any text numbers and digests, as hubs keep them
	}
	return r.once(CodeUnexplained, tensor.Warning, "", 0, "no row of a kind of folder has this text: words and numbers alone, and no library is known that reads them")
}

// bareStep is how many bytes of an unexplained text are looked at for a step.
const bareStep = stepLen / 8

// eachPiece calls visit for the bytes of the text, from its beginning, until it says that it has seen
// enough.
func (r *reader) eachPiece(visit func(p []byte, at int64) (enough bool)) error {
	r.begin()
	for r.off < r.t.Size {
		if _, err := r.in.Peek(1); err != nil {
			return wire.ErrTruncated.Errorf("the text ends after less than %d bytes", r.t.Size)
		}
		p, _ := r.in.Peek(r.in.Buffered())
		if err := r.steps.Take(1 + int64(len(p))/bareStep); err != nil {
			return err
		}
		if visit(p, r.off) {
			return nil
		}
		r.off += int64(len(p))
		r.in.Discard(len(p))
	}
	return nil
}

// rendered judges a text for people that has marks of a template: huggingface_hub renders the card of
// a model from one, without a sandbox, as soon as it is named.
func (r *reader) rendered() error {
	marked, before := false, byte(0)
	err := r.eachPiece(func(p []byte, _ int64) bool {
		for _, c := range p {
			marked = marked || before == '{' && (c == '{' || c == '%')
			before = c
		}
		return marked
	})
	if err != nil || !marked {
		return err
	}
	severity, code := tensor.Danger, ""
	if isNamedForPeople(r.file) { // its code is for people, unless it is a template that reaches the interpreter
		severity, code = tensor.Warning, jinja.CodeDunder
	}
	if r.t.Size > maxTemplate {
		return r.once(CodeUnexplained, severity, "", 0, "it has marks of a template, and is longer than any that is looked through")
	}
	return r.whole(func(text string) error {
		if err := r.b.Step(r.t.Size); err != nil {
			return err
		}
		if err := r.b.Hold(2 * r.t.Size); err != nil { // as for a chat template
			return err
		}
		defer r.b.Drop(2 * r.t.Size)
		issues, err := jinja.Check(r.b, text)
		if err != nil {
			return err
		}
		for _, i := range issues {
			if code == "" || i.Code == code {
				said := fmt.Sprintf("line %d, if a library renders this text as a template: %s", i.Line, i.Text)
				if err := r.report(CodeTemplate+i.Code, severity, "", int64(i.Off), said); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
