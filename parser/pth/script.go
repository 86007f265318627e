package pth

import (
	"fmt"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// TorchScript keeps a module's tensors in data.pkl, as torch.save does, under objects of its own
// classes, and those that its code names in constants.pkl. Both are read. Its code is judged by the
// operators in it (package torchcode), and what does more than compute is a finding. With
// [QuirkTensorsOnly] the code is not looked at.

// isCode reports whether a record is part of a program besides its tensors, as
// torch.jit.save writes it: code and what helps to find errors in it, constants, the bytecode of
// mobile runtimes, examples of inputs, files that the caller added.
func isCode(rest string) bool {
	switch {
	case rest == recConstants, rest == "bytecode.pkl", rest == "mobile_debug_handles.pkl", rest == "traced_inputs.pkl":
		return true
	}
	for _, dir := range [...]string{"code/", recConstantsData, "traced_inputs/", "extra/"} {
		if strings.HasPrefix(rest, dir) {
			return true
		}
	}
	return false
}

// constants adds the tensors of constants.pkl, under the names that the code has for them:
// CONSTANTS.c0 is the first.
func (d *decoder) constants() error {
	a := d.out.archive
	if err := d.unreadNote(wire.NoOffset, fmt.Sprintf("a TorchScript program: %d records of code and constants, which torch.jit.load runs, and nothing here does", len(a.code))); err != nil {
		return err
	}
	if d.judged {
		if err := d.judgeProgram(a); err != nil {
			return err
		}
	}
	of, err := d.constantRecords(a)
	if err != nil || of.pickle < 0 {
		return err
	}
	in := &decoder{r: d.r, size: d.size, b: d.b, stage: stGraph, steps: d.b.Steps(), tensorsOnly: true, judged: d.judged, out: &File{File: tensor.File{Name: format, Source: d.r}, archive: of, order: a.order}}
	if in.st, err = archiveStores(of); err != nil {
		return err
	}
	for in.stage != stDone {
		if err := in.step(); err != nil {
			return err
		}
	}
	if d.judged {
		if err := d.judgeGlobals(recConstants, in.out.graph); err != nil {
			return err
		}
	}
	return d.join(in.out)
}

// constantRecords returns the archive as that of the constants: their pickle, which is negative if
// there are none, and their data.
func (d *decoder) constantRecords(a *archive) (*archive, error) {
	of := &archive{Archive: a.Archive, b: a.b, prefix: a.prefix, main: recConstants, dir: recConstantsData, pickle: -1, order: a.order}
	var err error
	for _, i := range a.code {
		rest := a.Members[i].Name[len(a.prefix):]
		if rest == recConstants {
			of.pickle = int(i)
		} else if strings.HasPrefix(rest, recConstantsData) {
			if of.data, err = limits.Append(d.b, of.data, i); err != nil {
				return nil, a.fail(int(i), err)
			}
		}
	}
	if of.pickle < 0 {
		return of, nil
	}
	if m := &a.Members[of.pickle]; m.Method != 0 {
		return nil, a.fail(of.pickle, wire.ErrUnsupported.WithRule("pth.deflated").Errorf("deflated constants"))
	}
	if of.keys, err = wire.NewNameSet(d.b, len(of.data), of.key); err != nil {
		return nil, err
	}
	for k := range of.data {
		if _, _, err := of.keys.Add(k); err != nil {
			return nil, err
		}
	}
	return of, nil
}

// join adds the tensors of the constants to those of the module.
func (d *decoder) join(c *File) error {
	f := d.out
	for _, s := range c.sparse {
		s.first += len(f.Infos)
		var err error
		if f.sparse, err = limits.Append(d.b, f.sparse, s); err != nil {
			return err
		}
	}
	for _, i := range c.Infos {
		if strings.HasPrefix(i.Storage, inPickle) {
			return fail(recConstants, i.Span.Off, wire.ErrUnsupported.WithRule("pth.not-torch-archive").Errorf("a constant in the pickle itself"))
		}
		if err := d.b.Alloc(int64(len(constantName) + len(i.Name))); err != nil {
			return err
		}
		i.Name = constantName + i.Name
		var err error
		if f.Infos, err = limits.Append(d.b, f.Infos, i); err != nil {
			return err
		}
	}
	names, err := wire.NewNameSet(d.b, len(f.Infos), func(i int) string { return f.Infos[i].Name })
	if err != nil {
		return err
	}
	for i := range f.Infos {
		if _, added, err := names.Add(i); err != nil {
			return err
		} else if !added {
			return fail("tensor "+wire.Quote(f.Infos[i].Name), f.Infos[i].Span.Off, wire.ErrDuplicate.WithRule("pth.tensor-twice").Errorf("two tensors have the same name"))
		}
	}
	return nil
}

// constantName is what the code calls its constants, before their number.
const constantName = "CONSTANTS.c"
