package fuzz_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/ggml"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/gguf/edit"
	"github.com/anamnesis-go/anamnesis/parser/keras"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/npz"
	"github.com/anamnesis-go/anamnesis/parser/onnx"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/tflite"
	"github.com/anamnesis-go/anamnesis/parser/zip"
	"github.com/anamnesis-go/anamnesis/quant/ggml/imatrix"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A format is a folder of the corpus and its decoder.
type format struct {
	name   string
	decode func(*limits.Budget, io.ReaderAt, int64) (opened, error)
	target *fuzz.Target // for formats with an encoder
}

// opened is what a decoder returns: a Model, or an archive.
type opened interface {
	Verify(*limits.Budget) error
	Close() error
	findings() []string
}

// Every format that has a decoder. A folder of the corpus that is not here
// fails a test.
var formats = []format{
	{name: "dcp", decode: of(decodeDCP)},
	{name: "deepspeed", decode: of(decodeDeepSpeed)},
	{name: "detect", decode: of(parser.Decode)},
	{name: "ggml", decode: of(ggml.Decode)},
	{name: "gguf", decode: of(gguf.Decode), target: &ggufTarget},
	{name: "hdf5", decode: openHDF5},
	{name: "imatrix", decode: openImportance},
	{name: "json", decode: openJSON},
	{name: "keras", decode: of(keras.Decode)},
	{name: "metadata", decode: openMetadata},
	{name: "npy", decode: of(npy.Decode), target: &npyTarget},
	{name: "npz", decode: of(npz.Decode), target: &npzTarget},
	{name: "onnx", decode: of(onnx.Decode)},
	{name: "pickle", decode: openPickle},
	{name: "pth", decode: of(pth.Decode), target: &pthTarget},
	{name: "read", decode: openAndRead},
	{name: "safetensors", decode: of(safetensors.Decode), target: &safetensorsTarget},
	{name: "scan", decode: openScanned},
	{name: "setting", decode: openSetting},
	{name: "stored", decode: openStored},
	{name: "tfbundle", decode: of(decodeTFBundle)},
	{name: "tflite", decode: of(tflite.Decode)},
	{name: "to-gguf", decode: asked(func(b *limits.Budget, m tensor.Model) error { return gguf.Encode(b, io.Discard, m, gguf.Options{}) })},
	{name: "to-npy", decode: asked(eachAsNPY)},
	{name: "to-safetensors", decode: asked(func(b *limits.Budget, m tensor.Model) error { return safetensors.Encode(b, io.Discard, m) })},
	{name: "wrap", decode: openWrap},
	{name: "zip", decode: openZip, target: &zipTarget},
}

type model struct{ tensor.Model }

// of adapts a format's decoder to the table.
func of[M tensor.Model](decode func(*limits.Budget, io.ReaderAt, int64) (M, error)) func(*limits.Budget, io.ReaderAt, int64) (opened, error) {
	return func(b *limits.Budget, r io.ReaderAt, size int64) (opened, error) {
		m, err := decode(b, r, size)
		if err != nil {
			return nil, err
		}
		return model{m}, nil
	}
}

func (m model) Verify(b *limits.Budget) error {
	if v, ok := m.Model.(tensor.Verifier); ok {
		return v.Verify(b)
	}
	return nil
}

// hasUnknown reports a tensor of a type without geometry, whose span may be as long as the
// file allows.
func hasUnknown(o opened) bool {
	m, ok := o.(model)
	if !ok {
		return false
	}
	for i := range m.Tensors() {
		if i.DType == tensor.Unknown {
			return true
		}
	}
	return false
}

func (m model) findings() []string { return codes(m.Findings()) }

func codes(found []tensor.Finding) []string {
	var out []string
	for _, f := range found {
		out = append(out, f.Code)
	}
	return out
}

type archive struct{ *zip.Archive }

func openZip(b *limits.Budget, r io.ReaderAt, size int64) (opened, error) {
	a, err := zip.Decode(b, r, size, zip.Options{})
	if err != nil {
		return nil, err
	}
	return archive{a}, nil
}

func (archive) Close() error       { return nil }
func (archive) findings() []string { return nil }

// A nothing is what a text comes to that is read, and from which no model follows.
type nothing struct{}

func (nothing) Verify(*limits.Budget) error { return nil }
func (nothing) Close() error                { return nil }
func (nothing) findings() []string          { return nil }

func openJSON(b *limits.Budget, r io.ReaderAt, size int64) (opened, error) {
	_, err := readTree(b, r, size)
	return nothing{}, err
}

// openMetadata reads keys and values in JSON, and lays out a file of them.
func openMetadata(b *limits.Budget, r io.ReaderAt, size int64) (opened, error) {
	text, err := strictjson.ReadAt(b, r, 0, size)
	if err != nil {
		return nil, err
	}
	meta, err := edit.Metadata(b, text)
	if err != nil {
		return nil, err
	}
	_, err = gguf.Layout(b, nil, meta, gguf.Options{})
	return nothing{}, err
}

// openImportance reads a matrix that says which columns of a weight matter.
func openImportance(b *limits.Budget, r io.ReaderAt, size int64) (opened, error) {
	_, err := imatrix.Read(b, r, size)
	return nothing{}, err
}

// openSetting reads one key and value, as an argument of the command gives them.
func openSetting(b *limits.Budget, r io.ReaderAt, size int64) (opened, error) {
	text, err := strictjson.ReadAt(b, r, 0, size)
	if err != nil {
		return nil, err
	}
	_, err = edit.Pair(b, text)
	return nothing{}, err
}

type pickle struct{ found tensor.Findings }

// openPickle reads a file that consists of one pickle, as its users do: notes are
// findings, and no byte may follow.
func openPickle(b *limits.Budget, r io.ReaderAt, size int64) (opened, error) {
	g, err := vm.Load(b, r, 0, size)
	if err != nil {
		return nil, err
	}
	var p pickle
	for _, n := range g.Notes() {
		if err := p.found.Add(b, "pickle", tensor.Finding{Code: n.Code, Off: n.Off, Text: n.Text}); err != nil {
			return nil, err
		}
	}
	if g.End() != size {
		return nil, wire.At("pickle", "", g.End(), wire.ErrTrailing)
	}
	return &p, nil
}

func (*pickle) Verify(*limits.Budget) error { return nil }
func (*pickle) Close() error                { return nil }
func (p *pickle) findings() []string        { return codes(p.found.All()) }

func formatOf(t testing.TB, name string) format {
	t.Helper()
	for _, f := range formats {
		if f.name == name {
			return f
		}
	}
	t.Fatalf("corpus folder %s: no decoder in the table of formats", name)
	return format{}
}

// policyOf returns the policy of a recipe.
func policyOf(t testing.TB, r *corpus.Recipe) limits.Policy {
	t.Helper()
	if r == nil || r.Policy == nil {
		return limits.Policy{}
	}
	p, err := limits.ParsePolicy(r.Policy)
	if err != nil {
		t.Fatalf("%s: policy: %v", r.Path(), err)
	}
	return p
}

// A file is one file of the corpus.
type file struct {
	format string
	name   string
	data   []byte
	recipe *corpus.Recipe // nil for a file that a library wrote
	policy limits.Policy
}

// hostile and valid return the files of the corpus; each is built once.
func hostile(t testing.TB, format string) []file {
	var out []file
	for _, r := range corpus.Hostile(format) {
		out = append(out, file{format, r.Name, r.Bytes(), &r, policyOf(t, &r)})
	}
	return out
}

func valid(t testing.TB, format string) []file {
	var out []file
	for _, s := range corpus.Valid(format) {
		out = append(out, file{format, s.Name, s.Data, s.Recipe, policyOf(t, s.Recipe)})
	}
	return out
}

func wholeCorpus(t testing.TB) []file {
	var out []file
	for _, f := range formats {
		out = append(append(out, hostile(t, f.name)...), valid(t, f.name)...)
	}
	return out
}

// offset returns the offset of an error, or wire.NoOffset.
func offset(err error) int64 {
	if placed, ok := errors.AsType[*wire.Error](err); ok {
		return placed.Off
	}
	return wire.NoOffset
}

// axis returns the axis that a limit error names.
func axis(err error) string {
	if l, ok := errors.AsType[*limits.Error](err); ok {
		return l.Axis.String()
	}
	return ""
}

// examine decodes and verifies. structure is the error of Decode; whole is that, or the
// error of Verify.
func examine(b *limits.Budget, f format, data []byte) (found []string, structure, whole error) {
	m, err := f.decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err, err
	}
	defer m.Close()
	whole = m.Verify(b) // adds findings
	return m.findings(), nil, whole
}
