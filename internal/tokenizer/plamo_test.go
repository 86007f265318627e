package tokenizer

import (
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A line is a token, its score and its type; any other line is refused where it lies.
func TestLinesOfPlamo(t *testing.T) {
	ledger.Charges(t)
	const first = `["<|plamo:unk|>", 0.0, "UNKNOWN", 0]` + "\n\n"
	for name, c := range map[string]struct {
		body string
		want Piece // the last one
		off  int64 // of the error, or -1
	}{
		"a token":               {first + `["い", -1.5, "NORMAL", 1, 2]`, Piece{"い", -1.5, Normal}, -1},
		"a byte":                {first + `["<0x0A>", 0, "BYTE"]` + "\n", Piece{"<0x0A>", 0, Byte}, -1},
		"a token of control":    {first + `["<s>", 0, "CONTROL"]`, Piece{"<s>", 0, Control}, -1},
		"one known by its text": {first + `["<|plamo:op|>", 0, "NORMAL"]`, Piece{"<|plamo:op|>", 0, Control}, -1},
		"no score":              {first + `["a", null, "NORMAL"]`, Piece{}, 38},
		"no type":               {first + `["a", 0]`, Piece{}, 38},
		"no text":               {first + `["", 0, "NORMAL"]`, Piece{}, 38},
		"no list":               {first + `{"a": 0}`, Piece{}, 38},
	} {
		b := limits.Policy{}.Budget(t.Context())
		list, err := ReadPlamo(b, fstest.MapFS{PlamoName: {Data: []byte(c.body)}}, PlamoName)
		b.Close()
		at, _ := err.(*wire.Error)
		switch {
		case c.off < 0 && (err != nil || len(list) != 2 || list[1] != c.want):
			t.Errorf("%s: %v, %v", name, list, err)
		case c.off >= 0 && (at == nil || at.Off != c.off || wire.ClassOf(err) != wire.Malformed):
			t.Errorf("%s: %v", name, err)
		}
	}
}
