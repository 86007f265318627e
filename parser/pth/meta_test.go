package pth_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/anamnesis-go/anamnesis/parser/pth"
)

// metadata returns the metadata of a file by name, and fails for a duplicate name.
func metadata(t *testing.T, name string) map[string]any {
	t.Helper()
	f, _ := decode(t, checkpoint(t, name))
	out := map[string]any{}
	for k, v := range f.Meta() {
		if _, twice := out[k]; twice {
			t.Errorf("%q appears twice", k)
		}
		out[k] = v
	}
	return out
}

// part is the entries under a prefix.
func part(all map[string]any, prefix string) map[string]any {
	out := map[string]any{}
	for k, v := range all {
		if strings.HasPrefix(k, prefix) {
			out[k] = v
		}
	}
	return out
}

// Values other than tensors are metadata, as generate.py wrote them.
func TestMetadataHasEveryOtherLeaf(t *testing.T) {
	all := metadata(t, "checkpoint.pt")
	want := map[string]any{
		"epoch": int64(3), "loss": 0.25, "note": "café 模型", "done": false, "best": nil, "seed": "1180591620717411303424",
		"config.layers.0": int64(3), "config.layers.1": int64(4), "config.layers.2": int64(2), "config.act.0": "relu", "config.act.1": 1.5, "config.tags.0": "a",
	}
	got := part(all, "config")
	for _, k := range []string{"epoch", "loss", "note", "done", "best", "seed"} {
		got[k] = all[k]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	group := part(all, "optimizer.param_groups.0.")
	for k, v := range map[string]any{"lr": 0.0001, "betas.0": 0.9, "betas.1": 0.999, "eps": 1e-8, "weight_decay": int64(0), "amsgrad": false, "fused": nil} {
		if diff := cmp.Diff(v, group["optimizer.param_groups.0."+k], cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Errorf("%s: %s", k, diff)
		}
	}
	if len(part(all, "state_dict")) != 0 {
		t.Error("the versions of torch's modules are listed")
	}
}

func TestMetadataOfCollections(t *testing.T) {
	for _, name := range []string{"collections.pt", "collections-p3.pt", "collections-p5.pt", "collections-legacy-p4.pt"} {
		got := metadata(t, name)
		sets := map[any]bool{got["set.0"]: true, got["set.1"]: true}
		delete(got, "set.0")
		delete(got, "set.1")
		want := map[string]any{
			"dd.a": int64(1), "counter.a": int64(2), "counter.b": int64(1), "deque.0": int64(1),
			"bytes": pth.Bytes("ab\xff"), "bytearray": pth.Bytes("zz"), "complex": complex(1, 2),
			"empty.0": []any{}, "empty.1": []any{}, "empty.2": []any{}, "empty.3": "", "empty.4": pth.Bytes(""),
		}
		if diff := cmp.Diff(want, got); diff != "" || !sets[int64(1)] || !sets[int64(2)] {
			t.Errorf("%s: %v %s", name, sets, diff)
		}
	}
}

func TestMetadataOfTorchValues(t *testing.T) {
	want := map[string]any{
		"size": []any{int64(1), int64(2)}, "device": "cpu", "dtype": "torch.float16", "layout": "torch.sparse_csr",
		"qscheme": "torch.per_tensor_affine", "meta": pth.Hollow{Class: "torch.Tensor", DType: "torch.float32", Shape: []int64{2, 3}},
	}
	if diff := cmp.Diff(want, metadata(t, "torch-values.pt")); diff != "" {
		t.Error(diff)
	}
	want = map[string]any{"s": pth.Sparse{Layout: "torch.sparse_coo", Shape: []int64{4, 4}, Coalesced: true}}
	if diff := cmp.Diff(want, metadata(t, "sparse-coo.pt")); diff != "" {
		t.Error(diff)
	}
	want = map[string]any{"s": pth.Sparse{Layout: "torch.sparse_bsc", Shape: []int64{4, 4}}}
	if diff := cmp.Diff(want, metadata(t, "sparse-bsc.pt")); diff != "" {
		t.Error(diff)
	}
	want = map[string]any{"q.qscheme": "torch.per_tensor_affine", "q.scale": 0.05, "q.zero_point": int64(3)}
	if diff := cmp.Diff(want, metadata(t, "quantized-tensor-qint8.pt")); diff != "" {
		t.Error(diff)
	}
	want = map[string]any{"q.qscheme": "torch.per_channel_affine", "q.axis": int64(0)}
	if diff := cmp.Diff(want, metadata(t, "quantized-channel-qint8.pt")); diff != "" {
		t.Error(diff)
	}
}

// NumPy's scalars become numbers, its arrays keep type, shape and bytes.
func TestMetadataOfNumPy(t *testing.T) {
	for _, name := range []string{"numpy.pt", "numpy-p3.pt", "numpy-p4.pt", "numpy-p5.pt", "numpy-legacy-p4.pt"} {
		all := metadata(t, name)
		got := map[string]any{}
		for k, v := range all {
			if !strings.HasPrefix(k, "rng") {
				got[k] = v
			}
		}
		want := map[string]any{
			"scalar": 3.5, "int": int64(-2), "flag": true, "half": pth.Array{DType: "<f2", Data: "\x008"}, "dtype": "<f4",
			"array":   pth.Array{DType: "<f4", Shape: []int64{2, 3}, Data: "\x00\x00\x00\x00\x00\x00\x80?\x00\x00\x00@\x00\x00@@\x00\x00\x80@\x00\x00\xa0@"},
			"fortran": pth.Array{DType: "<i8", Shape: []int64{2, 3}, Fortran: true, Data: words(0, 3, 1, 4, 2, 5)},
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		rng, _ := all["rng.1"].(pth.Array)
		if all["rng.0"] != "MT19937" || rng.DType != "<u4" || len(rng.Data) != 4*624 || all["rng.2"] != int64(624) {
			t.Errorf("%s: rng %v %v, %d bytes", name, all["rng.0"], rng.DType, len(rng.Data))
		}
	}
}

func words(list ...byte) string {
	var out strings.Builder
	for _, n := range list {
		out.WriteByte(n)
		out.WriteString(strings.Repeat("\x00", 7))
	}
	return out.String()
}

// The iteration over metadata can stop at any entry.
func TestMetadataIterationMayStopAnywhere(t *testing.T) {
	for _, name := range []string{"checkpoint.pt", "quantized-channel-qint8.pt", "torch-values.pt", "numpy.pt", "sparse-coo.pt"} {
		f, _ := decode(t, checkpoint(t, name))
		total := 0
		for range f.Meta() {
			total++
		}
		for most := 1; most <= total; most++ {
			n := 0
			for k := range f.Meta() {
				if n++; n == most {
					break
				}
				_ = fmt.Sprint(k)
			}
			if n != most {
				t.Errorf("%s: %d entries, want %d", name, n, most)
			}
		}
	}
}
