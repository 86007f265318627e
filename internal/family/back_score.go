package family

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/limits"
)

// lacksScores says why scores do not give merges, "" if they do.
func (r *vocabWriter) lacksScores() string {
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

// A bpeMerge is a merge of two pieces.
type bpeMerge struct {
	text   string
	cut    int // length of the first piece in bytes
	a, b   int // lengths of both in characters
	i, j   int32
	score  float32
	number int32
}

// scoredMerges returns the merges of a sentencepiece BPE: every way to cut a piece in two,
// pieces with a high score first, in the order of transformers' generate_merges.
func (r *vocabWriter) scoredMerges() (list []bpeMerge, err error) {
	for n, text := range r.v.texts {
		if r.isAdded(n) || r.v.types[n] == typeByte || r.isPadding(n) {
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
			if list, err = limits.Append(r.s.b, list, bpeMerge{text, cut, k, chars - k, int32(i), int32(j), r.v.scores[n], int32(n)}); err != nil {
				return nil, err
			}
		}
		slices.SortStableFunc(list[from:], func(x, y bpeMerge) int { return cmp.Or(cmp.Compare(x.i, y.i), cmp.Compare(x.j, y.j)) })
	}
	slices.SortStableFunc(list, func(x, y bpeMerge) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(y.a, x.a), cmp.Compare(y.b, x.b))
	})
	return list, nil
}

// statedMerges returns the merges that the file states, or an error.
func (r *vocabWriter) statedMerges() (list []bpeMerge, why string, err error) {
	if r.merges == nil {
		return nil, "there are no merges", nil
	}
	for _, text := range r.merges {
		a, b, ok := strings.Cut(text, " ")
		if !ok || a == "" || b == "" || strings.Contains(b, " ") {
			return nil, "a merge is not of two pieces", nil
		}
		if list, err = limits.Append(r.s.b, list, bpeMerge{text: a + b, cut: len(a)}); err == nil {
			err = r.s.b.Hold(int64(len(text)))
		}
		if err != nil {
			return nil, "", err
		}
	}
	return list, "", nil
}

// characters writes a BPE of characters with byte fallback, as converted from
// sentencepiece.
func (r *vocabWriter) characters(w *jsontree.Text, merges []bpeMerge) error {
	w.Put("{\n \"version\": \"1.0\",\n \"truncation\": null,\n \"padding\": null,\n \"added_tokens\": ")
	tail := r.added(w)
	prepend, strip := "", ""
	if r.prefix() {
		prepend, strip = `{"type": "Prepend", "prepend": "\u2581"}, `, `, {"type": "Strip", "content": " ", "start": 1, "stop": 0}`
	}
	w.Put(",\n \"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [", prepend, `{"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]}`,
		",\n \"pre_tokenizer\": null,\n \"post_processor\": ")
	if !r.templateProcessing(w) {
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
func (r *vocabWriter) prefix() bool {
	add, ok := r.s.keys["tokenizer.ggml.add_space_prefix"].(bool)
	return add || !ok
}

// unknown is the token for what has none, or -1.
func (r *vocabWriter) unknown() int {
	if n := r.token("unk"); n >= 0 {
		return int(n)
	}
	return slices.Index(r.v.types, typeUnknown)
}
