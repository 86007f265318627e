package tokenizer

import (
	"io/fs"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// SPMName is the file of a sentencepiece model.
const SPMName = "tokenizer.model"

// A PieceType is the type of a piece, as sentencepiece_model.proto numbers it.
type PieceType uint8

// The types.
const (
	Normal PieceType = iota + 1
	Unknown
	Control
	UserDefined
	Unused
	Byte
)

// A Piece is one text of a sentencepiece model. Its number is its index.
type Piece struct {
	Text  string
	Score float32
	Type  PieceType
}

// An SPM is a sentencepiece model.
type SPM struct {
	Pieces []Piece
	Model  int // the training algorithm: 1 unigram, 2 BPE, 3 word, 4 char
	// Prefix says that a space is put before a text, Squeeze that repeated spaces become
	// one. Charsmap is the map that normalizes characters.
	Prefix, Squeeze bool
	Charsmap        string
}

// ReadSPM reads the model in a folder.
func ReadSPM(b *limits.Budget, files fs.FS, name string) (*SPM, error) {
	body, err := jsontree.ReadText(b, files, name, maxBytes)
	if err != nil {
		return nil, err
	}
	if IsTiktoken(body[:min(len(body), 256)]) {
		return nil, wire.At(name, "", wire.NoOffset, wire.ErrUnsupported.Errorf("it is a tiktoken text and not the sentencepiece model that llama.cpp's converter needs: without it, %s is read, which transformers' save_pretrained writes", FileName))
	}
	m, err := ParseSPM(b, body)
	return m, wire.At(name, "", wire.NoOffset, err)
}

// ParseSPM reads a model whose text the account has paid for. It skips the fields of
// ModelProto that are not used here.
func ParseSPM(b *limits.Budget, body string) (*SPM, error) {
	m := &SPM{Model: 1, Prefix: true, Squeeze: true}
	err := eachField(b, body, 0, func(f field) error {
		switch f.number {
		case 1:
			return m.piece(b, f)
		case 2:
			return m.trainer(b, f)
		case 3:
			return m.normalizer(b, f)
		}
		return nil
	})
	if err == nil && len(m.Pieces) == 0 {
		err = wire.ErrMissing.Errorf("there are no pieces: it is not a sentencepiece model")
	}
	return m, err
}

// piece reads a SentencePiece: text, score, type.
func (m *SPM) piece(b *limits.Budget, f field) error {
	if f.wire != wireBytes {
		return f.fail("a piece")
	}
	if len(m.Pieces) > maxID {
		return wire.ErrUnsupported.Errorf("more than %d pieces", maxID)
	}
	p := Piece{Type: Normal}
	named := false
	err := eachField(b, f.text, f.off, func(g field) error {
		switch {
		case g.number == 1 && g.wire == wireBytes:
			p.Text, named = g.text, true
		case g.number == 2 && g.wire == wire32:
			p.Score = math.Float32frombits(uint32(g.value))
		case g.number == 3 && g.wire == wireVarint && g.value >= uint64(Normal) && g.value <= uint64(Byte):
			p.Type = PieceType(g.value)
		case g.number <= 3:
			return g.fail("a member of a piece")
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !named || p.Text == "" || !utf8.ValidString(p.Text) {
		return wire.At(SPMName, "", f.off, wire.ErrText.Errorf("piece %d has no text", len(m.Pieces)))
	}
	switch i := strings.IndexByte(p.Text, 0); {
	case i >= 0 && len(p.Text) > 1:
		return wire.At(SPMName, "", f.off, wire.ErrText.Errorf("piece %d holds a NUL among other characters, which sentencepiece does not load", len(m.Pieces)))
	case i >= 0:
		p.Type = Unused // as sentencepiece takes it, whatever the file says
	}
	m.Pieces, err = limits.Append(b, m.Pieces, p)
	return err
}

// trainer reads the algorithm in TrainerSpec.
func (m *SPM) trainer(b *limits.Budget, f field) error {
	if f.wire != wireBytes {
		return f.fail("how the model was trained")
	}
	return eachField(b, f.text, f.off, func(g field) error {
		if g.number == 3 {
			if g.wire != wireVarint || g.value < 1 || g.value > 4 {
				return g.fail("the kind of model")
			}
			m.Model = int(g.value)
		}
		return nil
	})
}

// normalizer reads a NormalizerSpec.
func (m *SPM) normalizer(b *limits.Budget, f field) error {
	if f.wire != wireBytes {
		return f.fail("how texts are normalized")
	}
	return eachField(b, f.text, f.off, func(g field) error {
		switch {
		case g.number == 2 && g.wire == wireBytes:
			m.Charsmap = g.text
		case g.number == 3 && g.wire == wireVarint:
			m.Prefix = g.value != 0
		case g.number == 4 && g.wire == wireVarint:
			m.Squeeze = g.value != 0
		case g.number >= 2 && g.number <= 4:
			return g.fail("a member of the normalizer")
		}
		return nil
	})
}

// The types of a protobuf's values.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

// A field is one field of a protobuf message.
type field struct {
	number uint64
	wire   uint8
	value  uint64 // of a number
	text   string // of bytes
	off    int64  // in the file
}

func (f *field) fail(what string) error {
	return wire.At(SPMName, "", f.off, wire.ErrSyntax.Errorf("field %d is not %s", f.number, what))
}

// eachField calls do for each field of a message. It refuses groups, which protobuf has
// deprecated, and tags about which protobuf's readers disagree, as internal/protobuf does.
func eachField(b *limits.Budget, body string, base int64, do func(field) error) error {
	steps := b.Steps()
	for at := 0; at < len(body); {
		if err := steps.Step(); err != nil {
			return err
		}
		f := field{off: base + int64(at)}
		tag, n := varint(body[at:])
		if n == 0 {
			return f.truncated()
		}
		f.number, f.wire = tag>>3, uint8(tag&7)
		if f.number == 0 || f.number >= 1<<29 || n > 1 && body[at+n-1] == 0 {
			return wire.At(SPMName, "", f.off, wire.ErrSyntax.Errorf("no field has the number %d, or its tag is longer than it has to be", f.number))
		}
		at += n
		size := uint64(0)
		switch f.wire {
		case wireVarint:
			if f.value, n = varint(body[at:]); n == 0 {
				return f.truncated()
			}
			at += n
		case wireBytes:
			if size, n = varint(body[at:]); n == 0 || n > 5 { // protobuf takes no longer length
				return f.truncated()
			}
			at += n
		case wire64:
			size = 8
		case wire32:
			size = 4
		default:
			return f.fail("of a type that protobuf has")
		}
		if size > uint64(len(body)-at) {
			return f.truncated()
		}
		f.text = body[at : at+int(size)]
		if f.wire == wire32 || f.wire == wire64 {
			for i := range len(f.text) {
				f.value |= uint64(f.text[i]) << (8 * i)
			}
		}
		if f.wire == wireBytes {
			f.off = base + int64(at)
		}
		at += int(size)
		if err := do(f); err != nil {
			return err
		}
	}
	return nil
}

// truncated returns the error of a field that is longer than its message. It is built only
// when returned, since a file may have any number of fields.
func (f field) truncated() error {
	return wire.At(SPMName, "", f.off, wire.ErrTruncated.Errorf("a field ends beyond its message, or its length is too long"))
}

// varint reads a number of at most ten bytes; n is 0 if there is none.
func varint(s string) (v uint64, n int) {
	for i := 0; i < len(s) && i < 10; i++ {
		c := s[i]
		if i == 9 && c > 1 {
			return 0, 0
		}
		v |= uint64(c&0x7F) << (7 * i)
		if c < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}
