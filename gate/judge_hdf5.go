package gate

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/hdf5"
	"github.com/anamnesis-go/anamnesis/parser/keras"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// judgeHDF5 judges the structure of an HDF5 file, and the configurations that Keras keeps
// in its attributes; its
// chunks have the bytes and the checksums that they must have.
func judgeHDF5(_ *limits.Budget, o *opened) (report, error) {
	out := report{format: hdf5.Format}
	if out.err = o.s.policy.allowsFormat(hdf5.Format); out.err != nil {
		return out, nil
	}
	f, err := hdf5.Decode(o.account, o.r, o.s.size)
	if out.err = err; err != nil {
		return out, nil
	}
	if f.Start > 0 { // where h5py finds it
		out.starts = append(out.starts, f.Start)
	}
	for t := range f.Texts() {
		found, err := o.attribute(t)
		if err == nil && t.Of == "" && t.Name == "model_config" {
			err = o.kerasSizes(t, f)
		}
		out.findings = append(out.findings, found...)
		if out.err = err; err != nil {
			return out, nil
		}
	}
	what, off, err := o.id.Archive()
	if err == nil && what != "" {
		err = wire.ErrUnsupported.WithRule("detect.two-formats").Errorf("an HDF5 file, but also %s: loaders see different content", what)
	}
	if out.err = wire.At(hdf5.Format, "", off, err); out.err != nil {
		return out, nil
	}
	if out.err = f.Verify(o.account); out.err == nil {
		out.totals = Totals{int64(f.Len()), f.Elements, f.Bytes}
	}
	return out, nil
}

// attribute judges a text that a library may read as a configuration or run as a pickle.
func (o *opened) attribute(t hdf5.Text) ([]tensor.Finding, error) {
	where := "attribute " + wire.Quote(t.Name)
	is, err := polyglot.Pickle(o.account, t.Bytes, t.Bytes.Size())
	switch {
	case err != nil:
		return nil, wire.At(hdf5.Format, where, t.Off, err)
	case is || strings.HasPrefix(t.Name, "HICKLE_") || o.holdsObjects(t):
		return nil, wire.At(hdf5.Format, where, t.Off, wire.ErrForbidden.WithRule("hdf5.pickle").Errorf("PyTables or hickle unpickles what is kept here"))
	case o.s.policy.Sidecars == SidecarsSkip:
		return nil, nil
	}
	var head [64]byte
	p := head[:min(t.Bytes.Size(), int64(len(head)))]
	if err := wire.ReadFull(t.Bytes, p, 0); err != nil {
		return nil, wire.At(hdf5.Format, where, t.Off, err)
	}
	if p = bytes.TrimLeft(p, " \t\r\n"); t.Bytes.Size() <= int64(len(head)) && len(p) == 0 || len(p) > 0 && p[0] != '{' && p[0] != '[' {
		return nil, nil // no JSON
	}
	found, err := sidecar.Check(o.account, sidecar.Text{Name: "attribute.json", R: t.Bytes, Size: t.Bytes.Size(), JSON: true, Part: true})
	for i := range found {
		found[i].Where, found[i].Off = strings.TrimSuffix(where+": "+found[i].Where, ": "), wire.NoOffset
	}
	return found, wire.At(hdf5.Format, where, t.Off, err)
}

// kerasSizes checks the layers of a model of Keras against its weights, as those of a .keras are.
func (o *opened) kerasSizes(t hdf5.Text, f *hdf5.File) error {
	where := "attribute " + wire.Quote(t.Name)
	if t.Bytes.Size() > keras.MaxConfig {
		return wire.At(hdf5.Format, where, t.Off, wire.ErrMismatch.WithRule("keras.sizes").Errorf("a configuration of %d bytes", t.Bytes.Size()))
	}
	text, err := strictjson.ReadAt(o.account, t.Bytes, 0, t.Bytes.Size())
	if err == nil {
		text = strings.TrimRight(text, "\x00") // of a text of fixed length
		err = keras.Sizes(o.account, strictjson.Text{Format: hdf5.Format, Body: text, Off: t.Off, Whole: true}, f.Infos)
	}
	return wire.At(hdf5.Format, where, t.Off, err)
}

// holdsObjects reports whether an attribute makes PyTables unpickle the elements of a list: any
// kind except texts, and FLAVOR in files of its first versions.
func (o *opened) holdsObjects(t hdf5.Text) bool {
	if t.Name != "PSEUDOATOM" && t.Name != "FLAVOR" {
		return false
	}
	var head [16]byte
	p := head[:min(t.Bytes.Size(), int64(len(head)))]
	if wire.ReadFull(t.Bytes, p, 0) != nil {
		return true
	}
	kind, _, _ := strings.Cut(string(p), "\x00")
	if t.Name == "FLAVOR" {
		return kind == "Object"
	}
	return kind != "vlstring" && kind != "vlunicode"
}

// checkHDF5 refuses what was accepted and is also an HDF5 file for h5py, which skips what
// precedes it. At the beginning of a member of an archive it is a content, and judged as
// such.
func (o *opened) checkHDF5(out report) report {
	if out.err != nil || out.unlooked != "" {
		return out
	}
	found, err := hdf5.Behind(o.r, o.s.size)
	if err != nil {
		out.err = wire.At("detect", "", wire.NoOffset, err)
		return out
	}
	for _, off := range found {
		if !slices.Contains(out.starts, off) {
			what := out.harmless
			if what == "" {
				what = out.format
			}
			out.harmless = ""
			out.err = wire.At("detect", "", off, wire.ErrUnsupported.WithRule("detect.two-formats").Errorf("%s, but also an HDF5 file for h5py, which skips what precedes it: loaders see different content", what))
			return out
		}
	}
	return out
}

// startsAt returns where a content lies in its archive, if h5py would look there, else 0.
func startsAt(archive, content io.ReaderAt) int64 {
	s, ok := content.(*io.SectionReader)
	if !ok {
		return 0
	}
	if r, off, _ := s.Outer(); r == archive && off > 0 && off&(off-1) == 0 {
		return off
	}
	return 0
}
