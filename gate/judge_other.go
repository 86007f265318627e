package gate

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// judgeOther judges a file of a folder that is not a model and whose name promises none:
// it is either harmless or could hold a model.
func judgeOther(_ *limits.Budget, o *opened) (report, error) {
	var what string
	err := o.packedText()
	if err == nil {
		what, err = polyglot.HarmlessBut(o.account, o.r, o.s.size, o.id.Archive) // it is no pickle
	}
	switch {
	case err != nil:
		return report{err: wire.At("scan", "", wire.NoOffset, err)}, nil
	case what != "":
		return o.besideModel(what), nil
	case o.isForGit():
		out := o.besideModel("")
		out.unlooked = "git reads or runs it, and it is not a text"
		return out, nil
	case o.isDataOfONNX():
		return report{harmless: "the data of an ONNX model beside it"}, nil
	}
	if of, err := sidecar.IsOfSpaCy(o.text("")); of || err != nil {
		return o.partOfSpaCy(err), nil
	}
	return report{unlooked: strings.TrimPrefix(bareText(o.why), "this is ")}, nil
}

// isForGit reports whether git reads the file for where it lies, whatever it is.
func (o *opened) isForGit() bool {
	text := sidecar.Text{Name: o.s.hint.Name, Beside: o.s.hint.near}
	return text.ForGit()
}

// packedText charges a content that begins like a text, before it is read.
func (o *opened) packedText() error {
	head := o.id.Beginning()
	if o.s.layer == 0 || !polyglot.BeginsText(head[:min(len(head), textHead)]) {
		return nil
	}
	return o.account.Text(o.s.size)
}

// textHead is how much of a content tells a text.
const textHead = 512

// bareText returns the text of err without its place and its class.
func bareText(err error) string {
	if e, ok := errors.AsType[*parser.Error](err); ok {
		return strings.TrimPrefix(e.Err.Error(), wire.ErrUnsupported.Error()+": ")
	}
	return err.Error()
}

// besideModel searches a text that no loader takes for a model for requests to the program
// that loads the model beside it, such as to run code.
func (o *opened) besideModel(what string) report {
	out := report{harmless: what, beside: what != ""}
	text := o.text(what)
	if o.s.policy.Sidecars == SidecarsSkip || !strings.HasSuffix(what, "text") && !text.ForGit() {
		return out
	}
	if o.s.gate.Digest {
		text.Template = func(where, text string) {
			if len(out.templates) < maxTemplates {
				out.templates = append(out.templates, Template{where, int64(len(text)), sha256.Sum256([]byte(text))})
			}
		}
	}
	found, err := sidecar.Check(o.account, text)
	if err != nil {
		out.err = wire.At("sidecar", "", wire.NoOffset, err)
	}
	if out.findings = found; err != nil || len(found) > 0 {
		out.harmless = ""
	}
	return out
}

// text is the subject as a text beside a model, which is what it was found to be.
func (o *opened) text(what string) sidecar.Text {
	return sidecar.Text{Name: o.s.hint.Name, R: o.r, Size: o.s.size, Beside: o.s.hint.near, Around: o.s.hint.around, Weights: o.s.hint.weights, Field: o.s.hint.Field, JSON: what == polyglot.JSONText}
}

// partOfSpaCy reads a file that spaCy keeps as MessagePack to its end.
func (o *opened) partOfSpaCy(err error) report {
	var found []tensor.Finding
	if err == nil {
		found, err = sidecar.SpaCyData(o.account, o.text(""))
	}
	switch wire.ClassOf(err) {
	case wire.Malformed, wire.Truncated, wire.Unsupported:
		return report{unlooked: "MessagePack that spaCy does not write: " + bareText(err)}
	case wire.OK:
	default:
		return report{err: wire.At("scan", "", wire.NoOffset, err)}
	}
	out := report{harmless: "data of spaCy", beside: true, findings: found}
	if len(found) > 0 {
		out.harmless = ""
	}
	return out
}

// isCalledAsSpaCy reports whether spaCy reads the file, whose name promises a checkpoint.
func (o *opened) isCalledAsSpaCy() bool {
	is, err := sidecar.IsOfSpaCy(o.text(""))
	return is && err == nil && strings.EqualFold(path.Base(o.s.hint.Name), "lookups.bin")
}

// checkPlace checks files other than texts, such as models, in the places where git runs a file or
// reads its configuration: a shell ignores lines that it does not understand.
func (o *opened) checkPlace(out report) report {
	if out.err != nil || out.harmless != "" || out.beside || o.s.policy.Sidecars == SidecarsSkip {
		return out
	}
	text := sidecar.Text{Name: o.s.hint.Name, R: o.r, Size: o.s.size, Beside: o.s.hint.near}
	if text.Beside == nil { // the name is not enough: it may be a model's
		text.Beside = func(string) bool { return false }
	}
	if !text.ForGit() {
		return out
	}
	found, err := sidecar.Check(o.account, text)
	if err != nil {
		out.err = wire.At("sidecar", "", wire.NoOffset, err)
	}
	out.findings = slices.Insert(out.findings, out.ownCount, found...)
	out.ownCount += len(found)
	return out
}

// A Template is a chat template in a text beside a model.
type Template struct {
	Where  string // in its file, "" for all of it
	Bytes  int64
	SHA256 [sha256.Size]byte // of the text, escapes resolved
}

// maxTemplates bounds the chat templates listed of one file.
const maxTemplates = 64

// isDataOfONNX reports whether the content is explained only by the files around it.
func (o *opened) isDataOfONNX() bool {
	if what, _, err := o.id.Archive(); what != "" || err != nil {
		return false
	}
	return o.s.hint.holdsData != nil && o.isUnknownKind() && !isLoadedByName(o.s.hint.Name) && o.s.hint.holdsData(o.account)
}

// isDataCalledBin is isDataOfONNX for a name that PyTorch's checkpoints have too: exporters call the
// data weights.bin. Its bytes were asked before whether they are a checkpoint.
func (o *opened) isDataCalledBin() bool {
	return o.s.hint.Beside && strings.EqualFold(path.Ext(o.s.hint.Name), ".bin") && o.isDataOfONNX()
}

// isUnknownKind reports whether no loader is known for this kind of content, or it begins
// with zeros, as a tensor's data may.
func (o *opened) isUnknownKind() bool {
	switch wire.RuleOf(o.why) {
	case "detect.unknown":
		return true
	case "detect.foreign":
		return len(bytes.Trim(o.id.Beginning(), "\x00")) == 0
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
