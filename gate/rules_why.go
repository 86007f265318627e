package gate

import (
	"strconv"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// whyCauses says why each kind of cause matters, in any format.
var whyCauses = map[string]string{
	"magic":       "A loader that goes by the name, or by other bytes, would read it as another format.",
	"syntax":      "Each reader handles broken syntax in its own way: what was checked is not what another program loads.",
	"range":       "A number outside of its range makes readers access memory beyond their tables and buffers.",
	"overflow":    "Sizes that overflow become small: a reader allocates a small buffer, and writes beyond it.",
	"overlap":     "Bytes with two meanings can be checked as one and loaded as the other.",
	"gap":         "Nothing checks bytes that no part of the file describes, and another reader may find something in them.",
	"align":       "Programs that map a file into memory read such data wrongly, crash, or refuse it.",
	"duplicate":   "One reader takes the first of the two, another the last: what was checked is not what is loaded.",
	"mismatch":    "A loader follows one of the two statements, and libraries differ in which.",
	"trailing":    "Nobody checks what follows the end, and it may be a file of its own: archives are read from their end.",
	"text":        "Readers cut, replace or refuse such a text, so they see different names.",
	"checksum":    "The bytes are not those that were written: they were damaged, or somebody changed them.",
	"missing":     "Without this part, a model is loaded incompletely, or a loader looks for the part elsewhere.",
	"truncated":   "A loader may read the missing part as zeros, or as old contents of memory.",
	"unsupported": "This program does not read this part, so it cannot judge it. A file is accepted only if all of it was judged.",
	"forbidden":   "A loader that follows it does more than read numbers: it runs, opens or fetches what the file names.",
	"internal":    "The file was not judged to its end.",
}

// whyPickle says why each reason against a pickle matters.
var whyPickle = map[string]string{
	"array":       "One loader reads the bytes as numbers, another runs them as a program.",
	"build":       "Setting a state runs the object's own code with values from the file.",
	"call":        "A pickle is a program. One call is enough to take over the machine: os.system takes one argument.",
	"change":      "A value that changes after its use is different when it is loaded and when it is checked.",
	"forbidden":   "A pickle is a program: everything in it that is not data runs when the pickle is loaded.",
	"global":      "pickle.load imports the module and calls what the pickle names before it returns a tensor.",
	"limit":       "A small pickle can require any amount of time and memory.",
	"malformed":   "Loaders stop at different places: some have run everything before the error.",
	"opcode":      "Loaders handle this instruction differently.",
	"truncated":   "A loader runs everything before the end.",
	"unsupported": "This program does not read this part, so it cannot judge it. A file is accepted only if all of it was judged.",
}

// whyFound says why findings and the gate's own rules matter. The longest prefix of the identifier
// decides.
var whyFound = []struct{ prefix, why string }{
	{"detect.choice", "Another program may load another one of the models."},
	{"detect.name", "Some loaders decide by the name, others by the content."},
	{"detect.polyglot", "A file that was checked as one format may be loaded as the other."},
	{"deepspeed.latest", "Whoever loads the folder unpickles a file that was not judged with it."},
	{"deepspeed.", "Weights that are put together from parts that do not belong together are of another model."},
	{"tfbundle.checkpoint", "Who loads the newest checkpoint of the folder loads weights that were not judged with it, and CheckpointManager deletes files."},
	{"dcp.", "The state of an optimizer has the names and shapes of weights: a program that takes it for weights computes nonsense."},
	{"file.missing", "Nothing was judged."},
	{"file.", "The bytes that were judged may not be those that are loaded."},
	{"gate.unlooked", "A file that was not read was not judged."},
	{"gate.", "The policy refuses such files, whatever they contain."},
	{"gguf.template-", "Before 0.2.72, llama-cpp-python evaluated templates without a sandbox: a template can run everything that it reaches."},
	{"gguf.type-", "llama.cpp uses the number as an index of its table of types."},
	{"gguf.token", "llama.cpp and the libraries around it build their tables from these values, and check few of them."},
	{"gguf.shape", "Readers that keep dimensions in 32 bits compute a smaller buffer than they fill."},
	{"gguf.split", "One file of a split model is not a model."},
	{"gguf.tensor-unknown", "llama.cpp refuses such tensors and other programs ignore them, so they can contain anything."},
	{"gguf.", "llama.cpp and programs built on it trust these values: they abort, or compute wrong results."},
	{"limit.", "Files that ask for far more than others of their kind are a way to exhaust a reader's memory or time."},
	{"npy.", "NumPy reads other values, or refuses the file, in another version or on another machine."},
	{"npz.", "Programs differ in which members they load as arrays."},
	{"onnx.external-path", "The runtime opens the path with the rights of the program that loads the model."},
	{"onnx.index", "The runtime opens the file that the model names."},
	{"onnx.", "The runtime runs the code when the model is loaded, with the rights of the program."},
	{"onnx.loop", "The runtime has no limit of time: a loop that does not end holds the program that runs the model."},
	{"onnx.size", "The runtime makes the tensor when it loads the model, of whatever size that is."},
	{"tflite.loop", "The runtime has no limit of time: a loop that does not end holds the program that runs the model."},
	{"tflite.", "The host runs its own code under the name, with what the model says as its options."},
	{"pickle.", "Another program, or another version of Python, reads it differently."},
	{"pth.", "torch reads it, but other programs may read fewer, more or different tensors."},
	{"safetensors.", "The library refuses the file, or programs read different sets of tensors."},
	{"scan.", "You have not seen the findings that are not listed."},
	{"sidecar.code", "It contains no weights: it runs as soon as a person or a tool starts it."},
	{"sidecar.beyond-weights", "A program that loads the model uses all memory: weights that the files lack are made in the size that the configuration states."},
	{"sidecar.count", "A program that loads the model never returns, or uses all memory, before it reads the weights."},
	{"sidecar.unexplained", "Libraries import, fetch and open what configurations name. Only for the listed members is it known what libraries do with them."},
	{"sidecar.", "The library that opens the folder follows this setting before a person has read it."},
	{"template.", "Programs that evaluate templates without a sandbox run everything that a template reaches."},
	{"tensor.", "Programs that read the tensors compute wrong results, or crash."},
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

// Allow says how a policy can accept a file in spite of the rule: a text and, if there is one, the
// member to write in the policy.
func (r *Rule) Allow() (text, member string) {
	if r == nil {
		return "Nothing allows it: there is no rule.", ""
	}
	group, reason, _ := strings.Cut(r.ID, ".")
	switch {
	case group == "limit":
		for _, a := range limits.Axes() {
			if a.String() == reason {
				return "Raise the limit in the policy (the default is shown), if you know the files. There is no exception for one file.", defaultOf(a)
			}
		}
	case reason == "internal", r.ID == "file.missing":
		return "Nothing allows it: no policy accepts a file that was not judged.", ""
	case r.ID == "pickle.global":
		return "If the class only holds data, allow it in the policy by its exact name, or allow a set of classes whose states are checked (\"classes\").", `"allow_globals": ["mypackage.MyConfig"]`
	case r.ID == unlookedRule:
		return "Let the policy report such files, or make an exception for one file, by its path or its digest.", `"unlooked": "report"`
	case r.ID == formatRule:
		return "List the formats that you accept in the policy.", `"formats": ["safetensors", "gguf"]`
	case r.ID == dtypeRule:
		return "List the types that you accept in the policy.", `"dtypes": ["*"]`
	case r.ID == schemeRule:
		return "List the schemes that you accept in the policy.", `"schemes": ["*"]`
	case r.ID == noPickleRule || r.ID == weightsOnlyRule:
		return "Let the policy accept pickles that contain only data.", `"pickle": "safe"`
	}
	if r.Kind == "finding" && r.Severity < tensor.Danger {
		return "The finding refuses a file only if its severity reaches \"fail_on\": danger by default, warning in the profiles strict and upload. An exception allows one file.", exceptionText(r.ID, "path")
	}
	if r.Kind == "finding" {
		return "Make an exception in the policy for one file, by its path or its digest, until a date of your choice.", exceptionText(r.ID, "path")
	}
	return "Make an exception in the policy, by the digest of the file only: the rest of the file, after the error, was not judged.", exceptionText(r.ID, "sha256")
}

// defaultOf returns the default of a limit, as a member of a policy.
func defaultOf(a limits.Axis) string {
	value := new(limits.Policy).Limit(a)
	if a == limits.Time {
		return `"` + a.Field() + `": "` + time.Duration(value).String() + `"`
	}
	return `"` + a.Field() + `": ` + strconv.FormatInt(value, 10)
}

// exceptionText returns an exception by path or digest, as a member of a policy.
func exceptionText(rule, by string) string {
	value := "models/NAME"
	if by == "sha256" {
		value = "DIGEST"
	}
	return `"ignore": [{"rule": "` + rule + `", "` + by + `": "` + value + `", "reason": "WHY", "expires": "2027-01-31"}]`
}
