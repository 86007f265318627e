package npz_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/npz"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/google/go-cmp/cmp"
)

// golden is one array as numpy.load gives it.
type golden struct {
	Name   string  `json:"name"`
	Str    string  `json:"str"`
	Shape  []int64 `json:"shape"`
	SHA256 string  `json:"sha256"` // of the values in C order, little-endian
}

func TestArchivesReadAsNumPyReadsThem(t *testing.T) {
	text, err := os.ReadFile("../../testdata/npz/expect.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][]golden
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, seed := range corpus.Valid("npz") {
		w, ok := want[seed.Name]
		if !ok {
			continue
		}
		seen++
		t.Run(seed.Name, func(t *testing.T) {
			f, err := npz.Decode(account(t, nil), bytes.NewReader(seed.Data), int64(len(seed.Data)))
			if err != nil {
				t.Fatal(err)
			}
			got := []golden{}
			for i := range f.Tensors() {
				g := golden{Name: i.Name, Str: i.Stored, Shape: append([]int64{}, i.Shape...)}
				if i.DType == tensor.BF16 {
					g.Str = "|V2" // NumPy forgets the order that ml_dtypes wrote
				}
				if f.Fields(i) != nil {
					g.Str = "|V8" // NumPy's name of a type with fields
				} else {
					g.SHA256 = values(t, f, i)
				}
				got = append(got, g)
			}
			for k := range w {
				if strings.HasPrefix(w[k].Str, "|V8") {
					w[k].SHA256 = ""
				}
			}
			if diff := cmp.Diff(w, got); diff != "" {
				t.Error(diff)
			}
			if err := f.Verify(account(t, nil)); err != nil {
				t.Error(err)
			}
		})
	}
	if seen != len(want) || seen < 10 {
		t.Errorf("%d of %d files seen", seen, len(want))
	}
}

// values is the digest of the elements in C order, little-endian.
func values(t testing.TB, f *npz.File, i tensor.Info) string {
	t.Helper()
	body, err := f.Body(account(t, nil), i)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	raw, err := io.ReadAll(body)
	if err != nil || int64(len(raw)) != i.Span.Len {
		t.Fatalf("%q: %d bytes, %v", i.Name, len(raw), err)
	}
	g, _ := i.DType.Geometry()
	size := int64(g.Bytes)
	h := sha256.New()
	for k := range i.Elements() {
		at := k
		if i.Strides != nil { // two dimensions are enough here
			at = k/i.Shape[1]*i.Strides[0] + k%i.Shape[1]*i.Strides[1]
		}
		element := bytes.Clone(raw[at*size : (at+1)*size])
		if i.Order == tensor.Big {
			for a, z := 0, len(element)-1; a < z; a, z = a+1, z-1 {
				element[a], element[z] = element[z], element[a]
			}
		}
		h.Write(element)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func TestUnusualArchivesHaveFindings(t *testing.T) {
	for name, want := range map[string][]string{
		"stored.npz": nil, "case.npz": {"npz.case"}, "with-readme.npz": {"npz.member"}, "bf16.npz": {"npy.bf16-void"}, "names.npz": nil,
	} {
		raw, err := os.ReadFile("../../corpus/valid/npz/" + name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := npz.Decode(account(t, nil), bytes.NewReader(raw), int64(len(raw)))
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
		_, err = npz.Decode(account(t, []byte(`{"refuse_findings": ["*"]}`)), bytes.NewReader(raw), int64(len(raw)))
		if refused := wire.ClassOf(err) == wire.Forbidden; refused != (want != nil) {
			t.Errorf("%s, all findings refused: %v", name, err)
		}
	}
}
