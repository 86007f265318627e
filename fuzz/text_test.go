package fuzz

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// FuzzText puts any text where a file may hold one. The quoting functions, and every
// parser that refuses such a file, must return text that a terminal shows and does not act
// on, within its length.
func FuzzText(f *testing.F) {
	for _, s := range []string{
		"", "plain", "\x1b[2J", "\u202e gnp.exe", "a\u200bb", "\xff\xfe", "\u0000", `"quoted"`, `\u{1b}`, "日本語",
		"\U000e0041", "\ue000", "\u115f", "\u2028", "e\u0301", strings.Repeat("\x07", 700), strings.Repeat("\u202d", 700),
		strings.Repeat("é", 64), "x" + strings.Repeat("…", 40),
	} {
		f.Add(s, uint16(wire.MaxQuoted))
	}
	for _, format := range corpus.Formats() {
		for i, r := range corpus.Hostile(format) {
			if data := r.Bytes(); len(data) < 256 && (effort.Seeds() || i%4 == 0) {
				f.Add(string(data), uint16(64))
			}
		}
	}
	f.Fuzz(func(t *testing.T, s string, limit uint16) {
		most := max(int(limit), len("…"))
		shown(t, "Clean", wire.Clean(s, most), most)
		shown(t, "Quote", wire.Quote(s), wire.MaxQuoted+2)
		for _, cause := range []error{
			wire.ErrRange.Errorf("%s and %s", wire.Quote(s), wire.Clean(s, 4*wire.MaxMessage)),
			errors.Join(wire.ErrText.Errorf("%s", wire.Clean(s, 4*wire.MaxMessage)), wire.ErrSyntax),
		} {
			e := &wire.Error{Format: "text", Where: strings.Repeat("in "+wire.Quote(s)+" ", 40), Off: 7, Err: cause}
			shown(t, "an error", strings.ReplaceAll(e.Error(), "\n", " "), wire.MaxMessage)
		}
		for name, data := range holders(s) {
			b := limits.Policy{}.Budget(background)
			m, err := parser.Decode(b, bytes.NewReader(data), int64(len(data)))
			if err == nil {
				for _, found := range m.Findings() {
					shown(t, "a finding of "+name, found.String(), wire.MaxMessage)
				}
				err = parser.Verify(b, m)
			}
			b.Close()
			if err != nil {
				shown(t, "an error of "+name, err.Error(), wire.MaxMessage)
			}
		}
	})
}

// shown fails on characters that a terminal would act on or a reader cannot see.
func shown(t *testing.T, what, s string, most int) {
	t.Helper()
	if len(s) > most {
		t.Errorf("%s: %d bytes, at most %d: %q", what, len(s), most, s)
	}
	if !utf8.ValidString(s) {
		t.Errorf("%s: not UTF-8: %q", what, s)
	}
	for _, r := range s {
		if r != ' ' && (!unicode.IsGraphic(r) || unicode.IsSpace(r)) ||
			unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp, unicode.Bidi_Control,
				unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			t.Errorf("%s: U+%04X gets through: %q", what, r, s)
		}
	}
}

// holders returns files that hold the text where messages quote it: names, types and keys
// that are refused.
func holders(s string) map[string][]byte {
	le := binary.LittleEndian
	text, _ := json.Marshal(s)
	safetensors := func(header string) []byte {
		return append(le.AppendUint64(nil, uint64(len(header))), header...)
	}
	gguf := func(kv func([]byte) []byte) []byte {
		return kv(append([]byte("GGUF\x03\x00\x00\x00"), "\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00"...))
	}
	str := func(p []byte, s string) []byte { return append(le.AppendUint64(p, uint64(len(s))), s...) }
	npy := func(header string) []byte {
		return append(le.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header))), header...)
	}
	return map[string][]byte{
		"a tensor's name": safetensors(`{` + string(text) + `:{"dtype":"F32","shape":[1],"data_offsets":[0,3]}}`),
		"a name twice":    safetensors(`{` + string(text) + `:{},` + string(text) + `:{}}`),
		"raw JSON":        safetensors(`{"` + s + `":1}`),
		"a tensor's type": safetensors(`{"t":{"dtype":` + string(text) + `,"shape":[],"data_offsets":[0,1]}}`),
		"metadata":        safetensors(`{"__metadata__":{"a":` + string(text) + `,"a":` + string(text) + `}}`),
		"a GGUF key":      gguf(func(p []byte) []byte { return append(str(p, s), "\x63\x00\x00\x00"...) }),
		"a GGUF key twice": gguf(func(p []byte) []byte {
			return append(str(append(str(p, s), "\x00\x00\x00\x00\x01"...), s), "\x00\x00\x00\x00\x01"...)
		}),
		"an npy type":     npy(`{'descr': '` + s + `', 'fortran_order': False, 'shape': (), }` + "\n"),
		"an npy header":   npy(s),
		"a member's name": member(s+".npy", npy(`{'descr': '|O', 'fortran_order': False, 'shape': (), }`+"\n")),
		"another member":  member(s, []byte("text")),
		"the beginning":   []byte(s),
	}
}

// member is an archive of one stored member.
func member(name string, data []byte) []byte {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	m, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
	if err != nil {
		return nil
	}
	m.Write(data)
	if w.Close() != nil {
		return nil
	}
	return buf.Bytes()
}
