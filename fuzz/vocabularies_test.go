package fuzz_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A vocabulary is a file that a target of a tokenizer has to refuse for a cause, or to accept.
type vocabulary struct {
	text  string
	cause error
}

// endAs seeds a target with vocabularies, and fails it where one does not end as it should.
func endAs(f *testing.F, target *fuzz.Target, list []vocabulary) {
	f.Helper()
	for _, v := range list {
		b := limits.Policy{Timeout: limits.NoTimeout}.Budget(f.Context())
		_, err := target.Read(b, strings.NewReader(v.text), int64(len(v.text)))
		b.Close()
		if !errors.Is(err, v.cause) || v.cause == nil && err != nil {
			f.Errorf("%.300q: %v, not %v", v.text, err, v.cause)
		}
		if len(v.text) < 10_000 {
			f.Add([]byte(v.text))
		}
	}
}

// Vocabularies of tokenizer.json, as the library's documentation describes it and as llama.cpp
// needs them.
func tokenizerFiles() (list []vocabulary) {
	add := func(cause error, texts ...string) {
		for _, text := range texts {
			list = append(list, vocabulary{text, cause})
		}
	}
	const model = `"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}`
	with := func(key, value string) string { return fmt.Sprintf(`{%q: %s, %s}`, key, value, model) }
	bpe := func(members string) string { return `{"model": {"type": "BPE", ` + members + `}}` }
	split := func(regex string) string {
		return with("pre_tokenizer", fmt.Sprintf(`{"type": "Split", "pattern": {"Regex": %q}, "behavior": "Isolated"}`, regex))
	}
	pieces := func(members string) string {
		return `{"model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1}, ` + members + `}}`
	}
	added := func(members string) string { return with("added_tokens", `[{`+members+`}]`) }
	flags := `, "special": true, "normalized": false, "lstrip": false, "rstrip": false, "single_word": false`
	nested := func(key, inner, outer string) string {
		return with(key, strings.Repeat(`{"type": "Sequence", "`+outer+`": [`, 40)+inner+strings.Repeat(`]}`, 40))
	}

	add(nil, "{"+model+"}", added(`"id": 3, "content": "x"`+flags), added(`"id": 1, "content": "b"`+flags), bpe(`"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]`),
		pieces(`"unk_token": "[UNK]"`), with("post_processor", `{"type": "BertProcessing", "sep": ["b", 1], "cls": ["a", 0]}`),
		with("post_processor", `{"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}], "special_tokens": {}}`))
	add(wire.ErrMissing, `{}`, `{"model": {"vocab": {"a": 0}}}`)
	add(wire.ErrSyntax, bpe(`"vocab": {"a": 0, "b": 1}, "merges": ["a b c"]`), bpe(`"vocab": {"a": 0}, "merges": [["a"]]`), bpe(`"vocab": {"a": 0}, "merges": [["a", "b", "c"]]`),
		bpe(`"vocab": {"a": 0}, "merges": ["a"]`), bpe(`"vocab": {"a": 0}, "merges": [" a"]`), bpe(`"vocab": {"a": 0}, "merges": ["a "]`),
		added(`"id": -1, "content": "x"`+flags), added(`"id": 16777217, "content": "x"`+flags), added(`"content": "x"`+flags), added(`"id": 3, "content": ""`+flags), added(`"id": 3, "content": 7`+flags),
		added(`"id": 3`+flags), added(`"id": 3, "content": "x"`), added(strings.Replace(`"id": 3, "content": "x"`+flags, "true", "1", 1)),
		with("post_processor", `{"type": "BertProcessing", "sep": ["b", -1], "cls": ["a", 0]}`), with("post_processor", `{"type": "RobertaProcessing", "sep": ["b"], "cls": ["a", 0]}`),
		with("post_processor", `{"type": "RobertaProcessing", "sep": ["b", 1]}`))
	add(wire.ErrDuplicate, bpe(`"vocab": {"a": 0, "\u0061": 1}, "merges": []`))
	add(wire.ErrMismatch, added(`"id": 7, "content": "x"`+flags), added(`"id": 2, "content": "b"`+flags), bpe(`"vocab": {"a": 0, "b": 1}, "merges": ["a b"]`), bpe(`"vocab": {"b": 0, "ab": 1}, "merges": ["a b"]`),
		bpe(`"vocab": {"a": 0, "ab": 1}, "merges": ["a b"]`), bpe(`"unk_token": "x", "vocab": {"a": 0}, "merges": []`), pieces(`"unk_token": "x"`),
		with("post_processor", `{"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}, {"Sequence": {"id": "A"}}], "special_tokens": {}}`),
		with("post_processor", `{"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}], "special_tokens": {"x": {"ids": []}}}`))
	add(wire.ErrRange, with("post_processor", `{"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}], "special_tokens": {"x": {"ids": [-1]}}}`),
		with("post_processor", `{"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}], "special_tokens": {"x": {"ids": [16777217]}}}`),
		with("post_processor", `{"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}], "special_tokens": {"x": {"ids": ["0"]}}}`))
	add(wire.ErrUnsupported, `{"model": {"type": "Unigram", "vocab": [["a", 0.0]]}}`, bpe(`"continuing_subword_prefix": "#", "vocab": {"a": 0}, "merges": []`), bpe(`"end_of_word_suffix": "#", "vocab": {"a": 0}, "merges": []`),
		bpe(`"dropout": 0.5, "vocab": {"a": 0}, "merges": []`), pieces(`"continuing_subword_prefix": "`+strings.Repeat("#", 1<<17)+`"`),
		with("pre_tokenizer", `{"type": "Mystery"}`), with("normalizer", `{"type": "Mystery"}`), with("post_processor", `{"type": "Mystery"}`), with("pre_tokenizer", `{"type": "Metaspace", "replacement": "ab"}`),
		with("pre_tokenizer", `{"type": "Metaspace", "replacement": ""}`), with("pre_tokenizer", `{"type": "Split", "pattern": {"String": "a"}, "behavior": "Mystery"}`),
		nested("pre_tokenizer", `{"type": "Whitespace"}`, "pretokenizers"), nested("normalizer", `{"type": "NFC"}`, "normalizers"), nested("post_processor", `{"type": "ByteLevel"}`, "processors"),
		with("normalizer", `{"type": "Replace", "pattern": {"String": "n"}, "content": "`+strings.Repeat("n", 1<<20)+`"}`),
		with("post_processor", `{"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}, {"Sequence": {"id": "A"}}], "special_tokens": {}}`),
		with("post_processor", `{"type": "TemplateProcessing", "single": [{"Sequence": {"id": "B"}}], "special_tokens": {}}`))
	for _, fine := range []string{`a|b`, `[^a-z&&[^q]]+`, `(?:ab)?c{2,3}`, `\x{41}\x41\t\p{L}\p{^Nd}\P{Greek}`, `a++b?+`, `(?=a)b(?!c)`, `(?i:ab|s)`, `[]a]`, `\.\[\]`} {
		add(nil, split(fine))
	}
	for _, not := range []string{
		strings.Repeat("[^", 200) + "a" + strings.Repeat("]", 200), strings.Repeat("(?:", 200) + "a" + strings.Repeat(")", 200), `[a`, `[`, `[[:alpha:]]`, `[a&&[b]c]`, `[a&&b`, `[a&&`, `[z-a]`, `[a-\d]`,
		`\`, `[\`, `\x{41`, `\x{110000}`, `\x4`, `\xzz`, `\q`, `\1`, `\pL`, `\p{L`, `\p{Mystery}`, `(?:a*)*`, `(?:a?)+`, `(?=a)*`, `a{2}{3}`, `a**`, `(?:ab)++`, `(?:a{2})++`, `a{2,1}`, `a{100000}`, `a{1,100000}`, `a{1`, `a{x}`,
		`(?<n>a)`, `(?#a)`, `*a`, `+`, `?`, `{2}`, `(a`, `(?:a`, `a)`, `(?=ab)`, `(?!a*)`, `(?i:ß)`, `(?i:[ß]++)`, strings.Repeat("a", 1<<17), `((((a{64}){64}){64}){64})`,
	} {
		add(wire.ErrUnsupported, split(not))
	}
	return list
}

// Models of sentencepiece, in the encoding of protobuf.
func pieceModels() []vocabulary {
	field := func(number, kind byte, body string) string { return string([]byte{number<<3 | kind}) + body }
	bytesOf := func(number byte, body string) string {
		return field(number, 2, string([]byte{byte(len(body))})+body)
	}
	piece := func(text, more string) string { return bytesOf(1, bytesOf(1, text)+more) }
	good := piece("a", field(2, 5, "\x00\x00\x80\xbf")+field(3, 0, "\x01"))
	return []vocabulary{
		{good, nil}, {good + bytesOf(2, field(3, 0, "\x02")), nil}, {good + bytesOf(3, field(3, 0, "\x01")+field(4, 0, "\x00")), nil}, {good + field(9, 5, "abcd") + field(9, 1, "abcdefgh"), nil},
		{"", wire.ErrMissing}, {bytesOf(2, ""), wire.ErrMissing},
		{field(1, 0, "\x01"), wire.ErrSyntax}, {piece("a", field(2, 0, "\x01")), wire.ErrSyntax}, {piece("a", field(3, 0, "\x07")), wire.ErrSyntax}, {piece("a", field(3, 0, "\x00")), wire.ErrSyntax}, {bytesOf(1, field(1, 0, "\x01")), wire.ErrSyntax},
		{piece("", ""), wire.ErrText}, {bytesOf(1, ""), wire.ErrText}, {piece("\xff", ""), wire.ErrText}, {piece("a\x00", ""), wire.ErrText}, {piece("\x00", ""), nil},
		{good + field(2, 0, "\x01"), wire.ErrSyntax}, {good + bytesOf(2, field(3, 0, "\x00")), wire.ErrSyntax}, {good + bytesOf(2, field(3, 0, "\x05")), wire.ErrSyntax}, {good + bytesOf(2, bytesOf(3, "")), wire.ErrSyntax},
		{good + field(3, 0, "\x01"), wire.ErrSyntax}, {good + bytesOf(3, field(2, 0, "\x01")), wire.ErrSyntax}, {good + bytesOf(3, bytesOf(4, "")), wire.ErrSyntax},
		{"\x00", wire.ErrSyntax}, {good + "\x00\x01", wire.ErrSyntax}, {good + field(9, 3, ""), wire.ErrSyntax}, {good + field(9, 7, ""), wire.ErrSyntax},
		{good[:len(good)-1], wire.ErrTruncated}, {"\x0a\x05ab", wire.ErrTruncated}, {"\x0a", wire.ErrTruncated}, {good + field(9, 5, "abc"), wire.ErrTruncated}, {good + field(9, 1, "abcdefg"), wire.ErrTruncated},
		{"\x0a\x85", wire.ErrTruncated}, {good + "\xf8\x80\x80\x80\x80\x01\x00", wire.ErrSyntax},
	}
}

// Vocabularies of tiktoken and of Mistral.
func rankFiles() (list []vocabulary) {
	long := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("a", 1<<20)))
	all := ""
	for i := range 256 {
		all += fmt.Sprintf("%s %d\n", base64.StdEncoding.EncodeToString([]byte{byte(i)}), i)
	}
	list = []vocabulary{
		{all, nil}, {"YQ== 0\nYg== 1\nYWI= 2\n", nil}, {"YQ== 0\r\n\nYg== 1", nil},
		{"\n", wire.ErrMissing}, {"YQ==\n", wire.ErrSyntax}, {"YQ== +0\n", wire.ErrSyntax}, {"YQ== 00\n", wire.ErrUnsupported}, {"YQ== 1\n", wire.ErrUnsupported}, {"YQ== 99999999999999999999\n", wire.ErrSyntax}, {"YQ== 16777217\n", wire.ErrSyntax},
		{"YQ== 0\nYQ== 1\n", wire.ErrDuplicate}, {"YR== 0\n", wire.ErrSyntax}, {"ab\x00c 0\n", wire.ErrSyntax}, {" 0\n", wire.ErrSyntax}, {long + long + " 0\n", wire.ErrUnsupported},
	}
	const fine = `"version": "v3", "default_vocab_size": 281, "default_num_special_tokens": 24`
	tekken := func(config, more string) string {
		var vocab []string
		for i := range 257 {
			text := string([]byte{byte(i)})
			if i == 256 {
				text = "ab"
			}
			vocab = append(vocab, fmt.Sprintf(`{"rank": %d, "token_bytes": %q, "token_str": null}`, i, base64.StdEncoding.EncodeToString([]byte(text))))
		}
		return `{"config": {"pattern": ".", ` + config + `}, "vocab": [` + strings.Join(vocab, ",") + `]` + more + `}`
	}
	sized := func(size, special string) string {
		return tekken(`"version": "v3", "default_vocab_size": `+size+`, "default_num_special_tokens": `+special, "")
	}
	swapped := func(old, with string) string { return strings.Replace(tekken(fine, ""), old, with, 1) }
	return append(list, []vocabulary{
		{tekken(fine, ""), nil}, {tekken(fine, `, "special_tokens": null`), nil},
		{swapped(`"rank": 7,`, `"rank": 8,`), wire.ErrMismatch}, {swapped(`, "token_str": null`, ``), wire.ErrMismatch}, {swapped(`"AA=="`, `"AWE="`), wire.ErrMismatch},
		{tekken(fine, `, "special_tokens": [{"rank": 1, "token_str": "<s>"}]`), wire.ErrMismatch}, {tekken(fine, `, "special_tokens": [{"rank": 0}]`), wire.ErrMismatch}, {tekken(fine, `, "special_tokens": [{"rank": 0, "token_str": ""}]`), wire.ErrMismatch},
		{tekken(fine, `, "special_tokens": [{"token_str": "<s>"}]`), wire.ErrMismatch}, {sized("16777216", "16776959"), wire.ErrUnsupported}, {sized("-1", "-5"), wire.ErrRange}, {sized("24", "24"), wire.ErrRange}, {sized("16777217", "24"), wire.ErrRange},
		{sized(`"281"`, "24"), wire.ErrRange}, {sized("281", `"24"`), wire.ErrRange}, {sized("16000000", "24"), wire.ErrMismatch}, {swapped(`"v3"`, `"v11"`), wire.ErrMissing}, {sized("260", "3"), wire.ErrMismatch},
	}...)
}
