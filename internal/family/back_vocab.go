package family

import (
	"math"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A vocabWriter writes the vocabulary of a GGUF file as the files of a tokenizer.
type vocabWriter struct {
	s      *settings
	v      vocab
	merges []string
	names  *wire.NameSet // set of v.texts
	bos    int64         // token put before a text, or -1
	eos    int64         // token put after a text, or -1
}

// tokenizer writes the files of a tokenizer. It returns what cannot be restored exactly,
// with the reason.
func (s *settings) tokenizer(files *memory) (left []string, err error) {
	r := &vocabWriter{s: s}
	if err := r.read(); err != nil {
		return nil, err
	}
	text, why, err := r.json()
	if err != nil {
		return nil, err
	}
	if why == "" {
		if why, err = r.verify(text); err != nil {
			return nil, err
		}
	}
	if why != "" {
		left = append(left, tokenizer.FileName+" ("+why+")")
	} else {
		files.add(tokenizer.FileName, text)
	}
	name, kind := tokenizer.SPMName, uint64(2)
	if r.isT5() {
		name, kind, why = spieceName, 1, ""
	}
	if kind == 1 || s.text("model") == "llama" && why == "" {
		model, err := r.sentencepiece(kind)
		if err != nil {
			return nil, err
		}
		files.add(name, model)
	}
	config, err := r.config()
	if err != nil {
		return nil, err
	}
	files.add(tokenizerConfig, config)
	return left, nil
}

// text returns a string among the tokenizer's keys.
func (s *settings) text(key string) string {
	v, _ := s.keys["tokenizer.ggml."+key].(string)
	return v
}

// array returns an array among the tokenizer's keys.
func (s *settings) array(key string) array {
	v, _ := s.keys["tokenizer.ggml."+key].(array)
	return v
}

// token returns the number of a special token, or -1.
func (r *vocabWriter) token(name string) int64 {
	n, ok := number(r.s.keys["tokenizer.ggml."+specialKeys[name]+"_token_id"])
	if !ok || n != math.Trunc(n) || n < 0 || n >= float64(len(r.v.texts)) {
		return -1
	}
	return int64(n)
}

// read reads the arrays of the vocabulary.
func (r *vocabWriter) read() (err error) {
	b := r.s.b
	tokens, types, scores := r.s.array("tokens"), r.s.array("token_type"), r.s.array("scores")
	at := func(key string, err error) error {
		return wire.At("gguf", "key "+wire.Quote("tokenizer.ggml."+key), wire.NoOffset, err)
	}
	if tokens == nil || tokens.Len() > maxVocab || tokens.Len() != r.s.rows("token_embd.weight") && !r.s.row.back.fewerTokens {
		return at("tokens", wire.ErrMismatch.Errorf("the number of its texts is not that of the rows of token_embd.weight"))
	}
	for text, bad := range tokens.Strings(b) {
		if err = bad; err == nil {
			r.v.texts, err = limits.Append(b, r.v.texts, text)
		}
		if err != nil {
			return at("tokens", err)
		}
	}
	for _, one := range []struct {
		key  string
		list array
	}{{"token_type", types}, {"scores", scores}} {
		if one.list != nil && one.list.Len() != tokens.Len() {
			return at(one.key, wire.ErrMismatch.Errorf("%d values for %d tokens", one.list.Len(), tokens.Len()))
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
			if n < math.MinInt32 || n > math.MaxInt32 {
				return at("token_type", wire.ErrRange.Errorf("token %d has the type %d", i, n))
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
	return r.index()
}

// index builds the set of texts, and reads the merges.
func (r *vocabWriter) index() (err error) {
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

// setSurround sets the tokens around a text: those that the keys state, else llama.cpp's
// defaults.
func (r *vocabWriter) setSurround(bos, eos bool) {
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

// json returns tokenizer.json, or an error if it cannot be made.
func (r *vocabWriter) json() (text []byte, why string, err error) {
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
		r.setSurround(p.bos, false)
		err = r.bytePairs(w, p)
	case "llama":
		if why := r.lacksScores(); why != "" {
			return nil, why, nil
		}
		r.setSurround(true, false)
		var merges []bpeMerge
		if merges, err = r.scoredMerges(); err == nil {
			err = r.characters(w, merges)
		}
	case "gemma4":
		merges, why, bad := r.statedMerges()
		if why != "" || bad != nil {
			return nil, why, bad
		}
		r.setSurround(true, false)
		err = r.characters(w, merges)
	case "bert":
		if why, err = r.wordPieces(w); why != "" {
			return nil, why, err
		}
	default:
		if r.isT5() {
			return nil, spieceName + " has the vocabulary", nil
		}
		return nil, "a tokenizer of the kind " + wire.Quote(model), nil
	}
	if err != nil {
		return nil, "", err
	}
	text, err = w.Done()
	return text, "", err
}

// verify reads the written file as the library will.
func (r *vocabWriter) verify(text []byte) (why string, err error) {
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
