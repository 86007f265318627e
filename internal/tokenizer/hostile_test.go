package tokenizer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A hostile tokenizer.json ends with its class, within the account, before a text is
// encoded or while it is.
func TestHostileFiles(t *testing.T) {
	ledger.Charges(t)
	many := func(n int, one string) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }
	deep := func(n int, name, list string) string {
		return strings.Repeat(`{"type": "Sequence", "`+list+`": [`, n) + fmt.Sprintf(`{"type": %q}`, name) + strings.Repeat("]}", n)
	}
	const model = `"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}`
	const pieces = `"model": {"type": "WordPiece", "continuing_subword_prefix": %q, "vocab": {"[UNK]": 0, "a": 1}}`
	for name, c := range map[string]struct {
		file  string
		class wire.Class
	}{
		"processors around processors":      {`{"post_processor": {"type": "Sequence", "processors": [` + many(20_000, `{"type": "RobertaProcessing", "cls": ["a", 0], "sep": ["b", 1]}`) + `]}, ` + model + `}`, wire.Limit},
		"templates around templates":        {`{"post_processor": {"type": "Sequence", "processors": [` + many(20_000, `{"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "a"}}, {"Sequence": {"id": "A"}}], "special_tokens": {"a": {"ids": [0]}}}`) + `]}, ` + model + `}`, wire.Limit},
		"sequences in sequences":            {`{"normalizer": ` + deep(100, "NFC", "normalizers") + `, ` + model + `}`, wire.Limit},
		"cutters in cutters":                {`{"pre_tokenizer": ` + deep(100, "ByteLevel", "pretokenizers") + `, ` + model + `}`, wire.Limit},
		"deeper than the account":           {`{"normalizer": ` + deep(20_000, "NFC", "normalizers") + `, ` + model + `}`, wire.Limit},
		"a text that doubles":               {`{"normalizer": {"type": "Sequence", "normalizers": [` + many(60, `{"type": "Replace", "pattern": {"String": "n"}, "content": "nn"}`) + `]}, ` + model + `}`, wire.Unsupported},
		"a text that doubles by expression": {`{"normalizer": {"type": "Sequence", "normalizers": [` + many(60, `{"type": "Replace", "pattern": {"Regex": "n"}, "content": "nn"}`) + `]}, ` + model + `}`, wire.Unsupported},
		"a beginning that grows":            {`{"normalizer": {"type": "Sequence", "normalizers": [` + many(20_000, `{"type": "Prepend", "prepend": "`+strings.Repeat("x", 1000)+`"}`) + `]}, ` + model + `}`, wire.Unsupported},
		"normal forms again and again":      {`{"normalizer": {"type": "Sequence", "normalizers": [` + many(50_000, `{"type": "NFKD"}`) + `]}, ` + model + `}`, wire.Limit},
		"a prefix of a megabyte":            {`{` + fmt.Sprintf(pieces, strings.Repeat("#", 1<<20)) + `}`, wire.Unsupported},
		"an expression that repeats":        {`{"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "((((a{64}){64}){64}){64})"}, "behavior": "Isolated"}, ` + model + `}`, wire.Unsupported},
		"a merge of a token that is none":   {`{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]}}`, wire.Malformed},
		"two tokens with one text":          {`{"model": {"type": "BPE", "vocab": {"a": 0, "\u0061": 1}, "merges": []}}`, wire.Malformed},
		"a number beyond all":               {`{"model": {"type": "BPE", "vocab": {"a": 99999999999}, "merges": []}}`, wire.Malformed},
		"an added token without a flag":     {`{"added_tokens": [{"id": 2, "content": "x", "special": true, "normalized": false, "lstrip": false, "rstrip": false}], ` + model + `}`, wire.Malformed},
		"a flag that is a number":           {`{"added_tokens": [{"id": 2, "content": "x", "special": 1, "normalized": false, "lstrip": false, "rstrip": false, "single_word": false}], ` + model + `}`, wire.Malformed},
		"an added token of the end":         {`{"added_tokens": [{"id": 16777216, "content": "x"}], ` + model + `}`, wire.Malformed},
	} {
		b := account(t, limits.Policy{MaxSteps: 20_000_000, MaxTotalBytes: 256 << 20})
		j, err := ParseJSON(b, FileName, c.file)
		if err == nil {
			_, err = j.Pre(b)
		}
		if wire.ClassOf(err) != c.class {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Normalizers that double a text sixty-four times are refused as soon as it is longer than
// any vocabulary makes it, not at the end of the account.
func TestNormalizersThatDouble(t *testing.T) {
	ledger.Charges(t)
	for name, step := range map[string]string{
		"a string":      `{"type": "Replace", "pattern": {"String": "n"}, "content": "nn"}`,
		"an expression": `{"type": "Replace", "pattern": {"Regex": "n"}, "content": "nn"}`,
		"a beginning":   `{"type": "Prepend", "prepend": "` + strings.Repeat("n", 4000) + `"}`,
		"a long one":    `{"type": "Replace", "pattern": {"String": "n"}, "content": "` + strings.Repeat("n", 1<<20) + `"}`,
	} {
		file := `{"normalizer": {"type": "Sequence", "normalizers": [` + strings.TrimSuffix(strings.Repeat(step+",", 64), ",") + `]}, "model": {"type": "BPE", "vocab": {"n": 0}, "merges": []}}`
		b := account(t, limits.Policy{MaxSteps: 1 << 40, MaxTotalBytes: 1 << 40})
		j, err := ParseJSON(b, FileName, file)
		if err != nil {
			t.Fatal(name, err)
		}
		before := b.Charged()
		if _, err = j.Encode(b, strings.Repeat("n", 100)); wire.ClassOf(err) != wire.Unsupported {
			t.Errorf("%s: %v", name, err)
		}
		if n := b.Charged() - before; n > 8<<20 {
			t.Errorf("%s: refused after %d bytes", name, n)
		}
	}
}

// A piece of one null character is unused, as sentencepiece takes it; one that holds it
// among others is refused, as there.
func TestNullPieces(t *testing.T) {
	piece := func(text string) string {
		return "\x0a" + string(rune(2 + len(text)))[:1] + "\x0a" + string(rune(len(text))) + text
	}
	m, err := ParseSPM(account(t, limits.Policy{}), piece("\x00")+piece("a"))
	if err != nil || m.Pieces[0].Type != Unused || m.Pieces[1].Type != Normal {
		t.Errorf("%v, %+v", err, m)
	}
	if _, err := ParseSPM(account(t, limits.Policy{}), piece("a\x00")); wire.ClassOf(err) != wire.Malformed {
		t.Errorf("%v", err)
	}
}
