package fuzz_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
)

// Two good shards, beside an untrusted index.
const (
	firstShard  = "model-00001-of-00002.safetensors"
	secondShard = "model-00002-of-00002.safetensors"
)

var shards = fstest.MapFS{
	firstShard:  {Data: safetensorsFrom([]byte("\x04" + `{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}`))},
	secondShard: {Data: safetensorsFrom([]byte("\x01" + `{"__metadata__":{"format":"pt"},"c":{"dtype":"I8","shape":[],"data_offsets":[0,1]}}`))},
	"sub/x":     {Data: []byte("x")},
}

// withIndex returns a folder of the shards and an index.
func withIndex(r io.ReaderAt, size int64) (fstest.MapFS, error) {
	data := make([]byte, size)
	if err := wire.ReadFull(r, data, 0); err != nil {
		return nil, wire.At("index", "", 0, err)
	}
	folder := fstest.MapFS{"model.safetensors.index.json": {Data: data}}
	for name, f := range shards {
		folder[name] = f
	}
	return folder, nil
}

var indexTarget = fuzz.Target{
	Read: func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
		folder, err := withIndex(r, size)
		if err != nil {
			return fuzz.Answer{}, err
		}
		m, err := safetensors.OpenIndex(b, folder, "model.safetensors.index.json")
		if placed, ok := errors.AsType[*wire.Error](err); ok && strings.HasPrefix(placed.Where, "shard ") {
			// The offset is one of the shard, which may be longer than the index.
			elsewhere := *placed
			elsewhere.Off = wire.NoOffset
			err = &elsewhere
		}
		if err != nil {
			return fuzz.Answer{}, err
		}
		defer m.Close()
		return fuzz.Describe(b, m, size)
	},
}

// FuzzIndex tests the reader of sharded models with any index.
func FuzzIndex(f *testing.F) {
	for _, s := range []string{
		`{"metadata":{"total_size":5},"weight_map":{"a":"` + firstShard + `","b":"` + firstShard + `","c":"` + secondShard + `"}}`,
		`{"weight_map":{"a":"` + firstShard + `"},"metadata":{"total_size":1e3,"d.w":"c","x":[{}]}}`,
		`{"metadata":null,"weight_map":{"c":"` + secondShard + `"}}`,
		`{"weight_map":{"a":"` + secondShard + `"}}`, `{"weight_map":{"z":"` + firstShard + `"}}`, `{"weight_map":{"a":"../` + firstShard + `"}}`,
		`{"weight_map":{"a":"sub"}}`, `{"weight_map":{"a":"sub/x"}}`, `{"weight_map":{"a":"none"}}`, `{"weight_map":{"a":""}}`, `{"weight_map":{"a":"."}}`,
		`{"weight_map":{}}`, `{"weight_map":[]}`, `{}`, ``, `{"weight_map":{"a":"\u006dodel-00001-of-00002.safetensors"}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { indexTarget.Check(t, data) })
}
