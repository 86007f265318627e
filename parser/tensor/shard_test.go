package tensor_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

func TestParseShardName(t *testing.T) {
	for name, want := range map[string]*tensor.ShardName{
		"model-00001-of-00003.safetensors":                {Prefix: "model", Total: "00003", Ext: ".safetensors", Number: 1, Count: 3},
		"model-00163-of-000163.safetensors":               {Prefix: "model", Total: "000163", Ext: ".safetensors", Number: 163, Count: 163},
		"pytorch_model-00002-of-00002.bin":                {Prefix: "pytorch_model", Total: "00002", Ext: ".bin", Number: 2, Count: 2},
		"diffusion_model.fp16-00001-of-00001.safetensors": {Prefix: "diffusion_model.fp16", Total: "00001", Ext: ".safetensors", Number: 1, Count: 1},
		"a-of-b-00001-of-00001.gguf":                      {Prefix: "a-of-b", Total: "00001", Ext: ".gguf", Number: 1, Count: 1},
		"model.safetensors":                               nil,
		"model-00001.safetensors":                         nil,
		"model-00000-of-00002.safetensors":                nil,
		"model-00003-of-00002.safetensors":                nil,
		"model-00001-of-00000.safetensors":                nil,
		"model-0000x-of-00002.safetensors":                nil,
		"model-+0001-of-00002.safetensors":                nil,
		"model-1-of-2.safetensors":                        nil,
		"model-0000000001-of-0000000002.safetensors":      nil,
		"-00001-of-00002.safetensors":                     nil,
		"00001-of-00002.safetensors":                      nil,
		"model-00001-of-00002":                            nil,
		"":                                                nil,
	} {
		got, ok := tensor.ParseShardName(name)
		if ok != (want != nil) {
			t.Errorf("%q: %v", name, ok)
			continue
		}
		if ok {
			if diff := cmp.Diff(*want, got); diff != "" {
				t.Errorf("%q: %s", name, diff)
			}
		}
	}
}

func TestSortShards(t *testing.T) {
	got, err := tensor.SortShards("x", []string{"d/m-00010-of-000011.bin", "d/m-00011-of-000011.bin", "d/m-00009-of-000011.bin", "d/m-00001-of-000011.bin",
		"d/m-00002-of-000011.bin", "d/m-00003-of-000011.bin", "d/m-00004-of-000011.bin", "d/m-00005-of-000011.bin", "d/m-00006-of-000011.bin",
		"d/m-00007-of-000011.bin", "d/m-00008-of-000011.bin"})
	if err != nil || got[0] != "d/m-00001-of-000011.bin" || got[10] != "d/m-00011-of-000011.bin" {
		t.Errorf("%v: %v", got, err)
	}
	for _, c := range []struct {
		names []string
		cause error
		text  string
	}{
		{nil, wire.ErrMissing, "x: a part is missing: no shards"},
		{[]string{"m-00001-of-00003.bin", "m-00003-of-00003.bin"}, wire.ErrMissing, `x: a part is missing: shard 2 of 3 beside "m-00001-of-00003.bin"`},
		{[]string{"m-00001-of-00001.bin", "n-00001-of-00001.bin"}, wire.ErrMismatch, `x: two statements of the file contradict each other: "n-00001-of-00001.bin" is not a shard of the set of "m-00001-of-00001.bin"`},
		{[]string{"m-00001-of-00001.bin", "m-0001-of-00001.bin"}, wire.ErrDuplicate, `x: duplicate: "m-00001-of-00001.bin" and "m-0001-of-00001.bin" are both shard 1`},
		{[]string{"m-00001-of-99999.bin"}, wire.ErrUnsupported, "x: not supported: 99999 shards, at most 4096 are read"},
	} {
		if _, err := tensor.SortShards("x", c.names); !errors.Is(err, c.cause) || err.Error() != c.text {
			t.Errorf("%v: %v", c.names, err)
		}
	}
}

func TestParseIndexName(t *testing.T) {
	for name, want := range map[string]string{
		"model.safetensors.index.json":                           "safetensors",
		"model.safetensors.index.fp16.json":                      "safetensors",
		"diffusion_pytorch_model.safetensors.index.json":         "safetensors",
		"diffusion_pytorch_model.safetensors.index.non_ema.json": "safetensors",
		"consolidated.safetensors.index.json":                    "safetensors",
		"model.fp16.safetensors.index.json":                      "safetensors",
		"pytorch_model.bin.index.json":                           "bin",
		"snapshots/rev.index/model.safetensors.index.json":       "safetensors",
		"model.safetensors":                                      "",
		"model.index.json":                                       "",
		"safetensors.index.json":                                 "",
		".index.json":                                            "",
		"config.json":                                            "",
		"model.safetensors.indexed.json":                         "",
		"model.safetensors.index.a.b.json":                       "",
		"model.safetensors.index":                                "",
		"folder.safetensors.index.json/config.json":              "",
	} {
		kind, ok := tensor.ParseIndexName(name)
		if ok != (want != "") || ok && kind != want {
			t.Errorf("%q: %q, %v", name, kind, ok)
		}
	}
}
