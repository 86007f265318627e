package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/anamnesis-go/anamnesis/crosscheck/values"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// said is this module's result for one file.
type said struct {
	Class   string   `json:"class"`
	Format  string   `json:"format"` // of what is accepted, or where the error lies
	Error   string   `json:"error,omitempty"`
	Tensors []listed `json:"tensors"`
	// Finds are the codes of the findings.
	Finds []string `json:"finds"`
	// WeightsOnly is yes, no or unsure; empty where there is no pickle of a checkpoint.
	WeightsOnly string `json:"weights_only,omitempty"`
	Why         string `json:"why,omitempty"`
}

// listed is a tensor: name, type, shape, and the digest of its elements in
// row-major order, little endian, which is nil for types without a name here.
type listed [4]any

const (
	pickleFormat  = "pickle"
	legacyPickles = 5
)

// model reads the file as a model, including all bodies.
func (s *said) model(b *limits.Budget, data []byte) {
	m, err := parser.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err == nil {
		defer m.Close()
		s.Format = m.Format()
		if err = parser.Verify(b, m); err == nil {
			err = s.list(b, m)
			for _, f := range m.Findings() {
				s.Finds = append(s.Finds, f.Code)
			}
		}
	}
	s.end(err)
}

func (s *said) end(err error) {
	s.Class = parser.ClassOf(err).String()
	if err == nil {
		s.Error = ""
		return
	}
	s.Error, s.Tensors = err.Error(), []listed{}
	if e, ok := errors.AsType[*wire.Error](err); ok && s.Format == "" {
		s.Format = e.Format
	}
}

func (s *said) list(b *limits.Budget, m tensor.Model) error {
	for i := range m.Tensors() {
		shape := append([]int64{}, i.Shape...)
		if i.DType == tensor.Unknown {
			s.Tensors = append(s.Tensors, listed{i.Name, "unknown", shape, nil})
			continue
		}
		raw, err := values.Body(b, m, i)
		if err != nil {
			return err
		}
		if g, ok := i.DType.Geometry(); ok && g.Elems > 1 && (i.Order == tensor.Big || i.Strides != nil) {
			// Of blocks whose bytes do not follow each other, only the names are compared.
			s.Tensors = append(s.Tensors, listed{i.Name, i.DType.String(), shape, nil})
			continue
		}
		if raw, err = values.Dense(raw, &i); err != nil {
			return err
		}
		if m.Format() == "pth" {
			oneNaN(i.DType, raw)
		}
		s.Tensors = append(s.Tensors, listed{i.Name, i.DType.String(), shape, values.Digest(raw)[:16]})
	}
	return nil
}

// oneNaN makes all NaN of 16-bit floats one: which of them a negative view has,
// torch decides by the number of elements.
func oneNaN(t tensor.DType, raw []byte) {
	infinity := uint16(0x7c00)
	switch t {
	case tensor.F16, tensor.C32:
	case tensor.BF16:
		infinity = 0x7f80
	default:
		return
	}
	for at := 0; at+2 <= len(raw); at += 2 {
		if binary.LittleEndian.Uint16(raw[at:])&0x7fff > infinity {
			binary.LittleEndian.PutUint16(raw[at:], 0x7fff)
		}
	}
}

// pickles asks for the verdicts of a checkpoint's pickles, and judges a file
// that is a pickle and no model.
func (s *said) pickles(b *limits.Budget, r io.ReaderAt, size int64) {
	head := make([]byte, min(size, pth.SniffLen))
	if _, err := r.ReadAt(head, 0); err != nil && err != io.EOF {
		return
	}
	kind, _ := pth.Sniff(head)
	if kind == pth.KindNone && s.Format != "detect" || kind != pth.KindNone && s.Class == "ok" && s.Format != "pth" {
		return
	}
	found := pth.Scan(b, r, size)
	switch {
	case kind == pth.KindPickle || kind == pth.KindNone:
		s.Format = pickleFormat
		s.end(found.Err)
	case s.Class == "ok" && found.Err != nil:
		// A scan must accept it too.
		s.end(found.Err)
	}
	taken := vm.Verdict{OK: true, Unsure: true}
	for _, p := range found.Pickles {
		for _, g := range p.Report.Graph.Globals() {
			if g.ID == vm.JoblibArray && s.Format == pickleFormat {
				s.Finds = append(s.Finds, "pickle.joblib")
			}
		}
		if p.Beside {
			continue // the loader does not read it
		}
		v := &p.Report.WeightsOnly
		taken.OK = taken.OK && v.OK
		taken.Unsure = taken.Unsure && (v.OK || v.Unsure)
		if !v.OK && len(v.Reasons) > 0 && s.Why == "" {
			s.Why = v.Reasons[0].Text
		}
	}
	switch {
	case len(found.Pickles) == 0, kind == pth.KindLegacy && s.Class != "ok" && len(found.Pickles) < legacyPickles:
		// Nothing is promised about values that are not reached.
	case taken.OK && (s.Class == "ok" || s.Class == "forbidden"):
		s.WeightsOnly = "yes"
	case taken.OK, taken.Unsure:
		s.WeightsOnly = "unsure"
	default:
		s.WeightsOnly = "no"
	}
}
