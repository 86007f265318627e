package npy_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/google/go-cmp/cmp"
)

// golden is one array as NumPy reads it.
type golden struct {
	Version  int         `json:"version"`
	Header   int64       `json:"header"`
	Shape    []int64     `json:"shape"`
	Fortran  bool        `json:"fortran"`
	ItemSize int64       `json:"itemsize"`
	Str      string      `json:"str"`
	Fields   []npy.Field `json:"fields"`
	SHA256   string      `json:"sha256"` // of the data as stored
	Values   string      `json:"values"` // of the data in C order, little-endian
}

func goldens(t testing.TB) map[string]golden {
	t.Helper()
	text, err := os.ReadFile("../../testdata/npy/expect.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]golden
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	return want
}

func TestArraysReadAsNumPyReadsThem(t *testing.T) {
	want := goldens(t)
	seen := 0
	for _, seed := range corpus.Valid("npy") {
		w, ok := want[seed.Name]
		if !ok {
			continue
		}
		seen++
		t.Run(seed.Name, func(t *testing.T) {
			b := account(t, nil)
			f, err := npy.Decode(b, bytes.NewReader(seed.Data), int64(len(seed.Data)))
			if err != nil {
				t.Fatal(err)
			}
			h := f.Header
			got := golden{
				Version: h.Version, Header: h.Len, Shape: h.Shape, Fortran: h.Fortran, ItemSize: h.Type.Size,
				Str: h.Type.Descr, Fields: f.Fields(), SHA256: digest(data(t, f)), Values: w.Values,
			}
			switch {
			case len(w.Fields) > 0:
				got.Str = w.Str // the text of the file, spelled as it is there
			case got.Str[:2] == "<V":
				got.Str = "|" + got.Str[1:] // NumPy forgets the order that ml_dtypes wrote
			}
			if i := f.Infos[0]; i.DType != tensor.Unknown {
				got.Values = digest(values(t, f, &i))
			}
			if diff := cmp.Diff(clean(w), clean(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if seen != len(want) || seen < 50 {
		t.Errorf("%d of %d files seen", seen, len(want))
	}
}

// clean makes nil and empty lists the same.
func clean(g golden) golden {
	if g.Shape == nil {
		g.Shape = []int64{}
	}
	g.Fields = cleanFields(g.Fields)
	return g
}

func cleanFields(list []npy.Field) []npy.Field {
	out := []npy.Field{}
	for _, f := range list {
		if f.Shape == nil {
			f.Shape = []int64{}
		}
		f.Fields = cleanFields(f.Fields)
		out = append(out, f)
	}
	return out
}

func digest(p []byte) string {
	sum := sha256.Sum256(p)
	return hex.EncodeToString(sum[:])
}

// data is the bytes after the header, by the span.
func data(t testing.TB, f *npy.File) []byte {
	t.Helper()
	r, ok := f.At(f.Infos[0])
	if !ok {
		t.Fatal("no access at an offset")
	}
	p, err := io.ReadAll(io.NewSectionReader(r, 0, f.Infos[0].Span.Len))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// values returns the elements in C order and little-endian, by means of the strides and the byte
// order.
func values(t testing.TB, f *npy.File, i *tensor.Info) []byte {
	t.Helper()
	raw := data(t, f)
	g, _ := i.DType.Geometry()
	size := int64(g.Bytes)
	unit := int(size) // what is reversed: halves of a complex number each
	if i.DType == tensor.C64 || i.DType == tensor.C128 {
		unit /= 2
	}
	strides := i.Strides
	if strides == nil {
		strides = make([]int64, len(i.Shape))
		step := int64(1)
		for k := len(i.Shape) - 1; k >= 0; k-- {
			strides[k] = step
			step *= i.Shape[k]
		}
	}
	var out []byte
	index := make([]int64, len(i.Shape))
	for range i.Elements() {
		at := int64(0)
		for k := range index {
			at += index[k] * strides[k]
		}
		element := slices.Clone(raw[at*size : (at+1)*size])
		if i.Order == tensor.Big {
			for ; len(element) > 0; element = element[unit:] {
				slices.Reverse(element[:unit])
				out = append(out, element[:unit]...)
			}
		}
		out = append(out, element...)
		for k := len(index) - 1; k >= 0; k-- {
			if index[k]++; index[k] < i.Shape[k] {
				break
			}
			index[k] = 0
		}
	}
	return out
}

// Files that NumPy wrote are written again byte for byte.
func TestNumPysFilesAreWrittenAgainByteForByte(t *testing.T) {
	same := map[string]bool{}
	for _, seed := range corpus.Valid("npy") {
		if seed.Recipe != nil {
			continue
		}
		b := account(t, nil)
		f, err := npy.Decode(b, bytes.NewReader(seed.Data), int64(len(seed.Data)))
		if err != nil {
			t.Errorf("%s: %v", seed.Name, err)
			continue
		}
		var out bytes.Buffer
		if err := npy.Encode(b, &out, &f.Infos[0], bytes.NewReader(data(t, f))); err != nil {
			t.Errorf("%s: %v", seed.Name, err)
			continue
		}
		same[seed.Name] = bytes.Equal(out.Bytes(), seed.Data)
	}
	// These two were written in a later version than they need, by request.
	for name, equal := range same {
		if forced := name == "header-2.npy" || name == "header-3.npy"; equal == forced {
			t.Errorf("%s: equal %v", name, equal)
		}
	}
}

func TestEachFindingIsMadeOnce(t *testing.T) {
	for name, want := range map[string][]string{
		"bf16.npy":        {"npy.bf16-void"},
		"f8-lost.npy":     {"npy.type-lost"},
		"f8-e5m2.npy":     {"npy.f8-e5m2"},
		"complex32.npy":   {"npy.type-unknown"},
		"long-header.npy": {"npy.long-header"},
		"f4-be.npy":       nil,
		"struct.npy":      nil,
	} {
		raw, err := os.ReadFile("../../corpus/valid/npy/" + name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := npy.Decode(account(t, nil), bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, finding := range f.Findings() {
			got = append(got, finding.Code)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		refuse := limits.Policy{RefuseFindings: []string{"*"}}.Budget(t.Context())
		defer refuse.Close()
		if _, err := npy.Decode(refuse, bytes.NewReader(raw), int64(len(raw))); (err != nil) != (want != nil) {
			t.Errorf("%s, all findings refused: %v", name, err)
		}
	}
}
