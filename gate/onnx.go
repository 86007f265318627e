package gate

import (
	"bytes"
	"path"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/onnx"
	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// onnx judges the structure of an ONNX model; its data are not decoded.
func (j *judgement) onnx() {
	j.Format = onnx.Format
	if j.Err = j.policy.allowsFormat(onnx.Format); j.Err != nil {
		return
	}
	m, err := onnx.Check(j.account, j.r, j.Size) // first, as [Stream] does
	if j.Err = err; err != nil {
		return
	}
	what, off, err := polyglot.Alias(j.r, j.Size, nil)
	if err == nil && what != "" {
		err = wire.ErrUnsupported.WithRule("onnx.two-formats").Errorf("an ONNX model by its name, but also %s: loaders see different content", what)
	}
	if err != nil {
		j.Err = wire.At(onnx.Format, "", off, err)
		return
	}
	j.Totals, j.Findings = Totals{m.Tensors, m.Elements, m.Bytes}, m.Findings
	j.Err = j.external(m.External)
}

func (j *judgement) promisesONNX() bool { return strings.EqualFold(path.Ext(j.hint.Name), ".onnx") }

// checkONNXPrefix is checkPrefix for a file that is ONNX by its name.
func (j *judgement) checkONNXPrefix(b *limits.Budget, r *prefixReader, sized bool) (more bool, err error) {
	if err := j.policy.allowsFormat(onnx.Format); err != nil {
		return false, err
	}
	b = b.Probe()
	defer b.Close()
	if is, err := polyglot.Pickle(b, r, j.Size); is || err != nil {
		return r.missed, nil
	}
	_, err = onnx.Check(b, r, j.Size)
	if r.missed {
		return true, nil
	}
	return false, permanent(err, sized)
}

// external checks the files in which a model says that its data are stored.
func (j *judgement) external(files []string) error {
	if j.hint.whyNotOpened == nil {
		return nil
	}
	for _, name := range files {
		if err := j.hint.whyNotOpened(name); err != nil {
			return wire.At(onnx.Format, "external data", wire.NoOffset, err)
		}
	}
	return nil
}

// isExplained reports whether the content is explained only by the files around it: the
// data of an ONNX model.
func (j *judgement) isExplained() bool {
	if what, _, err := polyglot.Alias(j.r, j.Size, nil); what != "" || err != nil {
		return false
	}
	if j.hint.holdsData != nil && j.isUnknownKind() && !isLoadedByName(j.hint.Name) && j.hint.holdsData(j.account) {
		j.Harmless, j.Err = "the data of an ONNX model beside it", nil
		return true
	}
	return false
}

// othersNames are the extensions of files that libraries other than ONNX load by their
// name, and whose first bytes may be anything.
var othersNames = setOf(".h5 .hdf5 .keras .tflite .pt2 .pte .engine .plan .trt .mlmodel .rds .rda .rdata .pyc .so .dll .dylib .pyd " +
	".jar .class .ser .mar .nemo .skops .msgpack .cbm .pdmodel .pdiparams .litertlm .task .exe .wasm .llamafile .mat .pmml")

// isLoadedByName reports whether the name is one of those, or that of a model of
// TensorFlow. Data of an ONNX model have no reason to be called like that.
func isLoadedByName(name string) bool {
	base := strings.ToLower(path.Base(strings.ReplaceAll(name, "!", "/"))) // also in an archive
	return base == "saved_model.pb" || othersNames[path.Ext(base)]
}

// setOf returns the set of the words of a text.
func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// isUnknownKind reports whether no loader is known for this kind of content, or it begins
// with zeros, as a tensor's data may.
func (j *judgement) isUnknownKind() bool {
	switch wire.RuleOf(j.Err) {
	case "detect.unknown":
		return true
	case "detect.foreign":
		return j.beginsWithZeros()
	}
	return false
}

// beginsWithZeros reports whether everything that package parser examines to name a kind
// of content is zero.
func (j *judgement) beginsWithZeros() bool {
	var buf [4 << 10]byte
	p := buf[:min(j.Size, int64(len(buf)))]
	return wire.ReadFull(j.r, p, 0) == nil && len(bytes.Trim(p, "\x00")) == 0
}

// hasPrefix reports whether the file begins with magic.
func (j *judgement) hasPrefix(magic string) bool {
	var buf [16]byte
	p := buf[:min(len(magic), len(buf))]
	return wire.ReadFull(j.r, p, 0) == nil && string(p) == magic
}
