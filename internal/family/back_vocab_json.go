package family

import (
	"cmp"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

func orNull(s string) string { return cmp.Or(s, "null") }

// bytePairs writes a BPE of bytes.
func (r *vocabWriter) bytePairs(w *jsontree.Text, p pre) error {
	w.Put("{\n \"version\": \"1.0\",\n \"truncation\": null,\n \"padding\": null,\n \"added_tokens\": ")
	tail := r.added(w)
	w.Put(",\n \"normalizer\": ", orNull(p.normalizer), ",\n \"pre_tokenizer\": ")
	bytes := `{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": ` + boolText(p.own) + "}"
	if p.cut != "" {
		bytes = `{"type": "Sequence", "pretokenizers": [` + p.cut + ", " + bytes + "]}"
	}
	w.Put(bytes, ",\n \"post_processor\": ")
	if !r.templateProcessing(w) {
		w.Put(`{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false, "use_regex": true}`)
	}
	w.Put(",\n \"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true, \"trim_offsets\": true, \"use_regex\": true},\n",
		` "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": `, boolText(p.whole))
	r.texts(w, tail)
	w.Put(`, "merges": [`)
	for i, m := range r.merges {
		if i > 0 {
			w.Put(", ")
		}
		w.Quote(m)
	}
	w.Put("]}\n}\n")
	return w.Err()
}

// isAdded reports a token that is not the model's.
func (r *vocabWriter) isAdded(i int) bool {
	return r.v.types[i] == typeControl || r.v.types[i] == typeUserDefined || r.v.types[i] == typeUnknown
}

// isPadding reports a number without a token, which the converter fills.
func (r *vocabWriter) isPadding(i int) bool {
	return r.v.types[i] == typeUnused && r.v.texts[i] == "[PAD"+itoa(int64(i))+"]"
}

// added writes the added tokens. Consecutive ones at the end get their numbers from their
// order; tail is where those begin. All others are also written as the model's.
func (r *vocabWriter) added(w *jsontree.Text) (tail int) {
	tail = len(r.v.texts)
	for tail > 0 && (r.isAdded(tail-1) || r.isPadding(tail-1)) {
		tail--
	}
	free := false // a number below is no token's: the next added one would take it
	for i := range r.v.types {
		hole := r.isPadding(i)
		if hole && i < tail || free && !hole {
			tail = len(r.v.texts)
			break
		}
		free = free || hole
		w.Step()
	}
	w.Put("[")
	r.eachAdded(w, func(id, text string, special bool) {
		w.Put("\n  {\"id\": ", id, ", \"content\": ")
		w.Quote(text)
		w.Put(`, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": `, boolText(special), "}")
	})
	w.Put("]")
	return tail
}

// eachAdded writes the added tokens with commas between them.
func (r *vocabWriter) eachAdded(w *jsontree.Text, token func(id, text string, special bool)) {
	first := true
	for i, text := range r.v.texts {
		if !r.isAdded(i) {
			continue
		}
		if !first {
			w.Put(",")
		}
		first = false
		token(itoa(int64(i)), text, r.v.types[i] != typeUserDefined)
	}
}

// texts writes the vocabulary of the model.
func (r *vocabWriter) texts(w *jsontree.Text, tail int) {
	w.Put(`, "vocab": {`)
	first := true
	for i, text := range r.v.texts[:tail] {
		if r.isPadding(i) {
			continue
		}
		if !first {
			w.Put(", ")
		}
		first = false
		w.Quote(text)
		w.Put(": ", itoa(int64(i)))
	}
	w.Put("}")
}

// templateProcessing writes a post-processor that adds tokens, if there are any to add.
func (r *vocabWriter) templateProcessing(w *jsontree.Text) bool {
	if r.bos < 0 && r.eos < 0 {
		return false
	}
	one := func(id int64, kind string) {
		w.Put(`{"SpecialToken": {"id": `)
		w.Quote(r.v.texts[id])
		w.Put(`, "type_id": `, kind, "}}")
	}
	text := func(id, kind string) {
		if r.bos >= 0 {
			one(r.bos, kind)
			w.Put(", ")
		}
		w.Put(`{"Sequence": {"id": "`, id, `", "type_id": `, kind, "}}")
		if r.eos >= 0 {
			w.Put(", ")
			one(r.eos, kind)
		}
	}
	w.Put(`{"type": "TemplateProcessing", "single": [`)
	text("A", "0")
	w.Put(`], "pair": [`)
	text("A", "0")
	w.Put(", ")
	text("B", "1")
	w.Put(`], "special_tokens": {`)
	for i, id := range []int64{r.bos, r.eos} {
		if id < 0 || i == 1 && id == r.bos {
			continue
		}
		if i == 1 && r.bos >= 0 {
			w.Put(", ")
		}
		r.templated(w, id)
	}
	w.Put("}}")
	return true
}

// config returns tokenizer_config.json, with the chat templates.
func (r *vocabWriter) config() ([]byte, error) {
	w := jsontree.NewText(r.s.b)
	class := "PreTrainedTokenizerFast"
	if r.isT5() {
		class = "T5Tokenizer"
	}
	w.Put("{\n  \"tokenizer_class\": \"", class, "\",\n  \"clean_up_tokenization_spaces\": false")
	done := false
	for _, name := range specialNames {
		if id := r.token(name); id >= 0 && specialKeys[name] != "" {
			if r.s.text("model") == "bert" {
				name = cmp.Or(map[string]string{"bos": "cls", "eos": "sep"}[name], name)
				if name == "sep" && done {
					continue
				}
				done = done || name == "sep"
			}
			w.Put(",\n  \"", name, "_token\": ")
			w.Quote(r.v.texts[id])
		}
	}
	for _, name := range []string{"bos", "eos"} {
		if add, ok := r.s.keys["tokenizer.ggml.add_"+name+"_token"].(bool); ok {
			w.Put(",\n  \"add_", name, "_token\": ", boolText(add))
		}
	}
	if add, ok := r.s.keys["tokenizer.ggml.add_space_prefix"].(bool); ok {
		w.Put(",\n  \"add_prefix_space\": ", boolText(add))
	}
	r.decoder(w)
	if err := r.templates(w); err != nil {
		return nil, err
	}
	w.Put("\n}\n")
	return w.Done()
}

// decoder writes added_tokens_decoder.
func (r *vocabWriter) decoder(w *jsontree.Text) {
	w.Put(",\n  \"added_tokens_decoder\": {")
	r.eachAdded(w, func(id, text string, special bool) {
		w.Put("\n    \"", id, "\": {\"content\": ")
		w.Quote(text)
		w.Put(`, "lstrip": false, "normalized": false, "rstrip": false, "single_word": false, "special": `, boolText(special), "}")
	})
	w.Put("}")
}

// templates writes the chat templates: one as a text, several as a list.
func (r *vocabWriter) templates(w *jsontree.Text) error {
	main, there := r.s.keys["tokenizer.chat_template"].(string)
	names, _ := r.s.keys["tokenizer.chat_templates"].(array)
	if names == nil || names.Len() == 1 && r.s.keys["tokenizer.chat_template.rerank"] == any(rankLayout) {
		if there {
			w.Put(",\n  \"chat_template\": ")
			w.Quote(main)
		}
		return w.Err()
	}
	w.Put(",\n  \"chat_template\": [")
	one := func(first bool, name, text string) {
		if !first {
			w.Put(", ")
		}
		w.Put(`{"name": `)
		w.Quote(name)
		w.Put(`, "template": `)
		w.Quote(text)
		w.Put("}")
	}
	first := true
	if there {
		one(true, "default", main)
		first = false
	}
	for name, err := range names.Strings(r.s.b) {
		if err != nil {
			return err
		}
		text, ok := r.s.keys["tokenizer.chat_template."+name].(string)
		if !ok || strings.TrimSpace(name) == "" || name == "default" {
			return wire.At("gguf", "key "+wire.Quote("tokenizer.chat_templates"), wire.NoOffset, wire.ErrMissing.Errorf("there is no template %s", wire.Quote(name)))
		}
		one(first, name, text)
		first = false
	}
	w.Put("]")
	return w.Err()
}
