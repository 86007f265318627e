package vm

import "strings"

// A Global is one (module, name) pair that a pickle names.
type Global struct {
	Module, Name string // as Python 3 resolves them
	// Written is "module name" as the file has it, if the names of Python 2
	// were mapped to those of Python 3; else empty.
	Written string
	ID      ID
	Status  Status
	Reason  string // why it is dangerous or not allowed
	Off     int64  // offset of its first use
	Uses    int    // how often it is named

	class *class // what a set, or the data of libraries, says about it
}

// Set returns the name of the class set that a [SetMember] belongs to, or "".
func (g *Global) Set() string {
	if g.ID != SetMember {
		return ""
	}
	return g.class.set.Name
}

// A Status is the judgement about a global.
type Status uint8

// The statuses.
const (
	Allowed   Status = iota // may be built
	Unknown                 // not known to be dangerous, but refused all the same
	Dangerous               // runs code, reads or writes files, or makes that possible
)

var statusNames = [...]string{"allowed", "unknown", "dangerous"}

func (s Status) String() string { return statusNames[s] }

// String is the pair with a dot, as Python writes it.
func (g *Global) String() string { return g.Module + "." + g.Name }

// IsExtension reports a code of the extension registry in place of a name.
func (g *Global) IsExtension() bool {
	return g.Module == "copyreg" && strings.HasPrefix(g.Name, extensionName)
}

// An ID says which allowed global a [Global] is.
type ID uint16

// The allowed globals. Several names may share an id: the torch.*Storage
// classes are one, told apart by Name.
const (
	NoID ID = iota

	// Containers of Python. Their values are dicts, lists, sets and bytes.
	OrderedDict
	Counter
	DefaultDict
	Deque
	Set
	FrozenSet
	ByteArray

	// Small data of Python. Their values are objects.
	Complex       // (real, imaginary)
	Slice         // (start, stop, step)
	Range         // (start, stop, step)
	EncodeBytes   // _codecs.encode: its values are bytes
	BytesType     // bytes: (), which is how old protocols write an empty one
	PlainType     // int, str, list, ...: never called
	Reconstructor // copyreg._reconstructor: gives an object of its first argument
	Namespace     // argparse.Namespace, types.SimpleNamespace: State is a dict
	Path          // pathlib.*
	DateTime      // datetime.*
	TorchVersion  // torch.torch_version.TorchVersion

	// PyTorch.
	RebuildTensor             // (storage, offset, size, stride)
	RebuildTensorV2           // (storage, offset, size, stride, grad, hooks[, metadata])
	RebuildTensorV3           // (storage, offset, size, stride, grad, hooks, dtype[, metadata])
	RebuildParameter          // (tensor, grad, hooks)
	RebuildParameterWithState // (tensor, grad, hooks, state)
	RebuildQTensor            // (storage, offset, size, stride, quantizer, grad, hooks)
	RebuildSparseTensor       // (layout, parts)
	RebuildSparseCSR          // (layout, parts), of PyTorch 1.9 to 1.12
	RebuildNestedTensor       // (buffer, sizes, strides, offsets)
	RebuildMetaTensor         // (dtype, size, stride, grad)
	RebuildWrapperSubclass    // (class, dtype, size, stride, offset, layout, device, grad)
	RebuildDeviceFromNumpy    // (array, dtype, device, grad)
	RebuildDeviceFromCPU      // (tensor, dtype, device, grad)
	RebuildFromType           // (function, class, its arguments, state)
	TorchParameter            // torch.nn.parameter.Parameter: (tensor, grad)
	TorchTensor               // torch.Tensor, torch.FloatTensor, ...: () and State
	TorchStorage              // torch.FloatStorage, ...: never called
	TorchUntyped              // torch.storage.UntypedStorage, TypedStorage: never called
	TorchDType                // torch.float32, ...: never called
	TorchQScheme              // torch.per_tensor_affine, ...: never called
	TorchSize                 // (ints)
	TorchDevice               // (type[, index])
	TorchLayout               // torch.serialization._get_layout: (name)

	// NumPy.
	NumpyReconstruct // (ndarray, shape, code) and State
	NumpyScalar      // (dtype, bytes), or a text that Python 2 wrote
	NumpyDType       // (code, align, copy) and State
	NumpyFromBuffer  // (bytes, dtype, shape, order)
	NumpyArray       // the class numpy.ndarray: never called
	NumpySubclass    // numpy.matrix, ...: never called
	NumpyType        // numpy.float32, ...: never called

	// Others.
	JoblibArray // joblib.numpy_pickle.NumpyArrayWrapper, of [ScanPlain] alone: () and State
	LibraryData // a class of a library that holds data
	SetMember   // a class of a set, whose status is Unknown
)
