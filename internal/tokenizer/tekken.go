package tokenizer

import (
	"io/fs"
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// maxSpecial bounds the special tokens, most of which have no name: published files have a
// thousand.
const maxSpecial = 1 << 16

// TekkenName is the file of Mistral's vocabularies, which mistral-common reads.
const TekkenName = "tekken.json"

// A Tekken is tekken.json: special tokens, followed by tokens by rank.
type Tekken struct {
	*Ranks
	Version string   // "v3"
	Special []string // the first tokens
}

// oldSpecial are the special tokens of files that state none, up to version v7:
// DEPRECATED_SPECIAL_TOKENS in mistral-common's tekken.py.
var oldSpecial = []string{
	"<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]",
	"[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]",
}

// ReadTekken reads the file in a folder.
func ReadTekken(b *limits.Budget, files fs.FS, name string) (*Tekken, error) {
	body, err := jsontree.ReadText(b, files, name, maxBytes)
	if err != nil {
		return nil, err
	}
	return ParseTekken(b, name, body)
}

// ParseTekken reads a text that the account has paid for.
func ParseTekken(b *limits.Budget, name, body string) (*Tekken, error) {
	p := &tekkenParser{b: b, config: jsontree.Object(), t: &Tekken{}}
	var err error
	if p.t.Ranks, err = newRanks(b); err != nil {
		return nil, wire.At(name, "", wire.NoOffset, err)
	}
	err = strictjson.Decode(b, strictjson.Text{Format: name, Body: body, Whole: true}, func(d *strictjson.Decoder) error {
		p.d = d
		return d.Object(p.member)
	})
	if err == nil {
		err = wire.At(name, "", wire.NoOffset, p.finish())
	}
	return p.t, err
}

type tekkenParser struct {
	b      *limits.Budget
	d      *strictjson.Decoder
	t      *Tekken
	config jsontree.Value
	stated bool // the file states special tokens
}

func (p *tekkenParser) member(name string) error {
	switch name {
	case "config":
		return p.d.Object(func(name string) error { return p.config.Put(p.b, p.d, name) })
	case "vocab":
		return p.d.Array(p.token)
	case "special_tokens":
		if kind, err := p.d.Kind(); err != nil || kind == strictjson.Null {
			return err
		}
		p.stated = true
		return p.d.Array(p.special)
	}
	return nil // of pictures and sounds
}

var tekkenToken = []string{"rank", "token_bytes", "token_str"}

// token reads a token. Its rank is its index, and the first 256 are bytes.
func (p *tekkenParser) token(i int) error {
	at, rank, coded := p.d.Off(), uint64(maxID), ""
	has, err := p.d.Fields(tekkenToken, func(n int) (err error) {
		switch n {
		case 0:
			rank, err = p.d.Uint(maxID)
		case 1:
			coded, err = p.d.String()
		}
		return err
	})
	if err != nil {
		return err
	}
	if has != 7 || rank != uint64(i) {
		return p.d.FailAt("", at, wire.ErrMismatch.Errorf("token %d has another rank, or lacks a member", i))
	}
	if err := p.t.add(p.b, coded); err != nil {
		return p.d.FailAt("", at, err)
	}
	if i < 256 && p.t.Tokens[i] != string([]byte{byte(i)}) {
		return p.d.FailAt("", at, wire.ErrMismatch.Errorf("token %d is not the byte of its rank", i))
	}
	return nil
}

func (p *tekkenParser) special(i int) error {
	v, err := jsontree.Decode(p.b, p.d)
	if err != nil {
		return err
	}
	rank, ok := v.Get("rank").Int()
	if text := v.Get("token_str"); !ok || rank != int64(i) || !text.IsString() || text.String() == "" {
		return p.d.FailAt("", v.Off(), wire.ErrMismatch.Errorf("special token %d has no text, or another rank", i))
	}
	p.t.Special, err = limits.Append(p.b, p.t.Special, v.Get("token_str").String())
	return p.d.Fail("", err)
}

// finish keeps as many tokens as the configuration states, and adds special tokens without
// a name.
func (p *tekkenParser) finish() error {
	t := p.t
	t.Version = p.config.Get("version").String()
	size, ok := p.config.Get("default_vocab_size").Int()
	special, is := p.config.Get("default_num_special_tokens").Int()
	if special > maxSpecial {
		return wire.ErrUnsupported.Errorf("%d special tokens, at most %d are read", special, maxSpecial)
	}
	if !ok || !is || special < 0 || size <= special || size > maxID {
		return wire.ErrRange.Errorf("the configuration states %d tokens, %d of them special", size, special)
	}
	if size-special > int64(len(t.Tokens)) {
		return wire.ErrMismatch.Errorf("%d tokens, but the configuration states %d", len(t.Tokens), size-special)
	}
	if !p.stated {
		switch t.Version {
		case "v1", "v2", "v3", "v7":
			t.Special = oldSpecial
		default:
			return wire.ErrMissing.Errorf("there are no special tokens, which version %s must state", wire.Quote(t.Version))
		}
	}
	if int64(len(t.Special)) > special {
		return wire.ErrMismatch.Errorf("%d special tokens, but the configuration states %d", len(t.Special), special)
	}
	list, err := limits.Make[string](p.b, int(special))
	if err != nil {
		return err
	}
	copy(list, t.Special)
	for i := len(t.Special); i < len(list); i++ {
		if err := p.b.Hold(32); err != nil {
			return err
		}
		list[i] = "<SPECIAL_" + strconv.Itoa(i) + ">"
	}
	t.Special = list
	// Later tokens are those of a larger vocabulary; parts of tokens are looked up in these.
	all := t.Tokens[:size-special]
	if t.Ranks, err = newRanks(p.b); err != nil {
		return err
	}
	for i, text := range all {
		if t.Tokens, err = limits.Append(p.b, t.Tokens, text); err != nil {
			return err
		}
		if _, _, err := t.set.Add(i); err != nil {
			return err
		}
	}
	return nil
}
