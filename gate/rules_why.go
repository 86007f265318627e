package gate

import (
	"strconv"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// whyCauses say why a kind of cause matters, in any format.
var whyCauses = map[string]string{
	"magic":       "A loader that goes by the name, or by other bytes, would take it for something else.",
	"syntax":      "Where the grammar is broken, every reader guesses in its own way: what one has checked is not what another loads.",
	"range":       "A number outside of its range leads readers past the ends of tables and buffers.",
	"overflow":    "Sizes that wrap around become small: a reader allocates little, and writes much.",
	"overlap":     "Bytes that are two things can be checked as the one and loaded as the other.",
	"gap":         "What no part of the file describes nobody has checked, and another reader may find it.",
	"align":       "Programs that map a file into memory read such data wrongly, crash, or refuse it.",
	"duplicate":   "One reader takes the first of the two, another the last: what was checked is not what is loaded.",
	"mismatch":    "A loader follows one of the two statements, and libraries differ in which.",
	"trailing":    "Nobody checks what follows the end, and it may be a file of its own: archives are read from their end.",
	"text":        "Readers cut, replace or refuse such a text, so they see different names.",
	"checksum":    "These are not the bytes that were written: they were damaged, or changed by somebody.",
	"missing":     "Without it a model loads in part, or a loader looks for it elsewhere.",
	"truncated":   "What is missing would be read as zeros, or as what lay in memory.",
	"unsupported": "What is not read is not judged, and what is not judged is not accepted.",
	"forbidden":   "A loader that obeys it does more than read numbers: it runs, opens or fetches what the file names.",
	"internal":    "Nobody has judged it to its end.",
}

// whyPickle say why the reasons against a pickle matter.
var whyPickle = map[string]string{
	"array":       "The same bytes are numbers to one loader, and a program to another.",
	"build":       "Setting a state runs the object's own code, with values of the file.",
	"call":        "A pickle is a program, and calling is all that it needs: os.system takes one argument.",
	"change":      "A value that changes after it was used is one thing to the loader, and another to who checked it.",
	"forbidden":   "A pickle is a program: what is not data in it runs when it is loaded.",
	"global":      "pickle.load imports the module and calls what it names, before anybody sees a tensor.",
	"limit":       "A small pickle can ask for any amount of work and memory.",
	"malformed":   "Loaders differ in where they stop: some have run everything before it.",
	"opcode":      "Loaders differ in what they do with it.",
	"truncated":   "A loader runs all that comes before the end.",
	"unsupported": "What is not read is not judged, and what is not judged is not accepted.",
}

// whyFound say why findings and the gate's own rules matter, by the longest beginning of the
// identifier.
var whyFound = []struct{ prefix, why string }{
	{"detect.choice", "Another program may load another of them."},
	{"detect.name", "Some loaders go by the name, others by the content."},
	{"detect.polyglot", "What was checked as one format is loaded as the other."},
	{"file.missing", "Where nothing is, nothing was judged."},
	{"file.", "What was judged would not be what is loaded."},
	{"gate.unlooked", "What was not looked at was not judged."},
	{"gate.", "The policy of this place does not take it, whatever it contains."},
	{"gguf.template-", "llama-cpp-python evaluated templates outside of a sandbox before 0.2.72: what a template reaches there, it can run."},
	{"gguf.type-", "llama.cpp uses the number as an index of its table of types."},
	{"gguf.token", "llama.cpp and the libraries around it build their tables from these values, and check few of them."},
	{"gguf.shape", "Readers that keep dimensions in 32 bits compute a smaller buffer than they fill."},
	{"gguf.split", "Loaded alone it is not a model."},
	{"gguf.tensor-unknown", "llama.cpp refuses them, other programs ignore them: they can carry anything."},
	{"gguf.", "llama.cpp and what is built on it trust these values: they abort, or compute something else."},
	{"limit.", "A file that asks for far more than others of its kind is how a reader is exhausted."},
	{"npy.", "NumPy of another version or machine reads other values, or refuses it."},
	{"npz.", "Programs differ in which members they take for arrays."},
	{"onnx.external-path", "The runtime opens the path with the rights of the program that loads the model."},
	{"onnx.index", "The runtime opens what the model names."},
	{"onnx.", "The runtime runs it when the model is loaded, with the rights of the program."},
	{"pickle.", "Another program, or another version of Python, makes something else of it."},
	{"pth.", "torch reads it, and other programs may read less, more, or something else."},
	{"safetensors.", "The library refuses it, or programs read different sets of tensors."},
	{"scan.", "What is not listed was not read by you either."},
	{"sidecar.code", "Nothing of it is weights: it runs as soon as somebody, or a tool, starts it."},
	{"sidecar.count", "The program that loads the model is not back in any time, or takes all memory, before it looks at the weights."},
	{"sidecar.unexplained", "Libraries import, fetch and open what configurations name. Which ones do is known for listed members alone."},
	{"sidecar.", "The library that opens the folder obeys it, before a person has read it."},
	{"template.", "Programs that evaluate templates outside of a sandbox run what a template reaches."},
	{"tensor.", "Programs that read the tensors compute something else, or crash."},
}

// whyOf returns why a rule of whyFound matters.
func whyOf(id string) (why string) {
	length := 0
	for _, w := range whyFound {
		if strings.HasPrefix(id, w.prefix) && len(w.prefix) > length {
			why, length = w.why, len(w.prefix)
		}
	}
	return why
}

// whyRefused returns why a refusal of a reader for a kind of cause matters.
func whyRefused(of error) string {
	for _, c := range causes {
		if c.err == of {
			return whyCauses[c.id]
		}
	}
	return whyOf("file.missing")
}

// Allow says how a policy accepts a file in spite of the rule, as a text and, where there is
// one, the member of a policy.
func (r *Rule) Allow() (text, member string) {
	if r == nil {
		return "Nothing does: there is no rule.", ""
	}
	group, reason, _ := strings.Cut(r.ID, ".")
	switch {
	case group == "limit":
		for _, a := range limits.Axes() {
			if a.String() == reason {
				return "A policy raises the limit, from what it is by default, for files that you know. There is no exception for one file.", defaultOf(a)
			}
		}
	case reason == "internal", r.ID == "file.missing":
		return "Nothing does: no policy accepts what was not judged.", ""
	case r.ID == "pickle.global":
		return "A policy allows a class that only holds data by its exact name, or a set of classes whose states are judged (\"classes\").", `"allow_globals": ["mypackage.MyConfig"]`
	case r.ID == unlookedRule:
		return "A policy reports such files, or excepts one by its path or its digest.", `"unlooked": "report"`
	case r.ID == formatRule:
		return "A policy lists the formats that it takes.", `"formats": ["safetensors", "gguf"]`
	case r.ID == dtypeRule:
		return "A policy lists the types that it takes.", `"dtypes": ["*"]`
	case r.ID == schemeRule:
		return "A policy lists the schemes that it takes.", `"schemes": ["*"]`
	case r.ID == noPickleRule || r.ID == weightsOnlyRule:
		return "A policy takes pickles of data alone.", `"pickle": "safe"`
	}
	if r.Kind == "finding" && r.Severity < tensor.Danger {
		return "It refuses nothing by itself: \"fail_on\" decides, which is danger, and warning in the profiles strict and upload. An exception takes one file.", exceptionText(r.ID, "path")
	}
	if r.Kind == "finding" {
		return "An exception in a policy takes one file, by its path or its digest, until a day of your choice.", exceptionText(r.ID, "path")
	}
	return "An exception in a policy, by the digest of the file alone: what follows the place of the refusal was not judged.", exceptionText(r.ID, "sha256")
}

// defaultOf is a limit of the policy that has none, as a policy has it.
func defaultOf(a limits.Axis) string {
	value := new(limits.Policy).Limit(a)
	if a == limits.Time {
		return `"` + a.Field() + `": "` + time.Duration(value).String() + `"`
	}
	return `"` + a.Field() + `": ` + strconv.FormatInt(value, 10)
}

// exceptionText is an exception as a policy has it, by its path or its digest.
func exceptionText(rule, by string) string {
	value := "models/NAME"
	if by == "sha256" {
		value = "DIGEST"
	}
	return `"ignore": [{"rule": "` + rule + `", "` + by + `": "` + value + `", "reason": "WHY", "expires": "2027-01-31"}]`
}
