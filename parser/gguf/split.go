package gguf

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// The keys of a file of a split model, which llama-gguf-split writes as u16, u16 and i32.
// Numbers start from 0 in keys and from 1 in file names.
const (
	splitNoKey      = "split.no"
	splitCountKey   = "split.count"
	splitTensorsKey = "split.tensors.count"
)

// IsSplitName parses a file name of the form PREFIX-00001-of-00003.gguf: the prefix, the
// file's number from 1, and the number of files.
func IsSplitName(name string) (prefix string, no, count int, ok bool) {
	stem, ok := strings.CutSuffix(path.Base(name), ".gguf")
	const tail = len("-00001-of-00003")
	if !ok || len(stem) <= tail {
		return "", 0, 0, false
	}
	prefix, stem = stem[:len(stem)-tail], stem[len(stem)-tail:]
	if stem[0] != '-' || stem[6:10] != "-of-" || !isNumber(stem[1:6]) || !isNumber(stem[10:]) {
		return "", 0, 0, false
	}
	no, _ = strconv.Atoi(stem[1:6])
	count, _ = strconv.Atoi(stem[10:])
	if no < 1 || no > count {
		return "", 0, 0, false
	}
	return prefix, no, count, true
}

// SplitName returns the name of one file of a split model.
func SplitName(prefix string, no, count int) string {
	return fmt.Sprintf("%s-%05d-of-%05d.gguf", prefix, no, count)
}

// OpenSplit opens all files of a split model in one folder as one model, given the name
// of any of them. The keys of the files must agree with their names: number, count, and
// the total number of tensors.
func OpenSplit(b *limits.Budget, fsys fs.FS, name string) (*tensor.Sharded, error) {
	prefix, _, count, ok := IsSplitName(name)
	if !ok {
		return nil, wire.At(Format, wire.Quote(name), wire.NoOffset, wire.ErrUsage.Errorf("not the name of a file of a split model"))
	}
	files, err := limits.Make[string](b, count)
	if err == nil {
		err = b.Hold(int64(count) * int64(len(name)))
	}
	if err != nil {
		return nil, wire.At(Format, wire.Quote(name), wire.NoOffset, err)
	}
	for i := range files {
		files[i] = SplitName(prefix, i+1, count)
	}
	parts := 0
	open := func(b *limits.Budget, h *tensor.Handle) (tensor.Model, error) {
		f, err := decode(b, h, h.Size, decodeMode{part: true})
		if err != nil {
			return nil, err
		}
		if err := f.agrees(parts, count); err != nil {
			return nil, err
		}
		parts++
		f.Closer = h
		return f, nil
	}
	s, _, err := tensor.OpenShards(b, fsys, path.Dir(name), files, Format, open)
	if err != nil {
		return nil, err
	}
	for i, m := range s.Parts {
		if err := m.(*File).splitTensors(s.Len(), i == 0 && count > 1); err != nil {
			s.Close()
			return nil, inFile(files[i], err)
		}
	}
	return s, nil
}

// inFile adds the name of a file of the set to an error.
func inFile(name string, err error) error {
	where := "shard " + wire.Quote(name)
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return &wire.Error{Format: Format, Where: where + ", " + e.Where, Off: e.Off, Err: e.Err}
	}
	return wire.At(Format, where, wire.NoOffset, err)
}

// agrees compares the keys of the i-th file of count with its name.
func (f *File) agrees(i, count int) error {
	for _, want := range [...]struct {
		key   string
		value int
	}{{splitNoKey, i}, {splitCountKey, count}} {
		p := f.find(want.key)
		where := "key " + wire.Quote(want.key)
		if p == nil && count == 1 {
			continue // converters number a single file without any key
		}
		if p == nil {
			return wire.At(Format, where, wire.NoOffset, wire.ErrMissing.WithRule("gguf.split-key-missing").Errorf("but the file's name says %d", want.value))
		}
		if !p.kind.integer() || wholeNumber(p.kind, p.num) != int64(want.value) {
			return wire.At(Format, where, p.off, wire.ErrMismatch.WithRule("gguf.split-key-differs").Errorf("is %s, but the file's name says %d", p.show(), want.value))
		}
	}
	return nil
}

// show returns a value for messages.
func (p *pair) show() string {
	if p.kind == KindString || p.kind == KindArray {
		return p.typeName()
	}
	return fmt.Sprint(scalarValue(p.kind, p.num))
}

// splitTensors compares the total number of tensors with what this file states. The first
// file must state it.
func (f *File) splitTensors(total int, must bool) error {
	p := f.find(splitTensorsKey)
	if p == nil {
		if must {
			return wire.At(Format, "key "+wire.Quote(splitTensorsKey), wire.NoOffset, wire.ErrMissing.WithRule("gguf.split-key-missing"))
		}
		return nil
	}
	if !p.kind.integer() || wholeNumber(p.kind, p.num) != int64(total) {
		return wire.At(Format, "key "+wire.Quote(splitTensorsKey), p.off,
			wire.ErrMismatch.WithRule("gguf.split-key-differs").Errorf("is %s, but the files hold %d tensors", p.show(), total))
	}
	return nil
}
