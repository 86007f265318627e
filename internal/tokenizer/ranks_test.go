package tokenizer

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// ranked is a vocabulary of tiktoken's.
func ranked(tokens ...string) string {
	var s strings.Builder
	for i, t := range tokens {
		fmt.Fprintf(&s, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(t)), i)
	}
	return s.String()
}

// Merges as QwenModel.bpe of llama.cpp's converter finds them: a token of which another
// pair comes first has none.
func TestMergesOfRanks(t *testing.T) {
	ledger.Charges(t)
	b := account(t, limits.Policy{})
	r, err := ParseTiktoken(b, TiktokenName, ranked("a", "b", " ", "ab", "b ", "ab ", "aab", "\xff", "a\xff"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Merges(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a b", "b Ġ", "ab Ġ", "a ab", "a ÿ"}, got); diff != "" {
		t.Error(diff)
	}
	ids, err := r.Encode(b, `\s+|\S+`, "aab ab")
	if diff := cmp.Diff([]int32{6, 2, 3}, ids); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if _, err := r.Encode(b, ".", "c"); wire.ClassOf(err) != wire.Malformed {
		t.Errorf("a byte that is not a token: %v", err)
	}
}

func TestHostileRanks(t *testing.T) {
	ledger.Charges(t)
	long := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("a", maxToken)))
	for name, c := range map[string]struct {
		body  string
		class wire.Class
	}{
		"nothing":                     {"", wire.Malformed},
		"lines of nothing":            {strings.Repeat("\n", 1000), wire.Malformed},
		"no rank":                     {"YQ==\n", wire.Malformed},
		"a rank with a sign":          {"YQ== +0\n", wire.Malformed},
		"a rank that begins with 0":   {"YQ== 00\n", wire.Unsupported},
		"a rank of another place":     {"YQ== 1\n", wire.Unsupported},
		"a rank too large":            {"YQ== 99999999999999999999\n", wire.Malformed},
		"two tokens that are equal":   {"YQ== 0\nYQ== 1\n", wire.Malformed},
		"base64 with rests":           {"YR== 0\n", wire.Malformed},
		"no base64":                   {"ab\x00c 0\n", wire.Malformed},
		"a token of nothing":          {" 0\n", wire.Malformed},
		"a token that is too long":    {long + long + " 0\n", wire.Unsupported},
		"one that is as long as none": {long + " 0\n", wire.OK},
	} {
		b := account(t, limits.Policy{})
		r, err := ParseTiktoken(b, TiktokenName, c.body)
		if wire.ClassOf(err) != c.class {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if _, err := r.Merges(b); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	// Tokens that take long to take apart end at the account.
	var tokens []string
	for i := range 400 {
		tokens = append(tokens, strings.Repeat("a", 1+10*i))
	}
	b := account(t, limits.Policy{MaxSteps: 100_000})
	r, err := ParseTiktoken(b, TiktokenName, ranked(tokens...))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Merges(b); wire.ClassOf(err) != wire.Limit {
		t.Errorf("merges beyond the account: %v", err)
	}
	if _, err := r.Splits(b); wire.ClassOf(err) != wire.Limit {
		t.Errorf("splits beyond the account: %v", err)
	}
}

// bytesAnd is the vocabulary of tekken.json: all bytes, and more tokens.
func bytesAnd(more ...string) string {
	var list []string
	for i := range 256 + len(more) {
		text := string([]byte{byte(i)})
		if i >= 256 {
			text = more[i-256]
		}
		list = append(list, fmt.Sprintf(`{"rank": %d, "token_bytes": %q, "token_str": null}`, i, base64.StdEncoding.EncodeToString([]byte(text))))
	}
	return "[" + strings.Join(list, ",") + "]"
}

func tekkenFile(config, vocab, more string) string {
	return `{"config": {"pattern": ".", ` + config + `}, "vocab": ` + vocab + more + `}`
}

func TestTekken(t *testing.T) {
	ledger.Charges(t)
	b := account(t, limits.Policy{})
	const of24 = `"version": "v3", "default_vocab_size": 283, "default_num_special_tokens": 24`
	k, err := ParseTekken(b, TekkenName, tekkenFile(of24, bytesAnd("ab", "abab", "aba", "beyond"), `, "image": {"x": [1]}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(k.Special) != 24 || k.Special[1] != "<s>" || k.Special[19] != "[TOOL_CONTENT]" || k.Special[20] != "<SPECIAL_20>" || len(k.Tokens) != 259 {
		t.Errorf("%q, %d tokens", k.Special, len(k.Tokens))
	}
	// Every cut of a token, by the ranks of its parts; aba comes later than abab.
	got, err := k.Splits(b)
	if diff := cmp.Diff([]string{"a b", "aba b", "ab ab", "ab a"}, got, cmp.Transformer("sorted", func(s []string) map[string]bool {
		m := map[string]bool{}
		for _, x := range s {
			m[x] = true
		}
		return m
	})); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if want := []string{"a b", "ab ab", "aba b", "ab a"}; !cmp.Equal(got, want) {
		t.Errorf("order %q, want %q", got, want)
	}
}

func TestHostileTekken(t *testing.T) {
	ledger.Charges(t)
	const fine = `"version": "v3", "default_vocab_size": 281, "default_num_special_tokens": 24`
	for name, c := range map[string]struct {
		file  string
		class wire.Class
	}{
		"fine":                         {tekkenFile(fine, bytesAnd("ab"), ""), wire.OK},
		"no configuration":             {`{"vocab": []}`, wire.Malformed},
		"no vocabulary":                {`{"config": {` + fine + `}}`, wire.Malformed},
		"more tokens than there are":   {tekkenFile(`"version": "v3", "default_vocab_size": 16000000, "default_num_special_tokens": 24`, bytesAnd("ab"), ""), wire.Malformed},
		"special tokens alone":         {tekkenFile(`"version": "v3", "default_vocab_size": 24, "default_num_special_tokens": 24`, bytesAnd("ab"), ""), wire.Malformed},
		"sizes below nothing":          {tekkenFile(`"version": "v3", "default_vocab_size": -1, "default_num_special_tokens": -5`, bytesAnd("ab"), ""), wire.Malformed},
		"a size of 2^63":               {tekkenFile(`"version": "v3", "default_vocab_size": 9223372036854775807, "default_num_special_tokens": 24`, bytesAnd("ab"), ""), wire.Malformed},
		"many special tokens":          {tekkenFile(`"version": "v3", "default_vocab_size": 16777216, "default_num_special_tokens": 16776959`, bytesAnd("ab"), ""), wire.Unsupported},
		"fewer than are named":         {tekkenFile(`"version": "v3", "default_vocab_size": 260, "default_num_special_tokens": 3`, bytesAnd("ab"), ""), wire.Malformed},
		"a byte of another rank":       {strings.Replace(tekkenFile(fine, bytesAnd("ab"), ""), `"AA=="`, `"AB=="`, 1), wire.Malformed},
		"another rank":                 {strings.Replace(tekkenFile(fine, bytesAnd("ab"), ""), `"rank": 7,`, `"rank": 8,`, 1), wire.Malformed},
		"a member that is none":        {strings.Replace(tekkenFile(fine, bytesAnd("ab"), ""), `"rank": 7,`, `"rank": 7, "x": 0,`, 1), wire.Malformed},
		"a member too few":             {strings.Replace(tekkenFile(fine, bytesAnd("ab"), ""), `, "token_str": null`, ``, 1), wire.Malformed},
		"a member twice":               {strings.Replace(tekkenFile(fine, bytesAnd("ab"), ""), `"rank": 7,`, `"rank": 7, "rank": 7,`, 1), wire.Malformed},
		"a newer version states none":  {strings.Replace(tekkenFile(fine, bytesAnd("ab"), ""), `"v3"`, `"v11"`, 1), wire.Malformed},
		"special tokens of null":       {tekkenFile(fine, bytesAnd("ab"), `, "special_tokens": null`), wire.OK},
		"a special token without text": {tekkenFile(fine, bytesAnd("ab"), `, "special_tokens": [{"rank": 0}]`), wire.Malformed},
		"a special token elsewhere":    {tekkenFile(fine, bytesAnd("ab"), `, "special_tokens": [{"rank": 1, "token_str": "<s>"}]`), wire.Malformed},
		"deep":                         {tekkenFile(fine, bytesAnd("ab"), `, "image": `+strings.Repeat("[", 100_000)), wire.Limit},
		"the vocabulary twice":         {tekkenFile(fine, bytesAnd("ab"), `, "vocab": []`), wire.Malformed},
	} {
		b := account(t, limits.Policy{})
		if _, err := ParseTekken(b, TekkenName, c.file); wire.ClassOf(err) != c.class {
			t.Errorf("%s: %v", name, err)
		}
	}
	b := account(t, limits.Policy{})
	k, err := ParseTekken(b, TekkenName, tekkenFile(fine, bytesAnd("abc"), ""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Splits(b); wire.ClassOf(err) != wire.Malformed {
		t.Errorf("a token of no two others: %v", err)
	}
	b = account(t, limits.Policy{MaxTotalBytes: 1 << 19})
	if _, err := ParseTekken(b, TekkenName, tekkenFile(`"version": "v3", "default_vocab_size": 65793, "default_num_special_tokens": 65536`, bytesAnd("ab"), "")); wire.ClassOf(err) != wire.Limit {
		t.Errorf("special tokens beyond the account: %v", err)
	}
}
