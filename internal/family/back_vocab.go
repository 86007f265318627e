package family

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A rebuilt is the vocabulary of a GGUF file, on its way to tokenizer.json.
type rebuilt struct {
	s      *settings
	v      vocab
	merges []string
	names  *wire.NameSet // of texts
	bos    int64         // what is added before a text, or -1
	eos    int64         // and behind it
}

// tokenizer makes the files of a tokenizer. What cannot be made again exactly is
// left out, with the reason.
func (s *settings) tokenizer(files *memory) (left []string, err error) {
	r := &rebuilt{s: s}
	if err := r.read(); err != nil {
		return nil, err
	}
	text, why, err := r.json()
	if err != nil {
		return nil, err
	}
	if why == "" {
		if why, err = r.proves(text); err != nil {
			return nil, err
		}
	}
	if why != "" {
		left = append(left, tokenizer.FileName+" ("+why+")")
	} else {
		files.add(tokenizer.FileName, text)
	}
	if s.text("model") == "llama" && why == "" {
		model, err := r.sentencepiece()
		if err != nil {
			return nil, err
		}
		files.add(tokenizer.SPMName, model)
	}
	config, err := r.config()
	if err != nil {
		return nil, err
	}
	files.add(tokenizerConfig, config)
	return left, nil
}

// text is the value of a key of the tokenizer.
func (s *settings) text(key string) string {
	v, _ := s.keys["tokenizer.ggml."+key].(string)
	return v
}

// array is the value of a key of the tokenizer.
func (s *settings) array(key string) array {
	v, _ := s.keys["tokenizer.ggml."+key].(array)
	return v
}

// token is the number of a token with a purpose, or -1.
func (r *rebuilt) token(name string) int64 {
	n, ok := number(r.s.keys["tokenizer.ggml."+specialKeys[name]+"_token_id"])
	if !ok || n < 0 || n >= float64(len(r.v.texts)) {
		return -1
	}
	return int64(n)
}

// read takes the arrays.
func (r *rebuilt) read() (err error) {
	b := r.s.b
	tokens, types, scores := r.s.array("tokens"), r.s.array("token_type"), r.s.array("scores")
	at := func(key string, err error) error {
		return wire.At("gguf", "key "+wire.Quote("tokenizer.ggml."+key), wire.NoOffset, err)
	}
	if tokens == nil || tokens.Len() > maxVocab || tokens.Len() != r.s.rows("token_embd.weight") && r.s.row != &gpt2Row {
		return at("tokens", wire.ErrMismatch.With("it has not as many texts as token_embd.weight has rows"))
	}
	for text, bad := range tokens.Strings(b) {
		if err = bad; err == nil {
			r.v.texts, err = limits.Append(b, r.v.texts, text)
		}
		if err != nil {
			return at("tokens", err)
		}
	}
	for key, list := range map[string]array{"token_type": types, "scores": scores} {
		if list != nil && list.Len() != tokens.Len() {
			return at(key, wire.ErrMismatch.With("%d values for %d tokens", list.Len(), tokens.Len()))
		}
	}
	if r.v.types, err = limits.Make[int32](b, len(r.v.texts)); err != nil {
		return at("token_type", err)
	}
	for i := range r.v.types {
		r.v.types[i] = typeNormal
	}
	if types != nil {
		i := 0
		for n, err := range types.Ints(b) {
			if err != nil {
				return at("token_type", err)
			}
			r.v.types[i] = int32(n)
			i++
		}
	}
	if scores != nil {
		for f, bad := range scores.Floats(b) {
			if err = bad; err == nil {
				r.v.scores, err = limits.Append(b, r.v.scores, float32(f))
			}
			if err != nil {
				return at("scores", err)
			}
		}
	}
	return r.named()
}

// named finds the numbers of texts, and reads the merges.
func (r *rebuilt) named() (err error) {
	b := r.s.b
	if r.names, err = wire.NewNameSet(b, len(r.v.texts), func(i int) string { return r.v.texts[i] }); err != nil {
		return err
	}
	for i := range r.v.texts {
		if _, _, err := r.names.Add(i); err != nil {
			return err
		}
	}
	if merges := r.s.array("merges"); merges != nil {
		for text, err := range merges.Strings(b) {
			if err != nil {
				return err
			}
			if r.merges, err = limits.Append(b, r.merges, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// adds says which tokens stand around a text: what the keys say, else what llama.cpp
// does without them.
func (r *rebuilt) adds(bos, eos bool) {
	flag := func(name string, otherwise bool) int64 {
		if truth, ok := r.s.keys["tokenizer.ggml.add_"+name+"_token"].(bool); ok {
			otherwise = truth
		}
		if !otherwise {
			return -1
		}
		return r.token(name)
	}
	r.bos, r.eos = flag("bos", bos), flag("eos", eos)
}

// json is tokenizer.json, or why there is none.
func (r *rebuilt) json() (text []byte, why string, err error) {
	w := jsontree.NewText(r.s.b)
	switch model := r.s.text("model"); model {
	case "gpt2":
		name := r.s.text("pre")
		p, ok := preOf(name)
		switch {
		case !ok:
			return nil, "no pre-tokenizer is known for " + wire.Quote(name), nil
		case r.merges == nil:
			return nil, "there are no merges", nil
		}
		r.adds(p.bos, false)
		err = r.bytePairs(w, p)
	case "llama":
		if why := r.scored(); why != "" {
			return nil, why, nil
		}
		r.adds(true, false)
		err = r.characters(w)
	default:
		return nil, "a tokenizer of the kind " + wire.Quote(model), nil
	}
	if err != nil {
		return nil, "", err
	}
	text, err = w.Done()
	return text, "", err
}

// proves reads what was written, as the library will.
func (r *rebuilt) proves(text []byte) (why string, err error) {
	t, err := tokenizer.ParseJSON(r.s.b, tokenizer.FileName, string(text))
	if err == nil {
		_, err = t.Encode(r.s.b, "a b")
	}
	switch wire.ClassOf(err) {
	case wire.OK:
		return "", nil
	case wire.Malformed, wire.Unsupported:
		return wire.Message(err), nil
	}
	return "", err
}

func orNull(s string) string { return cmp.Or(s, "null") }

// bytePairs writes a BPE of bytes.
func (r *rebuilt) bytePairs(w *jsontree.Text, p pre) error {
	w.Put("{\n \"version\": \"1.0\",\n \"truncation\": null,\n \"padding\": null,\n \"added_tokens\": ")
	tail := r.added(w)
	w.Put(",\n \"normalizer\": ", orNull(p.normalizer), ",\n \"pre_tokenizer\": ")
	bytes := `{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": ` + truth(p.own) + "}"
	if p.cut != "" {
		bytes = `{"type": "Sequence", "pretokenizers": [` + p.cut + ", " + bytes + "]}"
	}
	w.Put(bytes, ",\n \"post_processor\": ")
	if !r.around(w) {
		w.Put(`{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false, "use_regex": true}`)
	}
	w.Put(",\n \"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true, \"trim_offsets\": true, \"use_regex\": true},\n",
		` "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": `, truth(p.whole))
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

// isAdded reports a token beside the model's.
func (r *rebuilt) isAdded(i int) bool {
	return r.v.types[i] == typeControl || r.v.types[i] == typeUserDefined || r.v.types[i] == typeUnknown
}

// hole reports a number that no token has: the converter fills them.
func (r *rebuilt) hole(i int) bool {
	return r.v.types[i] == typeUnused && r.v.texts[i] == "[PAD"+itoa(int64(i))+"]"
}

// added lists the added tokens. Those that follow each other at the end get their
// numbers by that; what it gives is where they begin. All others are in the model too.
func (r *rebuilt) added(w *jsontree.Text) (tail int) {
	tail = len(r.v.texts)
	for tail > 0 && (r.isAdded(tail-1) || r.hole(tail-1)) {
		tail--
	}
	free := false // a number below is no token's: the next added one would take it
	for i := range r.v.types {
		hole := r.hole(i)
		if hole && i < tail || free && !hole {
			tail = len(r.v.texts)
			break
		}
		free = free || hole
		w.Step()
	}
	w.Put("[")
	first := true
	for i, text := range r.v.texts {
		if !r.isAdded(i) {
			continue
		}
		if !first {
			w.Put(",")
		}
		first = false
		w.Put("\n  {\"id\": ", itoa(int64(i)), ", \"content\": ")
		w.Quote(text)
		w.Put(`, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": `, truth(r.v.types[i] != typeUserDefined), "}")
	}
	w.Put("]")
	return tail
}

// texts writes the vocabulary of the model.
func (r *rebuilt) texts(w *jsontree.Text, tail int) {
	w.Put(`, "vocab": {`)
	first := true
	for i, text := range r.v.texts[:tail] {
		if r.hole(i) {
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

// around writes a post-processor that adds tokens, if any are to be added.
func (r *rebuilt) around(w *jsontree.Text) bool {
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
		w.Quote(r.v.texts[id])
		w.Put(`: {"id": `)
		w.Quote(r.v.texts[id])
		w.Put(`, "ids": [`, itoa(id), `], "tokens": [`)
		w.Quote(r.v.texts[id])
		w.Put("]}")
	}
	w.Put("}}")
	return true
}

// scored says why no merges come of the scores, "" where they do.
func (r *rebuilt) scored() string {
	if len(r.v.scores) == 0 {
		return "there are no scores"
	}
	var first float32
	seen := false
	for i, score := range r.v.scores {
		if r.v.types[i] != typeNormal || utf8.RuneCountInString(r.v.texts[i]) < 2 {
			continue
		}
		if seen && score != first {
			return ""
		}
		first, seen = score, true
	}
	if !seen {
		return ""
	}
	return "all scores are equal: in which order pieces are merged is lost"
}

// A joint is a merge that a score makes.
type joint struct {
	text   string
	cut    int // bytes of the first part
	a, b   int // characters of both
	i, j   int32
	score  float32
	number int32
}

// joints are the merges of a sentencepiece BPE: every way to cut a piece in two, the
// piece with the highest score first, as transformers' generate_merges orders them.
func (r *rebuilt) joints() (list []joint, err error) {
	for n, text := range r.v.texts {
		if r.isAdded(n) || r.v.types[n] == typeByte || r.hole(n) {
			continue
		}
		chars := utf8.RuneCountInString(text)
		k := 0
		from := len(list)
		for cut := range text {
			if cut == 0 {
				continue
			}
			k++
			if err := r.s.b.Step(int64(1 + len(text)/16)); err != nil {
				return nil, err
			}
			i, ok := r.names.Find(text[:cut])
			if !ok || r.isAdded(i) {
				continue
			}
			j, ok := r.names.Find(text[cut:])
			if !ok || r.isAdded(j) {
				continue
			}
			if list, err = limits.Append(r.s.b, list, joint{text, cut, k, chars - k, int32(i), int32(j), r.v.scores[n], int32(n)}); err != nil {
				return nil, err
			}
		}
		slices.SortStableFunc(list[from:], func(x, y joint) int { return cmp.Or(cmp.Compare(x.i, y.i), cmp.Compare(x.j, y.j)) })
	}
	slices.SortStableFunc(list, func(x, y joint) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(y.a, x.a), cmp.Compare(y.b, x.b))
	})
	return list, nil
}

// characters writes a sentencepiece BPE.
func (r *rebuilt) characters(w *jsontree.Text) error {
	merges, err := r.joints()
	if err != nil {
		return err
	}
	w.Put("{\n \"version\": \"1.0\",\n \"truncation\": null,\n \"padding\": null,\n \"added_tokens\": ")
	tail := r.added(w)
	prepend, strip := "", ""
	if r.prefix() {
		prepend, strip = `{"type": "Prepend", "prepend": "\u2581"}, `, `, {"type": "Strip", "content": " ", "start": 1, "stop": 0}`
	}
	w.Put(",\n \"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [", prepend, `{"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]}`,
		",\n \"pre_tokenizer\": null,\n \"post_processor\": ")
	if !r.around(w) {
		w.Put("null")
	}
	w.Put(",\n \"decoder\": {\"type\": \"Sequence\", \"decoders\": [{\"type\": \"Replace\", \"pattern\": {\"String\": \"\\u2581\"}, \"content\": \" \"}, {\"type\": \"ByteFallback\"}, {\"type\": \"Fuse\"}", strip, "]},\n",
		` "model": {"type": "BPE", "dropout": null, "unk_token": `)
	if unk := r.unknown(); unk >= 0 {
		w.Quote(r.v.texts[unk])
		tail = max(tail, unk+1)
	} else {
		w.Put("null")
	}
	w.Put(`, "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": true, "ignore_merges": false`)
	r.texts(w, tail)
	w.Put(`, "merges": [`)
	for i := range merges {
		if i > 0 {
			w.Put(", ")
		}
		w.Put("[")
		w.Quote(merges[i].text[:merges[i].cut])
		w.Put(", ")
		w.Quote(merges[i].text[merges[i].cut:])
		w.Put("]")
	}
	w.Put("]}\n}\n")
	return w.Err()
}

// prefix reports that a space is put before a text.
func (r *rebuilt) prefix() bool {
	add, ok := r.s.keys["tokenizer.ggml.add_space_prefix"].(bool)
	return add || !ok
}

// unknown is the token for what has none, or -1.
func (r *rebuilt) unknown() int {
	if n := r.token("unk"); n >= 0 {
		return int(n)
	}
	return slices.Index(r.v.types, typeUnknown)
}

// config is tokenizer_config.json, with the chat templates.
func (r *rebuilt) config() ([]byte, error) {
	w := jsontree.NewText(r.s.b)
	w.Put("{\n  \"tokenizer_class\": \"PreTrainedTokenizerFast\",\n  \"clean_up_tokenization_spaces\": false")
	for _, name := range specialNames {
		if id := r.token(name); id >= 0 && specialKeys[name] != "" {
			w.Put(",\n  \"", name, "_token\": ")
			w.Quote(r.v.texts[id])
		}
	}
	for _, name := range []string{"bos", "eos"} {
		if add, ok := r.s.keys["tokenizer.ggml.add_"+name+"_token"].(bool); ok {
			w.Put(",\n  \"add_", name, "_token\": ", truth(add))
		}
	}
	if add, ok := r.s.keys["tokenizer.ggml.add_space_prefix"].(bool); ok {
		w.Put(",\n  \"add_prefix_space\": ", truth(add))
	}
	r.decoder(w)
	if err := r.templates(w); err != nil {
		return nil, err
	}
	w.Put("\n}\n")
	return w.Done()
}

// decoder writes added_tokens_decoder.
func (r *rebuilt) decoder(w *jsontree.Text) {
	w.Put(",\n  \"added_tokens_decoder\": {")
	first := true
	for i, text := range r.v.texts {
		if !r.isAdded(i) {
			continue
		}
		if !first {
			w.Put(",")
		}
		first = false
		w.Put("\n    \"", itoa(int64(i)), "\": {\"content\": ")
		w.Quote(text)
		w.Put(`, "lstrip": false, "normalized": false, "rstrip": false, "single_word": false, "special": `, truth(r.v.types[i] != typeUserDefined), "}")
	}
	w.Put("}")
}

// templates writes the chat templates: one as a text, several as a list.
func (r *rebuilt) templates(w *jsontree.Text) error {
	main, there := r.s.keys["tokenizer.chat_template"].(string)
	names, _ := r.s.keys["tokenizer.chat_templates"].(array)
	if names == nil {
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
			return wire.At("gguf", "key "+wire.Quote("tokenizer.chat_templates"), wire.NoOffset, wire.ErrMissing.With("there is no template %s", wire.Quote(name)))
		}
		one(first, name, text)
		first = false
	}
	w.Put("]")
	return w.Err()
}
