package gate

import (
	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tflite"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// judgeTFLite judges the structure of a model of TensorFlow Lite. An operator that is not the
// runtime's own is a finding.
func judgeTFLite(_ *limits.Budget, o *opened) (report, error) {
	out := report{format: tflite.Format}
	if out.err = o.s.policy.allowsFormat(tflite.Format); out.err != nil {
		return out, nil
	}
	f, err := tflite.Decode(o.account, o.r, o.s.size)
	if out.err = err; err != nil {
		return out, nil
	}
	if out.err = o.packedBehind(f.Packed()); out.err != nil {
		return out, nil
	}
	out.findings = f.Findings()
	for i := range f.Tensors() {
		out.totals.add(&i)
	}
	return out, nil
}

// maxPackedFile bounds a file that a model's metadata pack behind it: labels, a vocabulary.
const maxPackedFile = 1 << 20

// packedBehind judges the ZIP archive behind a model, in which TensorFlow Lite's metadata keep files
// for people and applications: each of them must be harmless.
func (o *opened) packedBehind(a *zip.Archive) error {
	if a == nil {
		what, off, err := o.id.Archive()
		if err == nil && what != "" {
			err = wire.ErrUnsupported.WithRule("detect.two-formats").Errorf("it is a model and also %s, which is in the data of a tensor", what)
		}
		return wire.At(tflite.Format, "", off, err)
	}
	for i := range a.Members {
		m := &a.Members[i]
		r, stored := a.At(i)
		what := ""
		if stored && m.Size <= maxPackedFile {
			var err error
			if what, err = polyglot.Harmless(o.account, r, m.Size); err != nil {
				return wire.At(tflite.Format, zip.Where(i, m.Name), m.DataOff, err)
			}
		}
		if what == "" {
			return wire.At(tflite.Format, zip.Where(i, m.Name), m.DataOff, wire.ErrUnsupported.WithRule("tflite.packed-file").Errorf("a file behind the model that is not a small text or an image, as labels are"))
		}
	}
	return a.Verify(o.account)
}
