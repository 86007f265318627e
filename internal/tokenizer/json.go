package tokenizer

import (
	"io/fs"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// FileName is the file of the tokenizers library.
const FileName = "tokenizer.json"

// maxBytes bounds the file: the largest published ones have some tens of megabytes.
const maxBytes = 256 << 20

// maxID bounds the number of a token.
const maxID = 1 << 24

// A JSON is tokenizer.json.
type JSON struct {
	Type   string // "BPE", "WordPiece", "Unigram", "WordLevel"
	Tokens []Token
	Merges []Merge
	Added  []Added
	Model  jsontree.Value // without the vocabulary and the merges
	Rest   jsontree.Value // members of the file, without the model and added tokens

	texts    *wire.NameSet // of Tokens
	encoder  *encoder      // nil before the first text
	surround *surround     // replaces what the post-processor adds, if set
}

// A surround is the tokens before and after a text.
type surround struct{ prefix, suffix []int32 }

// Surround makes Encode put these two tokens around a text, instead of what the
// post-processor adds. An empty text means no token.
func (t *JSON) Surround(b *limits.Budget, first, last string) error {
	e := &surround{}
	for _, one := range []struct {
		text string
		list *[]int32
	}{{first, &e.prefix}, {last, &e.suffix}} {
		if one.text == "" {
			continue
		}
		id, ok := t.ID(one.text)
		if err := b.Step(int64(1 + len(t.Added))); err != nil {
			return err
		}
		if !ok {
			return wire.ErrMismatch.Errorf("the token %s, which is put around a text, is not in the vocabulary", wire.Quote(one.text))
		}
		*one.list = []int32{id}
	}
	t.surround, t.encoder = e, nil
	return nil
}

// ID returns the number of a token, of the model or added.
func (t *JSON) ID(text string) (int32, bool) {
	for i := range t.Added {
		if t.Added[i].Text == text {
			return t.Added[i].ID, true
		}
	}
	return t.find(text)
}

// A Token is one text of the vocabulary.
type Token struct {
	Text  string
	ID    int32
	Score float64 // of a Unigram
}

// A Merge is two texts that become one token.
type Merge struct{ A, B string }

// An Added is a token that is not the model's.
type Added struct {
	Text                             string
	ID                               int32
	Special, Normalized, Left, Right bool
	Word                             bool
}

// ReadJSON reads the file in a folder.
func ReadJSON(b *limits.Budget, files fs.FS, name string) (*JSON, error) {
	body, err := jsontree.ReadText(b, files, name, maxBytes)
	if err != nil {
		return nil, err
	}
	return ParseJSON(b, name, body)
}

// ParseJSON reads a text that the account has paid for.
func ParseJSON(b *limits.Budget, name, body string) (*JSON, error) {
	p := &jsonParser{JSON: &JSON{}, b: b}
	var err error
	if p.texts, err = wire.NewNameSet(b, 0, func(i int) string { return p.Tokens[i].Text }); err != nil {
		return nil, wire.At(name, "", wire.NoOffset, err)
	}
	err = strictjson.Decode(b, strictjson.Text{Format: name, Body: body, Whole: true}, func(d *strictjson.Decoder) error {
		p.d = d
		p.Rest = jsontree.Object()
		return d.Object(p.member)
	})
	if err != nil {
		return nil, err
	}
	if err := p.numbers(); err != nil {
		return nil, wire.At(name, "", wire.NoOffset, err)
	}
	if p.Type == "" {
		return nil, wire.At(name, "", wire.NoOffset, wire.ErrMissing.Errorf("it has no member \"model\" with a type, so it is not a vocabulary: replace it by that of the original model, which transformers' save_pretrained writes"))
	}
	return p.JSON, nil
}

type jsonParser struct {
	*JSON
	b *limits.Budget
	d *strictjson.Decoder
}

func (p *jsonParser) member(name string) error {
	switch name {
	case "model":
		p.Model = jsontree.Object()
		if err := p.d.Object(p.model); err != nil {
			return err
		}
		p.Type = p.Model.Get("type").String()
		if p.Type == "" && len(p.Merges) > 0 {
			p.Type = "BPE" // as the library takes what has no type
		}
		return nil
	case "added_tokens":
		return p.d.Array(func(int) error { return p.added() })
	}
	return p.Rest.Put(p.b, p.d, name)
}

func (p *jsonParser) model(name string) error {
	switch name {
	case "vocab":
		kind, err := p.d.Kind()
		if err != nil {
			return err
		}
		if kind == strictjson.Array {
			return p.d.Array(p.piece)
		}
		return p.d.ObjectOf(strings.Count(p.d.Rest(), ":"), func(text string) error {
			id, err := p.d.Uint(maxID)
			if err != nil {
				return err
			}
			return p.token(Token{Text: text, ID: int32(id)})
		})
	case "merges":
		return p.d.Array(func(int) error { return p.merge() })
	}
	return p.Model.Put(p.b, p.d, name)
}

// piece reads a token of a Unigram: a text and its score.
func (p *jsonParser) piece(i int) error {
	if i > maxID {
		return p.d.Fail("", wire.ErrUnsupported.Errorf("more than %d tokens", maxID))
	}
	t, n, off := Token{ID: int32(i)}, 0, p.d.Off()
	err := p.d.Array(func(at int) (err error) {
		n = at + 1
		switch at {
		case 0:
			t.Text, err = p.d.String()
		case 1:
			t.Score, err = p.d.Float()
		default:
			err = p.d.Skip()
		}
		return err
	})
	if err == nil && n != 2 {
		err = p.d.FailAt("", off, wire.ErrSyntax.Errorf("piece %d is not a text and its score", i))
	}
	if err != nil {
		return err
	}
	return p.token(t)
}

func (p *jsonParser) token(t Token) (err error) {
	if p.Tokens, err = limits.Append(p.b, p.Tokens, t); err != nil {
		return p.d.Fail("", err)
	}
	_, added, err := p.texts.Add(len(p.Tokens) - 1)
	if err == nil && !added {
		err = wire.ErrDuplicate.Errorf("token %s", wire.Quote(t.Text))
	}
	return p.d.Fail("", err)
}

// merge reads "a b" or ["a", "b"].
func (p *jsonParser) merge() error {
	var m Merge
	kind, err := p.d.Kind()
	if err != nil {
		return err
	}
	at := p.d.Off()
	n := 0
	if kind == strictjson.Array {
		err = p.d.Array(func(i int) (err error) {
			part, err := p.d.String()
			switch i {
			case 0:
				m.A = part
			case 1:
				m.B = part
			}
			n++
			return err
		})
	} else {
		var both string
		if both, err = p.d.String(); err == nil {
			n = 1 + strings.Count(both, " ")
			m.A, m.B, _ = strings.Cut(both, " ")
		}
	}
	if err != nil {
		return err
	}
	if n != 2 || m.A == "" || m.B == "" {
		return p.d.FailAt("", at, wire.ErrSyntax.Errorf("merge %d is not two texts", len(p.Merges)))
	}
	p.Merges, err = limits.Append(p.b, p.Merges, m)
	return p.d.Fail("", err)
}

func (p *jsonParser) added() error {
	v, err := jsontree.Decode(p.b, p.d)
	if err != nil {
		return err
	}
	id, ok := v.Get("id").Int()
	text := v.Get("content")
	if !ok || id < 0 || id > maxID || !text.IsString() || text.String() == "" {
		return p.d.FailAt("", v.Off(), wire.ErrSyntax.Errorf("added token %d has no text or no number", len(p.Added)))
	}
	a := Added{Text: text.String(), ID: int32(id)}
	for _, flag := range [...]struct {
		name string
		to   *bool
	}{{"special", &a.Special}, {"normalized", &a.Normalized}, {"lstrip", &a.Left}, {"rstrip", &a.Right}, {"single_word", &a.Word}} {
		if *flag.to, ok = v.Get(flag.name).Bool(); !ok {
			return p.d.FailAt("", v.Off(), wire.ErrSyntax.Errorf("%s of the added token %s is neither true nor false, and the library does not read that", flag.name, wire.Quote(a.Text)))
		}
	}
	p.Added, err = limits.Append(p.b, p.Added, a)
	return p.d.Fail("", err)
}

// numbers refuses added tokens whose numbers are not those that the library gives
// them, whatever the file says: that of the vocabulary, else the next one.
func (p *jsonParser) numbers() error {
	next := int64(len(p.Tokens))
	for i := range p.Added {
		a := &p.Added[i]
		id, ok := p.find(a.Text)
		if !ok {
			id = int32(next)
		}
		if id != a.ID {
			return wire.ErrMismatch.Errorf("added token %s has the number %d, but the library gives it %d", wire.Quote(a.Text), a.ID, id)
		}
		next = max(next, int64(id)+1)
		if err := p.b.Step(1); err != nil {
			return err
		}
	}
	return nil
}

func (t *JSON) find(text string) (int32, bool) {
	i, ok := t.texts.Find(text)
	if !ok {
		return 0, false
	}
	return t.Tokens[i].ID, true
}
