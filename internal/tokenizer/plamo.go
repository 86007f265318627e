package tokenizer

import (
	"io/fs"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// PlamoName is the file of PLaMo's vocabularies.
const PlamoName = "tokenizer.jsonl"

// plamoTypes are the types of tokens that a line names, besides ordinary ones.
var plamoTypes = map[string]PieceType{"UNKNOWN": Unknown, "CONTROL": Control, "BYTE": Byte}

// ReadPlamo reads the file: in each line a list of a token's text, its score, its type and numbers of
// the encoder. Blank lines are no tokens.
func ReadPlamo(b *limits.Budget, files fs.FS, name string) (list []Piece, err error) {
	body, err := jsontree.ReadText(b, files, name, maxBytes)
	if err != nil {
		return nil, err
	}
	for off := 0; off < len(body); {
		line, _, _ := strings.Cut(body[off:], "\n")
		if err := b.Step(1); err != nil {
			return nil, err
		}
		if strings.TrimSpace(line) != "" {
			one, err := plamoLine(b, strictjson.Text{Format: name, Body: line, Off: int64(off), Whole: true})
			if err != nil {
				return nil, err
			}
			if list, err = limits.Append(b, list, one); err != nil {
				return nil, err
			}
		}
		off += len(line) + 1
	}
	return list, nil
}

func plamoLine(b *limits.Budget, text strictjson.Text) (p Piece, err error) {
	var v jsontree.Value
	err = strictjson.Decode(b, text, func(d *strictjson.Decoder) error {
		v, err = jsontree.Decode(b, d)
		return err
	})
	if err != nil {
		return p, err
	}
	list := v.List()
	if len(list) < 3 || !list[0].IsString() || !list[2].IsString() || list[0].String() == "" {
		return p, wire.At(text.Format, "", text.Off, wire.ErrSyntax.Errorf("a line that is not a list of a token, its score and its type"))
	}
	score, ok := list[1].Float()
	if !ok {
		return p, wire.At(text.Format, "", text.Off, wire.ErrSyntax.Errorf("the score of %s is not a number", wire.Quote(list[0].String())))
	}
	p = Piece{Text: list[0].String(), Score: float32(score), Type: Normal}
	if kind, ok := plamoTypes[list[2].String()]; ok {
		p.Type = kind
	} else if strings.HasPrefix(p.Text, "<|plamo:") && strings.HasSuffix(p.Text, "|>") {
		p.Type = Control
	}
	return p, nil
}
