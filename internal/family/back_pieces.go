package family

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
)

// wordPieces writes a WordPiece. Pieces that begin a word lose their mark, the others get
// "##". llama.cpp always cleans texts and puts spaces around ideographs.
func (r *vocabWriter) wordPieces(w *jsontree.Text) (why string, err error) {
	cls, sep := r.token("bos"), r.token("sep")
	if sep < 0 {
		sep = r.token("eos")
	}
	unk := r.token("unk")
	if cls < 0 || sep < 0 || unk < 0 {
		return "no tokens stand for the beginning, for the end and for what is unknown", nil
	}
	if why, err := r.addMarks(w, unk); why != "" || err != nil {
		return why, err
	}
	w.Put("{\n \"version\": \"1.0\",\n \"truncation\": null,\n \"padding\": null,\n \"added_tokens\": ")
	r.added(w)
	lower := true
	if on, ok := r.s.keys["tokenizer.ggml.normalizer.lowercase"].(bool); ok {
		lower = on
	}
	accents := "null"
	if on, ok := r.s.keys["tokenizer.ggml.normalizer.strip_accents"].(bool); ok {
		accents = boolText(on)
	}
	w.Put(",\n \"normalizer\": {\"type\": \"BertNormalizer\", \"clean_text\": true, \"handle_chinese_chars\": true, \"strip_accents\": ", accents, ", \"lowercase\": ", boolText(lower), "}",
		",\n \"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"},\n \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [")
	token := func(id int64, kind string) {
		w.Put(`{"SpecialToken": {"id": `)
		w.Quote(r.v.texts[id])
		w.Put(`, "type_id": `, kind, "}}")
	}
	first := func() {
		token(cls, "0")
		w.Put(`, {"Sequence": {"id": "A", "type_id": 0}}, `)
		token(sep, "0")
	}
	first()
	w.Put(`], "pair": [`)
	first()
	w.Put(`, {"Sequence": {"id": "B", "type_id": 1}}, `)
	token(sep, "1")
	w.Put(`], "special_tokens": {`)
	r.templated(w, cls)
	if sep != cls {
		w.Put(", ")
		r.templated(w, sep)
	}
	w.Put("}},\n \"decoder\": {\"type\": \"WordPiece\", \"prefix\": \"##\", \"cleanup\": true},\n \"model\": {\"type\": \"WordPiece\", \"unk_token\": ")
	w.Quote(r.v.texts[unk])
	w.Put(`, "continuing_subword_prefix": "##", "max_input_chars_per_word": 100`)
	r.texts(w, len(r.v.texts))
	w.Put("}\n}\n")
	return "", w.Err()
}

// addMarks replaces llama.cpp's marks of pieces by those of a WordPiece.
func (r *vocabWriter) addMarks(w *jsontree.Text, unk int64) (why string, err error) {
	for i := range r.v.texts {
		w.Step()
		switch text := r.v.texts[i]; {
		case r.v.types[i] == typeControl || r.isPadding(i) || int64(i) == unk && r.v.types[i] != typeNormal:
		case strings.HasPrefix(text, "▁"):
			r.v.texts[i] = strings.TrimPrefix(text, "▁")
		case r.v.types[i] == typeUserDefined:
			return "an added token is the rest of a word", nil
		default:
			if err := r.s.b.Hold(int64(len(text)) + 2); err != nil {
				return "", err
			}
			r.v.texts[i] = "##" + text
		}
	}
	return "", nil
}

// templated writes the entry of a token in special_tokens.
func (r *vocabWriter) templated(w *jsontree.Text, id int64) {
	w.Quote(r.v.texts[id])
	w.Put(`: {"id": `)
	w.Quote(r.v.texts[id])
	w.Put(`, "ids": [`, itoa(id), `], "tokens": [`)
	w.Quote(r.v.texts[id])
	w.Put("]}")
}
