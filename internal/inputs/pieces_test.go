package inputs_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/inputs"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/parser"
)

// A file that HuggingFaceStorageWriter of torch 2.15.0 writes of one process is whole; one where a
// tensor begins inside another is a piece, and members that are not known are refused.
func TestPiecesAreNotTakenForWeights(t *testing.T) {
	for _, tc := range []struct {
		text  string
		class wire.Class
	}{
		{`{"w": {"saved_offsets": [0, 0]}}`, wire.OK},
		{`{}`, wire.OK},
		{`{"w": {"saved_offsets": [0, 0]}, "v": {"saved_offsets": [0, 1]}}`, wire.Unsupported},
		{`{"w": {"saved_offsets": [1]}}`, wire.Unsupported},
		{`{"w": {"saved_offsets": [0], "whole": true}}`, wire.Unsupported},
		{`{"w": {"saved_offsets": [-1]}}`, wire.Malformed},
		{`{"w": {"saved_offsets": [0.0]}}`, wire.Malformed},
		{`{"w": [0]}`, wire.Malformed},
		{`{"w": {"saved_offsets": [0]}, "w": {"saved_offsets": [0]}}`, wire.Malformed},
		{`[`, wire.Malformed},
		{``, wire.Malformed},
	} {
		head := fmt.Sprintf(`{"__metadata__":{"DCP_SHARDING_INFO":%q,"DCP_VERSION":"1.0","format":"pt"},"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, tc.text)
		file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head+"x"...)
		b := limitstest.Open(t, limits.Policy{})
		m, err := parser.Decode(b, bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		for name, check := range map[string]error{"Pieces": inputs.Pieces(b, m), "Plain": inputs.Plain(b, m)} {
			if got := wire.ClassOf(check); got != tc.class {
				t.Errorf("%s of %s: %v, want %v: %v", name, tc.text, got, tc.class, check)
			}
		}
		m.Close()
	}
}
