package convert_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
)

// The texts of a vocabulary are checked when they are read. A vocabulary that readers would refuse
// is not written, under any form of names.
func TestTextsThatReadersRefuseAreNotWritten(t *testing.T) {
	text := func(p []byte, s string) []byte {
		return append(binary.LittleEndian.AppendUint64(p, uint64(len(s))), s...)
	}
	for token, class := range map[string]parser.Class{"b": parser.OK, "a\x00b": parser.Unsupported} {
		file := append([]byte("GGUF\x03\x00\x00\x00"), make([]byte, 8)...)
		file = binary.LittleEndian.AppendUint64(file, 1)
		file = text(file, "tokenizer.ggml.tokens")
		file = binary.LittleEndian.AppendUint32(file, 9) // an array
		file = binary.LittleEndian.AppendUint32(file, 8) // of texts
		file = binary.LittleEndian.AppendUint64(file, 2)
		file = text(text(file, "a"), token)
		b := converttest.Account(t)
		m, err := gguf.Decode(b, bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := convert.NewPlan(b, m, convert.Options{Sink: convert.GGUF{RawNames: true}}); parser.ClassOf(err) != class {
			t.Errorf("%q: %v, want %v: %v", token, parser.ClassOf(err), class, err)
		}
	}
}
