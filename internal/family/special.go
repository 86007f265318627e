package family

import (
	"errors"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A specialToken is a special token's name and text.
type specialToken struct{ name, text string }

// glmTokens sets special tokens by their texts, unless they are set already.
func (k *keys) glmTokens(list ...specialToken) error {
	if err := gpt2Vocab(k); err != nil {
		return err
	}
	t, err := k.readJSON()
	if err != nil {
		return err
	}
	for _, one := range list {
		id := int64(-1)
		for i := range t.Added {
			if t.Added[i].Text == one.text {
				id = int64(t.Added[i].ID)
			}
		}
		if id < 0 {
			return wire.At(tokenizer.FileName, "", wire.NoOffset, wire.ErrMissing.Errorf("there is no added token %s, which must be %s", wire.Quote(one.text), one.name))
		}
		if key := "tokenizer.ggml." + specialKeys[one.name] + "_token_id"; !k.hasKey(key) {
			k.put(key, uint32(id))
		}
	}
	return nil
}

// chatEnd makes the added token <|im_end|> the end of texts, if there is one.
func (k *keys) chatEnd(always bool) error {
	config, err := jsontree.Read(k.b, k.files, tokenizerConfig, maxTokenizer)
	if err != nil {
		return err
	}
	put := func(id int64) {
		if always || k.hasKey("tokenizer.ggml.eos_token_id") {
			k.put("tokenizer.ggml.eos_token_id", uint32(id))
		}
	}
	for m := range config.Get("added_tokens_decoder").Members() {
		if err := k.b.Step(1); err != nil {
			return err
		}
		id, err := strconv.ParseUint(m.Name, 10, 31)
		if err == nil && m.Value.Get("content").String() == "<|im_end|>" && (always || m.Value.Get("special").True()) {
			put(int64(id))
		}
	}
	if !always || !k.has(tokenizer.FileName) {
		return nil
	}
	t, err := tokenizer.ReadJSON(k.b, k.files, tokenizer.FileName)
	if err != nil {
		return err
	}
	for i := range t.Added {
		if t.Added[i].Text == "<|im_end|>" {
			put(int64(t.Added[i].ID))
		}
	}
	return nil
}

// specialNames are the special tokens with a key. "cls" has no key and replaces bos.
var specialNames = []string{"bos", "eos", "unk", "sep", "pad", "cls", "mask"}

// specialKeys are the names of special tokens in keys.
var specialKeys = map[string]string{
	"bos": "bos", "eos": "eos", "unk": "unknown", "sep": "seperator", "pad": "padding", "mask": "mask", "eot": "eot", "eom": "eom",
}

// A specialVocab is SpecialVocab of gguf's vocab.py: the special tokens, and which are
// added to a text.
type specialVocab struct {
	names []string
	texts map[string]string // from tokenizer_config.json
	ids   map[string]int64
	adds  map[string]bool
	order []string // in which ids were set
}

// special adds the keys of special tokens. t is nil if tokenizer.json was not read yet; it
// may not exist.
func (k *keys) special(t *tokenizer.JSON, merges []string, size int64) error {
	if t == nil && k.has(tokenizer.FileName) {
		var err error
		if t, err = tokenizer.ReadJSON(k.b, k.files, tokenizer.FileName); err != nil {
			return err
		}
	}
	if merges != nil {
		k.put("tokenizer.ggml.merges", merges)
	}
	config, err := jsontree.Read(k.b, k.files, tokenizerConfig, maxTokenizer)
	if err != nil {
		return err
	}
	s := &specialVocab{names: slices.Clone(specialNames), texts: map[string]string{}, ids: map[string]int64{}, adds: map[string]bool{}}
	s.read(config)
	if t != nil {
		s.postProcessor(t.Rest.Get("post_processor"), config.There)
	}
	if config.There {
		s.fromConfig(t, config)
	}
	for _, name := range s.names {
		if id, ok := k.c.root.Get(name + "_token_id").Int(); ok {
			s.set(name, id)
		} else if id, ok := k.c.text.Get(name + "_token_id").Int(); ok {
			s.set(name, id)
		}
	}
	for _, name := range s.order {
		id := s.ids[name]
		if id >= size && merges == nil {
			continue // a number of sentencepiece's that the model has no room for
		}
		if id < 0 || id > math.MaxUint32 || id >= size {
			return wire.ErrRange.Errorf("token %d, which must be %s, is not one of %d", id, wire.Quote(name), size)
		}
		if key, ok := specialKeys[name]; ok {
			k.put("tokenizer.ggml."+key+"_token_id", uint32(id))
		}
	}
	for _, name := range []string{"bos", "eos", "sep"} {
		if add, ok := s.adds[name]; ok {
			k.put("tokenizer.ggml.add_"+name+"_token", add)
		}
	}
	if t != nil {
		k.normalizer(t.Rest.Get("normalizer"), 0)
	}
	if !config.There {
		return nil
	}
	return k.templates(config)
}

// read reads the texts of special tokens in tokenizer_config.json.
func (s *specialVocab) read(config jsontree.Value) {
	for _, name := range specialNames {
		v := config.Get(name + "_token")
		if c := v.Get("content"); c.IsString() {
			v = c
		}
		if v.IsString() {
			s.texts[name] = v.String()
		}
	}
	if s.texts["bos"] == "" && s.texts["cls"] != "" {
		s.texts["bos"] = s.texts["cls"]
	}
	if s.texts["eos"] == "" && s.texts["sep"] != "" {
		s.texts["eos"] = s.texts["sep"]
	}
}

// postProcessor reads which tokens the post-processor adds.
func (s *specialVocab) postProcessor(v jsontree.Value, configured bool) {
	list := v.Get("processors").List()
	if list == nil && v.There {
		list = []jsontree.Value{v}
	}
	for _, one := range list {
		switch one.Get("type").String() {
		case "ByteLevel":
			for _, name := range []string{"bos", "eos"} {
				if _, ok := s.adds[name]; !ok {
					s.adds[name] = false
				}
			}
		case "RobertaProcessing":
			s.adds["bos"], s.adds["eos"], s.adds["sep"] = true, true, true
			s.fallBack("cls", one.Get("cls"), "bos")
			s.fallBack("sep", one.Get("sep"), "eos")
		case "TemplateProcessing":
			s.template(one, configured)
		}
	}
}

// fallBack sets a special token that the configuration does not name: to that of the
// processor, or to another special token.
func (s *specialVocab) fallBack(name string, v jsontree.Value, or string) {
	if s.texts[name] != "" {
		return
	}
	if list := v.List(); len(list) > 0 && list[0].IsString() {
		s.texts[name] = list[0].String()
	} else {
		s.texts[name] = s.texts[or]
	}
}

// template reads a TemplateProcessing as the converter does: the first and last token, and
// those between two texts.
func (s *specialVocab) template(v jsontree.Value, configured bool) {
	single := v.Get("single").List()
	token := func(v jsontree.Value) string { return v.At("SpecialToken.id").String() }
	first, last := "", ""
	if len(single) > 1 {
		if first = token(single[0]); first != "" {
			switch {
			case !configured:
				s.texts["bos"] = first
			case first != s.texts["bos"] && first != s.texts["cls"]:
				if s.texts["bos"] == "" {
					s.texts["bos"] = first
				}
				if s.texts["cls"] == "" {
					s.texts["cls"] = first
				}
			}
			s.adds["bos"] = first == s.texts["bos"] || first == s.texts["cls"]
		}
		if last = token(single[len(single)-1]); last != "" {
			s.endToken(last, configured)
		}
	}
	s.pair(v.Get("pair").List(), first, last, configured)
}

// endToken makes the last token of a template eos.
func (s *specialVocab) endToken(last string, configured bool) {
	if configured && last != s.texts["eos"] {
		for _, name := range []string{"eot", "eom"} {
			if !slices.Contains(s.names, name) {
				s.names = append(s.names, name)
				s.texts[name] = s.texts["eos"]
				break
			}
		}
	}
	s.texts["eos"] = last
	s.adds["eos"] = true
}

// pair reads the tokens between two texts.
func (s *specialVocab) pair(list []jsontree.Value, first, last string, configured bool) {
	token := func(v jsontree.Value) string { return v.At("SpecialToken.id").String() }
	if len(list) > 0 && first != "" && token(list[0]) == first {
		list = list[1:]
	}
	if len(list) > 0 && last != "" && token(list[len(list)-1]) == last {
		list = list[:len(list)-1]
	}
	if len(list) < 3 || list[0].At("Sequence.id").String() != "A" || list[len(list)-1].At("Sequence.id").String() != "B" {
		return
	}
	list = list[1 : len(list)-1]
	separates := func(v jsontree.Value) bool {
		t := token(v)
		return t != "" && (t == s.texts["sep"] || t == s.texts["eos"])
	}
	add := separates(list[0]) && last == "" || len(list) == 2 && separates(list[1])
	s.adds["sep"] = add
	if add && s.texts["sep"] == "" && configured {
		s.texts["sep"] = s.texts["eos"]
	}
}

// fromConfig looks up the texts of special tokens among the added tokens.
func (s *specialVocab) fromConfig(t *tokenizer.JSON, config jsontree.Value) {
	for _, name := range s.names {
		if add, ok := config.Get("add_" + name + "_token").Bool(); ok {
			if _, known := s.adds[name]; !known {
				s.adds[name] = add
			}
		}
		text := s.texts[name]
		if text == "" || t == nil {
			continue
		}
		for i := range t.Added {
			if t.Added[i].Text == text {
				s.set(name, int64(t.Added[i].ID))
				break
			}
		}
	}
}

func (s *specialVocab) set(name string, id int64) {
	if _, ok := s.ids[name]; !ok {
		s.ids[name] = id
		s.order = append(s.order, name)
	}
}

// normalizer adds keys for what llama.cpp does before a text is cut.
func (k *keys) normalizer(v jsontree.Value, depth int) {
	if depth > 8 {
		return
	}
	lower := func(v jsontree.Value) {
		if on, ok := v.Bool(); ok {
			k.put("tokenizer.ggml.normalizer.lowercase", on)
		}
	}
	switch v.Get("type").String() {
	case "Lowercase":
		k.put("tokenizer.ggml.normalizer.lowercase", true)
	case "StripAccents":
		k.put("tokenizer.ggml.normalizer.strip_accents", true)
	case "BertNormalizer":
		lower(v.Get("lowercase"))
		if on, ok := v.Get("strip_accents").Bool(); ok {
			k.put("tokenizer.ggml.normalizer.strip_accents", on)
		}
	case "Sequence":
		for _, one := range v.Get("normalizers").List() {
			k.normalizer(one, depth+1)
		}
	}
}

const (
	templateFile = "chat_template.jinja"
	templateJSON = "chat_template.json"
	moreFolder   = "additional_chat_templates"
	maxTemplate  = 4 << 20
	maxTemplates = 64
)

// A namedTemplate is a chat template and its name.
type namedTemplate struct{ name, text string }

// templates adds the chat templates: those of tokenizer_config.json, else those in their
// own files.
func (k *keys) templates(config jsontree.Value) error {
	list, err := k.templateFiles()
	if err != nil {
		return err
	}
	if v := config.Get("chat_template"); v.There {
		list = templatesOf(v)
	}
	if len(list) == 1 && list[0].name == "" {
		if list[0].text != "" {
			k.put("tokenizer.chat_template", list[0].text)
		}
		return nil
	}
	var names []string
	for _, t := range list {
		name := strings.Map(func(r rune) rune {
			if r < 128 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') {
				return r
			}
			return '_'
		}, t.name)
		switch {
		case name == "":
		case name == "default":
			k.put("tokenizer.chat_template", t.text)
		default:
			k.put("tokenizer.chat_template."+name, t.text)
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if names != nil {
		k.put("tokenizer.chat_templates", names)
	}
	return nil
}

// templatesOf returns the templates in a member: a text, or a list.
func templatesOf(v jsontree.Value) (list []namedTemplate) {
	if v.IsString() {
		return []namedTemplate{{"", v.String()}}
	}
	for _, one := range v.List() {
		if text := one.Get("template"); text.IsString() {
			list = append(list, namedTemplate{one.Get("name").String(), text.String()})
		}
	}
	return list
}

// templateFiles reads templates in their own files.
func (k *keys) templateFiles() ([]namedTemplate, error) {
	if !k.has(templateFile) {
		v, err := jsontree.Read(k.b, k.files, templateJSON, maxTemplate)
		return templatesOf(v.Get("chat_template")), err
	}
	text, err := jsontree.ReadText(k.b, k.files, templateFile, maxTemplate)
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(k.files, moreFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return []namedTemplate{{"", text}}, nil
	}
	if err != nil {
		return nil, err
	}
	list := []namedTemplate{{"default", text}}
	for _, e := range entries {
		stem, ok := strings.CutSuffix(e.Name(), ".jinja")
		if !ok {
			continue
		}
		if len(list) == maxTemplates {
			return nil, wire.ErrUnsupported.Errorf("more than %d chat templates", maxTemplates)
		}
		text, err := jsontree.ReadText(k.b, k.files, path.Join(moreFolder, e.Name()), maxTemplate)
		if err != nil {
			return nil, err
		}
		if list, err = limits.Append(k.b, list, namedTemplate{stem, text}); err != nil {
			return nil, err
		}
	}
	if len(list) == 1 {
		list[0].name = ""
	}
	return list, nil
}
