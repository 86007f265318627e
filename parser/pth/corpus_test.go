package pth_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// policy is the one that a recipe asks for.
func policy(t testing.TB, raw json.RawMessage) limits.Policy {
	t.Helper()
	if raw == nil {
		return limits.Policy{}
	}
	p, err := limits.ParsePolicy(raw)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Each hostile recipe is refused at its place, by Decode or, if it says so, only by Verify; a scan
// refuses it too.
func TestHostileRecipesAreRefused(t *testing.T) {
	for _, r := range corpus.Hostile("pth") {
		t.Run(r.Name, func(t *testing.T) {
			b := policy(t, r.Policy).Budget(t.Context())
			defer b.Close()
			data := r.Bytes()
			f, err := pth.Decode(b, bytes.NewReader(data), int64(len(data)))
			if structure := r.Depth == corpus.Structure; structure != (err != nil) {
				t.Fatalf("depth %s, and Decode says: %v", r.Depth, err)
			}
			if err == nil {
				err = f.Verify(b)
			}
			off := int64(wire.NoOffset)
			if e, ok := errors.AsType[*wire.Error](err); ok {
				off = e.Off
			}
			got, want := fmt.Sprintf("%v at %#x", wire.ClassOf(err), off), fmt.Sprintf("%s at %#x", r.Expect, r.Offset)
			if got != want {
				t.Errorf("%s, want %s: %v", got, want, err)
			}
			again := policy(t, r.Policy).Budget(t.Context())
			defer again.Close()
			scan := pth.Scan(again, bytes.NewReader(data), int64(len(data)))
			if r.Depth == corpus.Structure && scan.Err == nil && r.Name != "plain-pickle" {
				t.Errorf("scan accepts it")
			}
			if (scan.File == nil) != (scan.Err != nil) && r.Name != "plain-pickle" {
				t.Errorf("a report with error %v has file %v", scan.Err, scan.File)
			}
		})
	}
}

// shown is a tensor with its values, for the recipes of valid files.
func shown(t testing.TB, f *pth.File, b *limits.Budget) map[string]string {
	t.Helper()
	out := map[string]string{}
	for i := range f.Tensors() {
		out[i.Name] = fmt.Sprintf("%s %v %v %x", i.TypeName(), i.Shape, i.Order, dense(t, f, b, &i))
	}
	return out
}

// Files of forms that torch no longer writes have the right tensors.
func TestOldAndRareCheckpointsAreRead(t *testing.T) {
	const square = "F32 [2 2] little 0000803f000000400000404000008040"
	const bigSquare = "F32 [2 2] big 3f800000400000004040000040800000"
	w := map[string]string{"w": square}
	for name, want := range map[string]map[string]string{
		"pytorch-1.6":       w,
		"version-in-data":   w,
		"packed-again":      w,
		"extra-member":      w,
		"legacy":            w,
		"legacy-big-endian": w,
		"legacy-protocol-1": w,
		"variable":          w,
		"from-cpu":          w,
		"from-numpy":        w,
		"xla":               w,
		"big-endian":        {"w": bigSquare},
		"slots":             {"w": square, "w.mask": square},
		"expanded":          {"w": "F32 [5 2] little " + strings.Repeat("0000803f00000040", 5)},
		"legacy-view":       {"v": "F32 [2] little 0000803f00000040", "w": "F32 [2] little 0000404000008040"},
		"csr-1.12": {
			"s.crow_indices": "I64 [3] little " + "0000000000000000" + "0100000000000000" + "0200000000000000",
			"s.col_indices":  "I64 [2] little " + "0000000000000000" + "0100000000000000", "s.values": "F32 [2] little 0000803f00000040",
		},
		"typed-keys": {
			"1.5": square, "1e+300": square, "None": square, "True": square, "-3": square, "(1, 'x')": square, "316059037807746189465": square,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range corpus.Valid("pth") {
				if s.Name != name+".txt" {
					continue
				}
				f, b := decode(t, s.Data)
				if diff := cmp.Diff(want, shown(t, f, b)); diff != "" {
					t.Error(diff)
				}
				return
			}
			t.Error("no such recipe")
		})
	}
	for _, s := range corpus.Valid("pth") {
		if s.Recipe != nil && s.Recipe.Policy == nil {
			f, b := decode(t, s.Data)
			if err := f.Verify(b); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
	}
}

// Tensors of one storage state that they share it; views that change the bytes do not.
func TestSharedStoragesHaveOneName(t *testing.T) {
	storages := func(name string) map[string][]string {
		f, _ := decode(t, checkpoint(t, name))
		out := map[string][]string{}
		for i := range f.Tensors() {
			out[i.Storage] = append(out[i.Storage], i.Name)
		}
		return out
	}
	want := map[string][]string{"data/0": {"wte.weight", "lm_head.weight", "row", "col", "block", "all"}}
	if diff := cmp.Diff(want, storages("tied.pt")); diff != "" {
		t.Error(diff)
	}
	want = map[string][]string{
		"conj:data/0": {"conj", "part"}, "data/0": {"plain"}, "neg:data/1": {"neg", "steps"}, "neg:data/2": {"int"}, "conj+neg:data/3": {"both"},
	}
	if diff := cmp.Diff(want, storages("conj-neg.pt")); diff != "" {
		t.Error(diff)
	}
}

// A file of several protocols and layouts has the same tensors.
func TestProtocolsAndLayoutsAgree(t *testing.T) {
	list := func(name string) []string {
		f, b := decode(t, checkpoint(t, name))
		var out []string
		for i := range f.Tensors() {
			out = append(out, fmt.Sprintf("%s %s %v %x", i.Name, i.TypeName(), i.Shape, dense(t, f, b, &i)))
		}
		return out
	}
	for _, base := range []string{"checkpoint", "collections", "names", "numpy", "sparse-coo"} {
		want := list(base + ".pt")
		for _, other := range []string{"-p3", "-p4", "-p5", "-legacy-p4"} {
			if diff := cmp.Diff(want, list(base+other+".pt")); diff != "" {
				t.Errorf("%s%s: %s", base, other, diff)
			}
		}
	}
	f, _ := decode(t, checkpoint(t, "tied-legacy.pt"))
	if f.Layout() != pth.Legacy || f.Order() != tensor.Little || f.Layout().String() != "legacy" {
		t.Error(f.Layout(), f.Order())
	}
	f, _ = decode(t, checkpoint(t, "tied.pt"))
	if f.Layout() != pth.Archive || f.Layout().String() != "zip" || f.Graph().Protocol() != 2 {
		t.Error(f.Layout())
	}
}

// A slice of a published model, with what torch finds in it.
func TestPublishedModelReadsAsTorchReadsIt(t *testing.T) {
	data := fixtures.Read(t, "pth/algzoo_rnn_small.pth")
	var want struct {
		Tensors []struct {
			Name    string
			Shape   []int64
			DType   string
			DataHex string `json:"data_hex"`
		}
	}
	if err := json.Unmarshal(fixtures.Read(t, "pth/algzoo_rnn_small_reference.json"), &want); err != nil {
		t.Fatal(err)
	}
	f, b := decode(t, data)
	if err := f.Verify(b); err != nil {
		t.Fatal(err)
	}
	got := shown(t, f, b)
	if len(want.Tensors) == 0 || len(got) != len(want.Tensors) {
		t.Fatalf("%d tensors, want %d", len(got), len(want.Tensors))
	}
	for _, w := range want.Tensors {
		if text := fmt.Sprintf("%s %v little %s", w.DType, w.Shape, w.DataHex); got[w.Name] != text {
			t.Errorf("%s is %s, want %s", w.Name, got[w.Name], text)
		}
	}
}
