package gate

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A row describes a rule: what is wrong, how severe that is, and what to do.
type row struct {
	id            string
	severity      tensor.Severity
	title, advice string
}

const (
	note    = tensor.Note
	warning = tensor.Warning
	danger  = tensor.Danger
)

const (
	doNotLoad  = "Do not load it. Ask for the model as safetensors or GGUF, from a source that you know."
	fetchAgain = "Fetch it again and compare its SHA-256 with the publisher's. If it is the same, tell the publisher: loaders read it differently, or not at all."
	writeAgain = "Write the file again with a current version of the library that made it."
	sideBySide = "Put the files of the model side by side, as they were published."
	fetchWhole = "The download is not finished: fetch it again."
	saveAgain  = "Convert it to safetensors or GGUF, or to another supported form, with the library that wrote it."
	readText   = "Read the template. If it is what you expect, make an exception with a reason; if not, do not use the model."
)

// A refusalRow is the row of a rule by which a reader refuses, with the cause that the rule
// specializes. The reader names the rule in its error ([wire.Cause.As]).
type refusalRow struct {
	id            string
	of            *wire.Cause
	severity      tensor.Severity
	title, advice string
}

// causes are the kinds of causes. A format and a cause together name a group of refusals.
var causes = [...]struct {
	row
	err error
}{
	{row{"magic", warning, "The first bytes are not those of the format.", fetchAgain}, wire.ErrMagic},
	{row{"syntax", warning, "The file does not follow the format's grammar.", fetchAgain}, wire.ErrSyntax},
	{row{"range", warning, "A number is outside the range that the format allows.", fetchAgain}, wire.ErrRange},
	{row{"overflow", warning, "Sizes that the file states do not fit 64 bits.", doNotLoad}, wire.ErrOverflow},
	{row{"overlap", warning, "Two tensors or members share bytes.", doNotLoad}, wire.ErrOverlap},
	{row{"gap", warning, "Some bytes belong to no part of the file: they could be another file.", writeAgain}, wire.ErrGap},
	{row{"align", warning, "An offset is not aligned as the format requires.", writeAgain}, wire.ErrAlign},
	{row{"duplicate", warning, "A name appears twice: loaders differ in which one they take.", doNotLoad}, wire.ErrDuplicate},
	{row{"mismatch", warning, "Two statements of the file contradict each other.", fetchAgain}, wire.ErrMismatch},
	{row{"trailing", warning, "Bytes follow the end: they could be another file.", fetchAgain}, wire.ErrTrailing},
	{row{"text", warning, "A text is not valid UTF-8, or not what the format allows.", writeAgain}, wire.ErrText},
	{row{"checksum", warning, "A checksum does not match the bytes.", fetchAgain}, wire.ErrChecksum},
	{row{"missing", warning, "A part that the file refers to is not there.", sideBySide}, wire.ErrMissing},
	{row{"truncated", note, "The file ends before what it states.", fetchWhole}, wire.ErrTruncated},
	{row{"unsupported", note, "The file is valid, but it uses something that this program does not support.", saveAgain}, wire.ErrUnsupported},
	{row{"forbidden", danger, "The file asks its loader to do more than read data, or the policy refuses it.", doNotLoad}, wire.ErrForbidden},
	{row{"internal", warning, "The file could not be read, or the program has a bug. Such a file is never accepted.", "Check that the file can be read. If it can, report a bug and attach the file."}, wire.ErrInternal},
}

// pickleReasons are the reasons against a pickle.
var pickleReasons = [...]row{
	{"array", danger, "The bytes of an array would run as a pickle in another loader.", doNotLoad},
	{"build", danger, "A state is set on an object that must not have one.", doNotLoad},
	{"call", danger, "A call of something that is not a data constructor, or with arguments that it does not accept.", doNotLoad},
	{"change", danger, "Something that is not a container is changed, or a value is changed after its use: loaders read different values.", doNotLoad},
	{"forbidden", danger, "The pickle asks its loader to do more than read data.", doNotLoad},
	{"global", danger, "A global that is not in the list of data constructors.", "Do not load it. If the global is a class of your own that only holds data, a policy may allow it by its exact name (allow_globals)."},
	{"limit", warning, "The pickle exceeds a limit of the policy.", "Raise the limit that the message names, if you know the file."},
	{"malformed", warning, "The pickle is malformed.", fetchAgain},
	{"opcode", warning, "An instruction that the loader does not have.", writeAgain},
	{"truncated", note, "The pickle ends too early.", fetchWhole},
	{"unsupported", note, "The pickle uses something that this program does not support.", saveAgain},
}

// ownRules are the rules of the gate itself.
var ownRules = [...]row{
	{unlookedRule, warning, "The file could contain a model, but it was not read.", "Unpack or convert it and scan the result, keep it out of the folder, or let the policy report it (unlooked)."},
	{formatRule, danger, "The policy refuses files of this format.", "Convert it to a format that the policy allows."},
	{dtypeRule, danger, "The policy refuses a tensor type.", "Convert it to a type that the policy allows."},
	{schemeRule, danger, "The policy refuses a quantization scheme.", "Use a version of the model in a scheme that the policy allows."},
	{noPickleRule, danger, "The policy refuses pickles.", "Convert it to safetensors in a place where pickles may be read."},
	{weightsOnlyRule, danger, "PyTorch's restricted loader would refuse it, and the policy asks for that.", "Save it again as tensors and plain containers, or convert it to safetensors."},
	{promiseRule, danger, "The file has another format than its sender promised.", "Send it with the format that it has."},
}

// limitAdvice is the advice of all rules about limits.
const limitAdvice = "Raise this limit in the policy if you know the file. A file that needs far more than others of its kind may be an attack."

// found are the findings of the parsers. A row has the worst severity that its finding can have.
var found = [...]row{
	{"detect.choice", note, "The folder contains several models, and one of them is read.", "Name the file that you mean."},
	{"detect.name", warning, "The name promises another format than the content has.", "Rename the file: loaders that go by the name read it differently."},
	{"detect.polyglot", danger, "The file has two formats at once, and the policy allows that.", doNotLoad},
	{"gguf.alignment", warning, "The alignment is below what ggml needs.", writeAgain},
	{"gguf.big-endian", note, "A byte order that most readers refuse.", writeAgain},
	{"gguf.charsmap", warning, "The table of a tokenizer is shorter than it states: some readers read beyond it.", doNotLoad},
	{"dcp.optimizer", note, "The checkpoint holds the state of an optimizer beside weights.", "Harmless to loaders. Take the weights alone when you convert it."},
	{"gguf.epsilon", warning, "The epsilon of a norm is not a small positive number: llama.cpp aborts, or computes zeros.", writeAgain},
	{"gguf.expert-count", warning, "The model has more experts than llama.cpp supports: it aborts.", writeAgain},
	{"gguf.gaps", warning, "Bytes between tensors are unused, and the policy allows that.", writeAgain},
	{"gguf.key-kind", warning, "A known key has a value of the wrong kind: readers abort or ignore it.", writeAgain},
	{"gguf.key-text", note, "A key has characters other than printable ASCII.", writeAgain},
	{"gguf.last-padding", note, "The padding after the last tensor is missing.", "Harmless to most readers."},
	{"gguf.layer-count", warning, "The model has no layers, or more than llama.cpp supports: it aborts.", writeAgain},
	{"gguf.name-long", warning, "The name of a tensor is longer than ggml keeps.", writeAgain},
	{"gguf.nested-array", warning, "Nested arrays, which llama.cpp refuses.", writeAgain},
	{"gguf.rope-scaling", warning, "A kind of scaling that llama.cpp does not know.", writeAgain},
	{"gguf.shape-empty", warning, "A tensor without elements.", writeAgain},
	{"gguf.shape-scalar", warning, "A tensor without dimensions.", writeAgain},
	{"gguf.shape-wide", danger, "A dimension does not fit 32 bits: readers that truncate it write beyond a buffer.", doNotLoad},
	{"gguf.split", note, "The file is one of several into which a model is split.", "Keep the files together."},
	{"gguf.template-attr", danger, "The chat template reaches for attributes that no template needs.", readText},
	{"gguf.template-call", danger, "The chat template calls a computed value.", readText},
	{"gguf.template-computed", danger, "The chat template computes the name of an attribute.", readText},
	{"gguf.template-dunder", danger, "The chat template names Python's inner attributes, the way out of a sandbox.", doNotLoad},
	{"gguf.template-global", danger, "The chat template names an object through which the program around it can be reached, or uses an attribute of something that is not data.", readText},
	{"gguf.template-growth", danger, "The chat template loops, or produces text, without a bound by its data.", "Do not render it: it may take all of a server's time or memory."},
	{"gguf.template-import", danger, "The chat template imports or includes another one.", readText},
	{"gguf.template-method", danger, "The chat template uses a method, a filter or a test that no template needs.", readText},
	{"gguf.template-size", warning, "The chat template is longer than any published one, and was not read.", readText},
	{"gguf.template-syntax", danger, "The chat template cannot be read as Jinja, so nobody knows what it does.", readText},
	{"gguf.tensor-unknown", warning, "The file has tensors that the architecture does not have.", "Ask the publisher what they are for."},
	{"gguf.text-nul", warning, "A text contains a NUL: readers written in C see a shorter text.", doNotLoad},
	{"gguf.token-byte", warning, "A token <0x..> that is not a byte.", writeAgain},
	{"gguf.token-count", warning, "Arrays of the vocabulary differ in length: some readers read beyond the end of one.", doNotLoad},
	{"gguf.token-dup", warning, "Two tokens are equal: readers differ in which one they take.", writeAgain},
	{"gguf.token-id", warning, "The number of a special token is beyond the vocabulary.", writeAgain},
	{"gguf.type-internal", warning, "A type that ggml uses in memory and cannot decode.", writeAgain},
	{"gguf.type-negative", danger, "The number of a type is negative as a signed integer: readers in C may read before their table.", doNotLoad},
	{"gguf.type-removed", warning, "A type that ggml no longer has.", writeAgain},
	{"gguf.type-unknown", warning, "An unknown type.", writeAgain},
	{"gguf.version", warning, "A version that most readers refuse.", writeAgain},
	{"gguf.weight-type", danger, "A matrix of integers or doubles: llama.cpp crashes at the first token.", doNotLoad},
	{"npy.bf16-void", note, "A type for which NumPy has no name is read as BF16.", "Load it with ml_dtypes."},
	{"npy.f8-e5m2", note, "A type that NumPy cannot load is read as F8_E5M2.", "Load it with ml_dtypes."},
	{"npy.long-header", note, "The header is longer than numpy.load accepts by default.", "Raise max_header_size if you know the file."},
	{"npy.native-order", warning, "The byte order is given as native: it depends on the machine that reads the file.", writeAgain},
	{"npy.python2", note, "A number is written as Python 2 writes it.", writeAgain},
	{"npy.type-lost", warning, "The original type is unknown: several one-byte types are stored in the same way.", writeAgain},
	{"npy.type-unknown", warning, "A type that is not one of NumPy's.", writeAgain},
	{"npz.case", warning, "Two names differ only in case.", "Loaders that ignore case confuse them: rename one."},
	{"npz.comment", note, "The archive ends with a comment.", "Harmless by its content."},
	{"npz.member", warning, "A member is not an array.", "Ask the publisher what it is for."},
	{"onnx.compiled", danger, "An operator runs precompiled code, which cannot be inspected here.", "Ask for the model that it was compiled from, and compile that yourself."},
	{"onnx.domain", warning, "An operator belongs to a domain that is not part of the runtime.", "Ask the publisher which library it needs, and read its code."},
	{"onnx.expression", danger, "The metadata contains an expression that YOLOv5 evaluates as Python.", "Do not load it. Read the expression."},
	{"onnx.external-path", danger, "The data of a tensor is at a path that leads out of the model's folder, at least on some systems.", doNotLoad},
	{"onnx.loop", warning, "A loop runs as long as the data say.", "Run it with a limit of time, or ask for a model without loops."},
	{"onnx.python", danger, "An operator runs Python code.", doNotLoad},
	{"onnx.size", danger, "The size of a tensor is computed from constants in a way that is not followed here.", "Ask for the model with its constants folded, as exporters write it."},
	{"pickle.nested", warning, "Bytes in a pickle are a file that another loader would open.", "Do not give these bytes to a loader. Scan them separately."},
	{"pickle.py2-bytes", warning, "A str of Python 2 is not UTF-8: loaders ask for an encoding.", writeAgain},
	{"pth.alignment", note, "Storages are not aligned: another program wrote or packed the archive.", writeAgain},
	{"pth.extra-member", warning, "A member that torch.save does not write.", "It was found harmless by its content; ask the publisher what it is for."},
	{"pth.index-extra", warning, "Shards contain tensors that the index does not name.", "Ask for a complete index."},
	{"pth.index-size", note, "The size in the index differs from the size of the shards.", "Harmless to loaders."},
	{"pth.name-collision", note, "Two tensors would have the same name, so their names are written in full.", "Harmless."},
	{"pth.not-understood", warning, "A checkpoint contains more than tensors and plain data; the caller chose to skip the rest.", "Take only the tensors: write them as safetensors."},
	{"pth.script-class", danger, "The code or a pickle of a TorchScript program names a class that is not in its code: its code is in a library.", "Ask the publisher which library has the class, and read its code."},
	{"pth.script-member", danger, "A TorchScript program has a member that is not judged here, such as the bytecode of mobile runtimes.", "Save it again with torch.jit.save, without other files."},
	{"pth.script-operator", danger, "The code of a TorchScript program uses an operator or a name that does more than compute, or is unknown.", "Do not load it. Read the line that is named."},
	{"pth.script-runs", danger, "A TorchScript program whose code only computes. Some operators of torch trust indices and addresses in tensors, so that a program can still take over the process.", "Ask for the weights as safetensors, or run it where nothing can be lost and lower this rule."},
	{"pth.script-setstate", danger, "A class of a TorchScript program runs code when it is loaded.", "Ask for the weights as safetensors, or for a model without packed parameters."},
	{"pth.script-syntax", danger, "The code of a TorchScript program is not as torch prints it.", "Save it again with torch.jit.save of a released version."},
	{"safetensors.alias-dangling", warning, "A name is an alias of a tensor that does not exist.", writeAgain},
	{"safetensors.dtype-unknown", note, "Some tensors have types that are not known here.", "Use a newer version, or do not use these tensors."},
	{"safetensors.index-extra", warning, "Shards contain tensors that the index does not name.", "Ask for a complete index."},
	{"safetensors.index-size", note, "The size in the index differs from the size of the shards.", "Harmless to loaders."},
	{"scan.findings", note, "An archive has more findings than are listed.", "Unpack it, and scan what is in it."},
	{"sidecar.auto-map", danger, "A configuration names custom code for the model.", "Read that code before you load the model with trust_remote_code, or use a class of the library."},
	{"sidecar.code", warning, "The folder contains code, or a file that makes a tool install or build something.", "Read it before you run or install anything from this folder. With \"code\": \"refuse\" the policy refuses such files."},
	{"sidecar.beyond-weights", danger, "A configuration states a far larger model than the weights beside it, and its library makes the rest.", "Do not load it. Ask the publisher for the configuration that belongs to the weights."},
	{"sidecar.count", danger, "A configuration states more parts than any model has, and its library creates them one by one.", "Do not load it. Ask the publisher for the configuration that belongs to the weights."},
	{"sidecar.expression", danger, "A configuration contains an expression that its library evaluates as Python.", "Do not load it. Read the expression."},
	{"sidecar.handler", danger, "The folder contains code that a model server runs.", "Read the code, or serve the model without it."},
	{"sidecar.import", danger, "A configuration names code that its library imports and runs, in some versions without asking.", "Read what it names, or load the model with classes of the library."},
	{"sidecar.index-path", danger, "An index of shards, or the name of the weights, leads out of the model's folder.", doNotLoad},
	{"sidecar.keras-code", danger, "A Keras configuration contains code, such as a Lambda layer.", doNotLoad},
	{"sidecar.keras-file", danger, "A Keras configuration names a file from which a layer reads its vocabulary.", "Save the vocabulary in the model."},
	{"sidecar.keras-module", danger, "A Keras configuration names a module that is not part of Keras.", doNotLoad},
	{"sidecar.library", danger, "A configuration names a library of machine code that a runtime loads.", "Do not load it unless the library is one of the runtime's own."},
	{"sidecar.mar-handler", danger, "TorchServe runs a handler or another module that is in the archive.", "Read the code, or serve the model with a handler of TorchServe's own."},
	{"sidecar.mar-requirements", warning, "TorchServe may install packages that the archive names.", "Leave install_py_dep_per_model off, or read the list."},
	{"sidecar.no-kind", warning, "A configuration is in a folder that no known library loads.", "Ask the publisher which library loads the folder. If none does, remove the file."},
	{"sidecar.pickle", danger, "A text contains pickles that its library loads.", "Do not load it. Ask for only the weights, as safetensors."},
	{"sidecar.regex", danger, "A library matches names or texts with a regular expression from the model's files that may take exponential time.", "Do not load it. Look in the expression for a repetition inside a repetition, or a repetition of alternatives that begin the same way."},
	{"sidecar.skops-node", danger, "A skops schema names a kind of node that loads more than data.", doNotLoad},
	{"sidecar.skops-type", danger, "A skops schema names a type that does not belong to a library that skops supports.", doNotLoad},
	{"sidecar.syntax", warning, "A JSON text that Python's json module does not read.", fetchAgain},
	{"sidecar.target", danger, "A configuration of Hydra, SpeechBrain or NeMo names something to be called.", "Do not instantiate it. Read what it names."},
	{"sidecar.tensorflow", danger, "A TensorFlow model as text: its operations may open files and run code.", "Do not load it. Ask for the weights as safetensors, and build the model from code that you have read."},
	{"sidecar.tokenizer", danger, "The file of a tokenizer makes its library use all memory, or abort.", "Do not load it. Look at its padding, its normalizers and its table of characters."},
	{"sidecar.trust-remote-code", danger, "The file sets trust_remote_code, which some libraries follow without asking.", "Read that code first, or remove the member from the file."},
	{"sidecar.unexplained", danger, "No library is known to read a text or a member of it, and it could name code, a file or an address.", "Ask the publisher which library reads it. If none follows what it says, make an exception with a reason."},
	{"sidecar.yaml-tag", danger, "A tag makes YAML construct a Python object.", "Read it only with yaml.safe_load."},
	{"template.attr", danger, "The chat template reaches for attributes that no template needs.", readText},
	{"template.call", danger, "The chat template calls a computed value.", readText},
	{"template.computed", danger, "The chat template computes the name of an attribute.", readText},
	{"template.dunder", danger, "The chat template names Python's inner attributes, the way out of a sandbox.", doNotLoad},
	{"template.global", danger, "The chat template names an object through which the program around it can be reached, or uses an attribute of something that is not data.", readText},
	{"template.growth", danger, "The chat template loops, or produces text, without a bound by its data.", "Do not render it: it may take all of a server's time or memory."},
	{"template.import", danger, "The chat template imports or includes another one.", readText},
	{"template.method", danger, "The chat template uses a method, a filter or a test that no template needs.", readText},
	{"template.size", warning, "The chat template is longer than any published one, and was not read.", readText},
	{"template.syntax", danger, "The chat template cannot be read as Jinja, so nobody knows what it does.", readText},
	{"tflite.loop", warning, "An operator runs as long as the data say.", "Run it with a limit of time, or ask for a model without loops."},
	{"tflite.operator", danger, "An operator is not LiteRT's own: what runs is code that a host adds under its name.", "Ask the publisher which library has the operator, and read its code."},
}

// findingRow returns the row of a finding, or a general one for a finding that this table does not
// list.
func findingRow(code string) row {
	for _, r := range found {
		if r.id == code {
			return r
		}
	}
	return row{code, warning, "A finding of the format's parser; its text says what was found.", "Read its text."}
}

// limitRow returns the row of an axis.
func limitRow(a limits.Axis) row {
	what := map[limits.Axis]string{
		limits.SingleAlloc: "One buffer would be larger than the policy allows.", limits.Total: "The file asks for more memory than the policy allows.",
		limits.Items: "The file has more tensors, keys, members or values than the policy allows.", limits.InflateRatio: "The file inflates to more than the policy allows, like a decompression bomb.",
		limits.ExpandRatio: "Its tensors decode to more than the policy allows for a file of this size.", limits.Depth: "The file nests deeper than the policy allows.",
		limits.StepCount: "The file takes more steps to read than the policy allows.", limits.WorkingSet: "Its pickles need more working memory than the policy allows.",
		limits.OpenFiles: "The model needs more open files than the policy allows.", limits.Requests: "The file takes more requests to read than the policy allows.",
		limits.Fetched: "More bytes would be fetched than the policy allows.", limits.Time: "The file takes longer to read than the policy allows.",
	}[a]
	return row{"limit." + a.String(), warning, what, limitAdvice}
}
