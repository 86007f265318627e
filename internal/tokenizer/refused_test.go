package tokenizer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

const (
	twoTokens = `"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]`
	plainBPE  = `"model": {"type": "BPE", ` + twoTokens + `}`
)

// Each part of a tokenizer.json that the library has and this package does not, or that no
// tokenizer can have, is refused, and the same file with a part that both have is not.
func TestPartsOfATokenizerThatAreRefused(t *testing.T) {
	ledger.Charges(t)
	deep := func(list string) string {
		return strings.Repeat(`{"type": "Sequence", "`+list+`": [`, 40) + strings.Repeat("]}", 40)
	}
	part := func(name, value string) string { return fmt.Sprintf(`{%q: %s, %s}`, name, value, plainBPE) }
	model := func(more string) string { return `{"model": {"type": "BPE", ` + more + twoTokens + `}}` }
	for name, c := range map[string]struct {
		file  string
		class wire.Class
	}{
		"a BPE":                                {`{` + plainBPE + `}`, wire.OK},
		"a BPE without a type":                 {`{"model": {` + twoTokens + `}}`, wire.OK},
		"no model":                             {`{}`, wire.Malformed},
		"a model without a type":               {`{"model": {"vocab": {}, "merges": []}}`, wire.Malformed},
		"a model of words":                     {`{"model": {"type": "WordLevel", "vocab": {"a": 0}}}`, wire.Unsupported},
		"sequences of normalizers":             {part("normalizer", deep("normalizers")), wire.Unsupported},
		"sequences of pre-tokenizers":          {part("pre_tokenizer", deep("pretokenizers")), wire.Unsupported},
		"sequences of post-processors":         {part("post_processor", deep("processors")), wire.Unsupported},
		"another normalizer":                   {part("normalizer", `{"type": "Nothing"}`), wire.Unsupported},
		"another pre-tokenizer":                {part("pre_tokenizer", `{"type": "Nothing"}`), wire.Unsupported},
		"another post-processor":               {part("post_processor", `{"type": "Nothing"}`), wire.Unsupported},
		"a mark of one character":              {part("pre_tokenizer", `{"type": "Metaspace", "replacement": "_"}`), wire.OK},
		"a mark of two characters":             {part("pre_tokenizer", `{"type": "Metaspace", "replacement": "__"}`), wire.Unsupported},
		"a behavior of splits":                 {part("pre_tokenizer", `{"type": "Split", "pattern": {"String": "x"}, "behavior": "Contiguous"}`), wire.OK},
		"another behavior of splits":           {part("pre_tokenizer", `{"type": "Split", "pattern": {"String": "x"}, "behavior": "Doubled"}`), wire.Unsupported},
		"another behavior of points":           {part("pre_tokenizer", `{"type": "Punctuation", "behavior": "Doubled"}`), wire.Unsupported},
		"an empty prefix of pieces":            {model(`"continuing_subword_prefix": "", "end_of_word_suffix": "", "dropout": 0, `), wire.OK},
		"a prefix of pieces":                   {model(`"continuing_subword_prefix": "##", `), wire.Unsupported},
		"a suffix of words":                    {model(`"end_of_word_suffix": "</w>", `), wire.Unsupported},
		"merges dropped at random":             {model(`"dropout": 0.1, `), wire.Unsupported},
		"an unknown token":                     {model(`"unk_token": "b", `), wire.OK},
		"an unknown token that is none":        {model(`"unk_token": "c", `), wire.Malformed},
		"tokens around a text":                 {part("post_processor", `{"type": "BertProcessing", "cls": ["a", 0], "sep": ["b", 16777216]}`), wire.OK},
		"a token without a number":             {part("post_processor", `{"type": "BertProcessing", "cls": ["a"], "sep": ["b", 1]}`), wire.Malformed},
		"a number of a token below nothing":    {part("post_processor", `{"type": "RobertaProcessing", "cls": ["a", 0], "sep": ["b", -1]}`), wire.Malformed},
		"a number of a token that is too big":  {part("post_processor", `{"type": "RobertaProcessing", "cls": ["a", 16777217], "sep": ["b", 1]}`), wire.Malformed},
		"a template of one text":               {part("post_processor", template(`{"Sequence": {"id": "A"}}`, "[0, 16777216]")), wire.OK},
		"a template of a text twice":           {part("post_processor", template(`{"Sequence": {"id": "A"}}, {"Sequence": {"id": "A"}}`, "[0]")), wire.Unsupported},
		"a template of a second text":          {part("post_processor", template(`{"Sequence": {"id": "B"}}`, "[0]")), wire.Unsupported},
		"a template of a token without number": {part("post_processor", template(`{"Sequence": {"id": "A"}}`, "[]")), wire.Malformed},
		"a template of a number below nothing": {part("post_processor", template(`{"Sequence": {"id": "A"}}`, "[-1]")), wire.Malformed},
		"a template of a number too big":       {part("post_processor", template(`{"Sequence": {"id": "A"}}`, "[16777217]")), wire.Malformed},
		"a merge of one text":                  {`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]}}`, wire.Malformed},
		"a merge of three texts":               {`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a a a"]}}`, wire.Malformed},
		"a merge of a list of three":           {`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "a", "a"]]}}`, wire.Malformed},
		"a merge of nothing":                   {`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["a", ""]]}}`, wire.Malformed},
		"a merge of a list":                    {`{"model": {"type": "BPE", "vocab": {"a": 0, "aa": 1}, "merges": [["a", "a"]]}}`, wire.OK},
		"an added token without text":          {`{"added_tokens": [{"id": 3, "content": ""}], ` + plainBPE + `}`, wire.Malformed},
		"an added token without a number":      {`{"added_tokens": [{"content": "x"}], ` + plainBPE + `}`, wire.Malformed},
		"an added token below nothing":         {`{"added_tokens": [{"id": -1, "content": "x"}], ` + plainBPE + `}`, wire.Malformed},
		"an added token in its place":          {`{"added_tokens": [` + added("x", 3) + `], ` + plainBPE + `}`, wire.OK},
		"an added token in another place":      {`{"added_tokens": [` + added("x", 4) + `], ` + plainBPE + `}`, wire.Malformed},
		"an added token of the vocabulary":     {`{"added_tokens": [` + added("b", 1) + `], ` + plainBPE + `}`, wire.OK},
		"an added token of another number":     {`{"added_tokens": [` + added("b", 3) + `], ` + plainBPE + `}`, wire.Malformed},
		"a Unigram of pieces":                  {`{"model": {"type": "Unigram", "vocab": [["a", 0], ["b", -1.5]]}}`, wire.Unsupported},
		"a Unigram of a text twice":            {`{"model": {"type": "Unigram", "vocab": [["a", 0], ["a", -1.5]]}}`, wire.Malformed},
		"a Unigram of a piece without score":   {`{"model": {"type": "Unigram", "vocab": [["a"]]}}`, wire.Malformed},
		"a Unigram of a piece of three":        {`{"model": {"type": "Unigram", "vocab": [["a", 0, 0]]}}`, wire.Malformed},
		"a WordPiece":                          {`{"model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1}}}`, wire.OK},
		"a WordPiece of its own unknown token": {`{"model": {"type": "WordPiece", "unk_token": "a", "vocab": {"a": 1}}}`, wire.OK},
		"a WordPiece without unknown token":    {`{"model": {"type": "WordPiece", "vocab": {"a": 1}}}`, wire.Malformed},
	} {
		b := account(t, limits.Policy{})
		j, err := ParseJSON(b, FileName, c.file)
		if err == nil {
			_, err = j.Encode(b, "ab a")
		}
		if wire.ClassOf(err) != c.class {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A tokenizer that cuts as none of llama.cpp's does has no name there.
	b := account(t, limits.Policy{})
	j, err := ParseJSON(b, FileName, `{`+plainBPE+`}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Pre(b); wire.ClassOf(err) != wire.Unsupported {
		t.Errorf("a pre-tokenizer without a name: %v", err)
	}
}

// template is a post-processor with a token before what follows, whose numbers are ids.
func template(more, ids string) string {
	return `{"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "a"}}, ` + more + `], "special_tokens": {"a": {"ids": ` + ids + `}}}`
}

func added(text string, id int) string {
	return fmt.Sprintf(`{"id": %d, "content": %q, "special": true, "normalized": false, "lstrip": false, "rstrip": false, "single_word": false}`, id, text)
}

// Each expression that is refused lies beside the nearest that is read.
func TestExpressionsAtTheEdgeOfWhatIsRead(t *testing.T) {
	for _, c := range []struct{ read, refused string }{
		{strings.Repeat("[", 16) + "a" + strings.Repeat("]", 16), strings.Repeat("[", 40) + "a" + strings.Repeat("]", 40)},
		{`[ab&&[a]]`, `[ab&&[a]b]`},
		{`[ab&&a]`, `[ab&&a`},
		{`[ab&&ac]`, `[ab&&a[c]]`},
		{`[ab&&ac]`, `[ab&&a&&c]`},
		{`[a-b]`, `[b-a]`},
		{`[a-a]`, `[a-\d]`},
		{`[a-]`, `[a-`},
		{`a\n`, `a\`},
		{`\x{61}`, `\x{61`},
		{`\x61`, `\x6`},
		{`\u0061`, `\u006`},
		{`\x{10ffff}`, `\x{110000}`},
		{`\x{61}`, `\x{}`},
		{`\p{L}`, `\pL`},
		{`\p{^L}`, `\p{L`},
		{`\P{Han}`, `\P{Hand}`},
		{`\-`, `\g`},
		{`a?+`, `a{2}+`},
		{`[ab]++`, `(?:ab)++`},
		{`a++`, `(?:a|b)?+`},
		{`a{2}`, `a{,}`},
		{`a{64}`, `a{65}`},
		{`(?=a|b)c`, `(?=a|bc)c`},
		{`a`, `a)`},
	} {
		if _, err := compile(account(t, limits.Policy{}), c.read); err != nil {
			t.Errorf("%q: %v", c.read, err)
		}
		if _, err := compile(account(t, limits.Policy{}), c.refused); wire.ClassOf(err) != wire.Unsupported {
			t.Errorf("%q is read: %v", c.refused, err)
		}
	}
}
