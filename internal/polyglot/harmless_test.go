package polyglot_test

import (
	"cmp"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// Harmless content is named, and content that only begins like it is not.
func TestHarmlessContentIsNamed(t *testing.T) {
	ledger.Charges(t)
	piece := "\n\x0c\n\x03<s>\x15\x00\x00\x00\x00\x18\x03"
	for _, c := range []struct{ data, want string }{
		{"", "an empty file"},
		{"# A model\n", "a text"},
		{"N. B.: this is no pickle.\n", "a text"},
		{"class Foo:\n    pass\n", "a text"},
		{"cat\ndog\n", "a text"},
		{"import os\nos.system('id')\n", "a text"},
		{"\ufeff {\"a\": 1}", "a JSON text"},
		{strings.Repeat("é", 40_000) + "x", "a text"},
		{"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR", ""},
		{"%PDF-\x0a\x03abc\x10\x01", ""},                 // protobuf fields to the end, the first of which a loader skips
		{"GIF89a\x00bcN.I1\n.I2\n.cos\nsystem\n)R.", ""}, // several pickles in a row, as in torch's legacy format
		{"GIF89a\x00bcN.a", ""},
		{"GIF89a\x01\x00\x01\x00\x00\x00\x00;", "a GIF image"},
		{"RIFF\x0c\x00\x00\x00WAVEfmt \x00\x00\x00\x00", "a WAV sound"},
		{strings.Repeat(piece, 3), "a SentencePiece vocabulary"},
		{"\x00\x00\x00\x10ftypavif\x00\x00\x00\x00\x00\x00\x00\x08meta", "an MP4 film or sound"},
		{"BM\x3a\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00\x18\x00" + strings.Repeat("\x00", 28), "a BMP image"},
		// tensorboardX 2.6.5: the first record of a log.
		{"\x18\x00\x00\x00\x00\x00\x00\x00\xa3\x7f\x4b\x22\x09\xa2\xcf\xcb\xd2\xa9\xc2\xda\x41\x1a\x0dbrain.Event:2" + "\x69\x46\xdc\x5e", "a log of TensorBoard"},
		// What only looks so.
		{strings.Repeat("\x00", 4) + "ftyp" + strings.Repeat("\x00", 30), ""},
		{"\x40\x00\x00\x00TFL3" + strings.Repeat("\x00", 15) + "brain.Event:2" + strings.Repeat("\x00", 60), ""},
		{"BM" + strings.Repeat("\x00", 40), ""},
		{"ZF0x1f                x^KMSMNLIRRLKJM", ""},
		{strings.Repeat("é", 40_000) + "\xc3", ""},
		{strings.Repeat("x", 70_000) + "\x00", ""},
		{"cos\nsystem\n(S'id'\ntR.", ""},
		{"cos\nsystem\n" + strings.Repeat("# a long text\n", 9000), ""},
		{"cposix\nsystem\n(S'id'\ntR and more", ""},
		{"GIF89a\x01\x00\x01cos\nsystem\n(S'id'\ntR.", ""}, // BINFLOAT, then a call
		{"(dp0\nS'w'\np1\nI1\ns.", ""},
		{"\n\x0a\n\x01x\x12\x05Const" + piece, ""}, // a node of a TensorFlow graph
		{piece + "\n\xff\xff", ""},
		{piece + "\n\x0b\n\x02\r\n\x15\x00\x00\x00\x00\x18\x04", "a SentencePiece vocabulary"}, // a piece of a carriage return and a line feed
		{piece + "\n\x04\n\x02\xff\xfe", ""},                                                   // one that is no text
		{"\x89PNG\r\n\x1a\nPK\x05\x06" + strings.Repeat("\x00", 18), ""},
		{piece + "\x12\x04\x0a\x02ab\x1a\x02\x12\x00", "a SentencePiece vocabulary"}, // a file that it learned from, a table of nothing
		{"\n\x02\n\x00\x12\x0a\n\x08\n\x06\n\x01w\x12\x01x", ""},                     // a TensorFlow graph after a field that its loader skips
		{piece + "\x12\x02\x48\x01", ""},                                             // a field that the schema does not have
		{piece + "\x12\x02\x08\x01", ""},                                             // one of another kind
		{piece + "\x1a\x06\x12\x04\x80\x80\x02\x80", ""},                             // a table that is none
		{piece + "\x82\x00\x02ab", ""},                                               // a tag that is longer than it needs to be
		{strings.Repeat(" ", 600) + "{\"a\": 1}", "a JSON text"},
		{"ZF1f                 x^KMSMNLIRRLKJM", ""},
		{"ZF+0X_1F             x^KMSMNLIRRLKJM", ""},
		{"ZF is no number here", "a text"},
		{strings.Repeat(" ", 512) + "cos\nsystem\n(S'id'\ntR.", ""},
		{strings.Repeat("x", 70_000/512*512) + "cos\nsystem\n(S'id'\ntR.", ""},
		{strings.Repeat("x", 70_001) + "\ncos\nsystem\n(S'id'\ntR.", ""},
		{"words S'os'\nS'system'\nq\u0093(S'id'\ntR.", ""},
		{"\x1f\x8b\x08\x00", ""},
		{"\x80\x02N.", ""},
		{"\x01\x02\x00", ""},
		{"\x08\x08\x12\x07pytorch", ""}, // ONNX
	} {
		b := limits.Policy{}.Budget(t.Context())
		got, err := polyglot.Harmless(b, strings.NewReader(c.data), int64(len(c.data)))
		if err != nil || got != c.want {
			t.Errorf("%.40q: %q, want %q; %v", c.data, got, c.want, err)
		}
		corpustest.DamagedTexts(t, "content", c.data, 48, func(data string) string {
			got, err := polyglot.Harmless(b, strings.NewReader(data), int64(len(data)))
			if err != nil {
				return corpustest.Ending(t, err)
			}
			return cmp.Or(strings.ReplaceAll(got, " ", "-"), "unknown")
		})
		if n := limitstest.Used(b, limits.Total); n != 0 {
			t.Errorf("%.40q: %d bytes are still charged", c.data, n)
		}
		b.Close()
	}
}

// Python accepts operands that package vm refuses, and runs what follows them.
func TestPicklesAreRecognizedAsByPython(t *testing.T) {
	ledger.Charges(t)
	const call = "cos\nsystem\n(S'id'\ntR."
	for begin, want := range map[string]bool{
		// pickle.load of Python 3.11.7, in C or in Python, reaches the call.
		"I+1\n0": true, "I 1\n0": true, "I1_0\n0": true, "L0x1\n0": true, "F1e5_0\n0": true, "I0b1\n0": true, "F 1.5 \n0": true,
		"N}Np5_0\n00": true, "Np+5\n0": true, "Np 5\ng5\n00": true, "(((((N1111": true, "(dN(NNd0": true, "U\x030\x010": true,
		// It stops before.
		"0": false, "N00": false, "Ra": false, "x": false, "# ": false, "(": true, "t": false, "isympy\nsympy\n": false, "cno such\nname\n": false,
	} {
		data := begin + call
		b := limits.Policy{}.Budget(t.Context())
		got, err := polyglot.Pickle(b, strings.NewReader(data), int64(len(data)))
		if err != nil || got != want {
			t.Errorf("%q: %v, want %v; %v", begin, got, want, err)
		}
		b.Close()
	}
}
