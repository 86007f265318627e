package fuzz_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// arrival sends a file to a stream in pieces. It returns the class of the refusal, its
// rules, and after how many bytes it came.
func arrival(t *testing.T, g *gate.Gate, data []byte, size int64, h gate.Hint, piece int) (wire.Class, []string, int) {
	b := g.Policy.Limits.Budget(t.Context())
	defer b.Close()
	s := g.Stream(b, size, h)
	came, rules, class := 0, []string(nil), wire.OK
	for came < len(data) {
		n, err := s.Write(data[came:min(len(data), came+piece)])
		came += n
		if errors.Is(err, gate.ErrRefused) {
			class = s.Verdict().Class()
			for _, r := range s.Verdict().Refusals() {
				rules = append(rules, r.Rule)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	limitstest.NoLeak(t, b)
	return class, rules, came
}

// arrivals are policies that decide by the beginning of a file.
var arrivals = []gate.Policy{
	{}, {AllowGlobals: []string{"hf-trainer", "module0.name", "numpy.matrix"}}, {Pickle: gate.PickleRefuse, Formats: []string{"gguf", "npz"}},
	{Pickle: gate.PickleWeightsOnly, DTypes: []string{"F32"}},
}

// FuzzArrival tests that a file refused while it arrives is refused for the same reason as
// a whole, in pieces of any size. If the size was not stated, the class may be that of a
// longer file. If pickles are refused altogether, the rest may show a worse reason.
func FuzzArrival(f *testing.F) {
	seeds := sampled{f, new(int)}
	for _, format := range []string{"pth", "pickle", "npy", "npz", "safetensors", "gguf", "detect"} {
		for _, r := range corpus.Hostile(format) {
			if p := r.Bytes(); len(p) < 1<<16 {
				seeds.Add(p, "file."+format, uint16(7), false)
			}
		}
		for _, s := range corpus.Valid(format) {
			if len(s.Data) < 1<<16 {
				seeds.Add(s.Data, "", uint16(len(s.Data)/2), true)
			}
		}
	}
	// Long headers, of which only the beginning is wrong.
	for _, text := range []string{`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"é": 1`, `{"a"`, ` {`, `{"a":{"dtype":"F32"} `} {
		p := binary.LittleEndian.AppendUint64(nil, 30_000)
		f.Add(append(append(p, text...), bytes.Repeat([]byte{' '}, 29_000)...), "m.safetensors", uint16(0), false)
	}
	f.Add(bytes.Repeat([]byte("rubbish "), 2000), "", uint16(99), true)
	f.Add(append([]byte("\x80\x04cos\nsystem\n."), make([]byte, 9000)...), "m.bin", uint16(99), true)
	f.Fuzz(func(t *testing.T, data []byte, name string, cut uint16, beside bool) {
		if len(data) == 0 {
			return
		}
		g := &gate.Gate{Policy: arrivals[int(cut)%len(arrivals)]}
		g.Policy.Limits = limits.Policy{MaxTotalBytes: 64 << 20, MaxSteps: 1 << 22, Timeout: limits.NoTimeout}
		h := gate.Hint{Name: name, Beside: beside}
		size := int64(len(data))
		class, rules, came := arrival(t, g, data, size, h, len(data))
		for _, piece := range []int{1 + int(cut), 4096} {
			c, r, n := arrival(t, g, data, size, h, piece)
			if c != class || !slices.Equal(r, rules) || n != came {
				t.Errorf("in pieces of %d: %v by %v after %d bytes, else %v by %v after %d", piece, c, r, n, class, rules, came)
			}
		}
		unsized, _, _ := arrival(t, g, data, -1, h, len(data))
		if class == wire.OK && unsized == wire.OK {
			return
		}
		b := g.Policy.Limits.Budget(t.Context())
		defer b.Close()
		v, err := g.Check(b, bytes.NewReader(data), size, h)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		if v.Accepted() {
			t.Errorf("refused as %v (%v), or without a size as %v, and the whole is accepted: %q of %d %q", class, rules, unsized, data[:min(64, len(data))], len(data), name)
		}
		if class != wire.OK && v.Class() != class {
			t.Errorf("refused as %v (%v), and the whole is %v: %v", class, rules, v.Class(), v.Err)
		}
		if class != wire.OK && v.Class() == class && v.Refusals()[0].Rule != rules[0] && rules[0] != "gate.pickle" {
			t.Errorf("refused by %v, and the whole by %v", rules, v.Refusals()[0])
		}
	})
}
