package gate

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/hdf5"
	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// isHDF5 reports whether the file begins as HDF5 and no name promises another format.
func (j *judgement) isHDF5() bool { return j.hasPrefix(hdf5.Magic) && !promises(j.hint.Name) }

// hdf5 judges the structure of an HDF5 file, and the configurations that Keras keeps in
// its attributes; its data are not decoded.
func (j *judgement) hdf5() {
	j.Format = hdf5.Format
	if j.Err = j.policy.allowsFormat(hdf5.Format); j.Err != nil {
		return
	}
	f, err := hdf5.Check(j.account, j.r, j.Size, j.attribute)
	if j.Err = err; err != nil {
		return
	}
	j.Totals = Totals{f.Tensors, f.Elements, f.Bytes}
	what, off, err := polyglot.Alias(j.r, j.Size, nil)
	if err == nil && what != "" {
		err = wire.ErrUnsupported.WithRule("detect.two-formats").Errorf("an HDF5 file, but also %s: loaders see different content", what)
	}
	j.Err = wire.At(hdf5.Format, "", off, err)
}

// attribute judges a text that a library may read as a configuration or run as a pickle.
func (j *judgement) attribute(t hdf5.Text) error {
	where := "attribute " + wire.Quote(t.Name)
	is, err := polyglot.Pickle(j.account, t.Bytes, t.Bytes.Size())
	switch {
	case err != nil:
		return wire.At(hdf5.Format, where, t.Off, err)
	case is || strings.HasPrefix(t.Name, "HICKLE_"):
		return wire.At(hdf5.Format, where, t.Off, wire.ErrForbidden.WithRule("hdf5.pickle").Errorf("PyTables or hickle unpickles what is kept here"))
	case j.policy.Sidecars == SidecarsSkip:
		return nil
	}
	var head [64]byte
	p := head[:min(t.Bytes.Size(), int64(len(head)))]
	if err := wire.ReadFull(t.Bytes, p, 0); err != nil {
		return wire.At(hdf5.Format, where, t.Off, err)
	}
	if p = bytes.TrimLeft(p, " \t\r\n"); t.Bytes.Size() <= int64(len(head)) && len(p) == 0 || len(p) > 0 && p[0] != '{' && p[0] != '[' {
		return nil // no JSON
	}
	found, err := sidecar.Check(j.account, sidecar.Text{Name: "attribute.json", R: t.Bytes, Size: t.Bytes.Size(), JSON: true})
	for _, f := range found {
		f.Where, f.Off = strings.TrimSuffix(where+": "+f.Where, ": "), wire.NoOffset
		j.Findings = append(j.Findings, f)
	}
	return wire.At(hdf5.Format, where, t.Off, err)
}

// checkHDF5 refuses an accepted file that is also an HDF5 file for h5py, which skips what
// precedes it. At the beginning of a member of an archive it is a content, and judged as
// such.
func (j *judgement) checkHDF5() {
	if j.Err != nil || j.Unlooked != "" {
		return
	}
	found, err := hdf5.Behind(j.r, j.Size)
	if err != nil {
		j.Err = wire.At("detect", "", wire.NoOffset, err)
		return
	}
	for _, off := range found {
		if !slices.Contains(j.starts, off) {
			what := j.Harmless
			if what == "" {
				what = j.Format
			}
			j.Harmless = ""
			j.Err = wire.At("detect", "", off, wire.ErrUnsupported.WithRule("detect.two-formats").Errorf("%s, but also an HDF5 file for h5py, which skips what precedes it: loaders see different content", what))
			return
		}
	}
}

// startsAt notes where a content lies in its archive, if h5py would look there.
func (j *judgement) startsAt(content io.ReaderAt) {
	s, ok := content.(*io.SectionReader)
	if !ok {
		return
	}
	if r, off, _ := s.Outer(); r == j.r && off > 0 && off&(off-1) == 0 {
		j.starts = append(j.starts, off)
	}
}
