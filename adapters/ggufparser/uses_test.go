package gguf_parser_test

import (
	"encoding/json"
	"testing"

	theirs "github.com/gpustack/gguf-parser-go"

	ours "github.com/anamnesis-go/anamnesis/adapters/ggufparser"
)

// What programs call, as they call it: each compiles with the import changed, and gets what
// the library gives.

// LocalAI: the context of a run and its memory, a template, tokens of the vocabulary.
func TestWhatLocalAICalls(t *testing.T) {
	const path = "../../testdata/demo/tiny.gguf"
	f, err := ours.ParseGGUFFile(path)
	if err != nil {
		t.Fatal(err)
	}
	g, err := theirs.ParseGGUFFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if f.Metadata() != g.Metadata() || f.Architecture().Architecture != g.Architecture().Architecture {
		t.Error("other metadata")
	}
	if a, b := f.Tokenizer(), g.Tokenizer(); a.EOSTokenID != b.EOSTokenID || a.BOSTokenID != b.BOSTokenID {
		t.Error("other tokens")
	}
	_, found := f.Header.MetadataKV.Get("tokenizer.chat_template")
	if _, want := g.Header.MetadataKV.Get("tokenizer.chat_template"); found != want {
		t.Error("a template is found in one of them")
	}
	sum := func(e ours.LLaMACppRunEstimate) (total uint64) {
		for _, v := range e.Summarize(true, 0, 0).Items[0].VRAMs {
			total += uint64(v.NonUMA)
		}
		return total
	}
	a := f.EstimateLLaMACppRun(ours.WithLLaMACppContextSize(int32(32)), ours.WithLLaMACppOffloadLayers(99999999))
	b := g.EstimateLLaMACppRun(theirs.WithLLaMACppContextSize(int32(32)), theirs.WithLLaMACppOffloadLayers(99999999))
	if sum(a) == 0 || sum(a) != sum(b) || f.EstimateLLaMACppRun().ContextSize != g.EstimateLLaMACppRun().ContextSize {
		t.Errorf("%d bytes of memory, %d by the library", sum(a), sum(b))
	}
	// Its tests make files by hand.
	made := &ours.GGUFFile{Header: ours.GGUFHeader{MetadataKV: ours.GGUFMetadataKVs{
		{Key: "general.architecture", ValueType: ours.GGUFMetadataValueTypeString, Value: "llama"},
	}}}
	if kv, ok := made.Header.MetadataKV.Get("general.architecture"); !ok || kv.ValueString() != "llama" {
		t.Error("a file made by hand has no architecture")
	}
}

// Docker's model runner: shards by their names, every kind of value, the memory of a device.
func TestWhatModelRunnerCalls(t *testing.T) {
	const shard = "model-00001-of-00002.gguf"
	if !ours.IsShardGGUFFilename(shard) || len(ours.CompleteShardGGUFFilename(shard)) != 2 || ours.ShardGGUFFilenameRegex == nil {
		t.Error("the name of a shard is none")
	}
	f, err := ours.ParseGGUFFile("../../testdata/demo/tiny.gguf")
	if err != nil {
		t.Fatal(err)
	}
	var kind ours.GGUFFileType = f.Metadata().FileType
	if kind.String() == "" || f.Metadata().Parameters.String() == "" || f.Metadata().Size.String() == "" {
		t.Error("a number has no text")
	}
	for _, kv := range f.Header.MetadataKV {
		switch kv.ValueType {
		case ours.GGUFMetadataValueTypeArray:
			var list ours.GGUFMetadataKVArrayValue = kv.ValueArray()
			if int(list.Len) != len(list.Array) {
				t.Errorf("%s: %d of %d", kv.Key, len(list.Array), list.Len)
			}
		case ours.GGUFMetadataValueTypeString:
			_ = kv.ValueString()
		case ours.GGUFMetadataValueTypeUint32:
			_ = kv.ValueUint32()
		case ours.GGUFMetadataValueTypeFloat32:
			_ = kv.ValueFloat32()
		case ours.GGUFMetadataValueTypeBool, ours.GGUFMetadataValueTypeUint8, ours.GGUFMetadataValueTypeInt8, ours.GGUFMetadataValueTypeUint16,
			ours.GGUFMetadataValueTypeInt16, ours.GGUFMetadataValueTypeInt32, ours.GGUFMetadataValueTypeUint64, ours.GGUFMetadataValueTypeInt64,
			ours.GGUFMetadataValueTypeFloat64:
		default:
			t.Errorf("%s: type %d", kv.Key, kv.ValueType)
		}
	}
	e := f.EstimateLLaMACppRun(ours.WithLLaMACppContextSize(4096), ours.WithLLaMACppLogicalBatchSize(2048), ours.WithLLaMACppOffloadLayers(100))
	var device ours.LLaMACppRunDeviceUsage = e.Devices[len(e.Devices)-1]
	if uint64(device.Footprint)+uint64(device.Weight.Compute)+uint64(device.KVCache.Key)+uint64(device.Computation.Output) == 0 {
		t.Error("a device needs nothing")
	}
}

// syft: the header alone, and a hash over its pairs as JSON.
func TestWhatSyftCalls(t *testing.T) {
	const path = "../../testdata/demo/tiny.gguf"
	f, err := ours.ParseGGUFFile(path, ours.SkipLargeMetadata(), ours.HeaderOnly())
	if err != nil {
		t.Fatal(err)
	}
	g, err := theirs.ParseGGUFFile(path, theirs.SkipLargeMetadata())
	if err != nil {
		t.Fatal(err)
	}
	var pairs ours.GGUFMetadataKVs = f.Header.MetadataKV
	a, err := json.Marshal(pairs)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := json.Marshal(g.Header.MetadataKV); string(a) != string(b) {
		t.Errorf("%s\nthe library: %s", a, b)
	}
	if f.Header.Version != g.Header.Version || f.Header.TensorCount != g.Header.TensorCount || f.Metadata().FileTypeDescriptor != g.Metadata().FileTypeDescriptor {
		t.Error("another header")
	}
}
