package vm

import "strings"

// An entry is the allowed names of one module that share an id.
type entry struct {
	module string
	id     ID
	// weightsOnly says which of the names PyTorch's restricted loader accepts: all, none,
	// or all but a few.
	weightsOnly bool
	names       string
}

// allowlist has exact pairs of module and name that stand for data. What PyTorch's
// restricted loader accepts is from torch/_weights_only_unpickler.py of [torchVersion];
// the rest is what honest training checkpoints contain.
var allowlist = [...]entry{
	{"collections", OrderedDict, known, "OrderedDict"},
	{"collections", Counter, known, "Counter"},
	{"collections", DefaultDict, other, "defaultdict"},
	{"collections", Deque, other, "deque"},
	{"builtins", Set, known, "set"},
	{"builtins", FrozenSet, other, "frozenset"},
	{"builtins", ByteArray, known, "bytearray"},
	{"builtins", Complex, known, "complex"},
	{"builtins", Slice, other, "slice"},
	{"builtins", Range, other, "range"},
	{"builtins", BytesType, other, "bytes"},
	{"builtins", PlainType, other, "bool dict float int list object str tuple"},
	{"_codecs", EncodeBytes, known, "encode"},
	{"copyreg", Reconstructor, other, "_reconstructor"},
	{"argparse", Namespace, other, "Namespace"},
	{"types", Namespace, other, "SimpleNamespace"},
	{"pathlib", Path, other, pathNames},
	{"pathlib._local", Path, other, pathNames},
	{"datetime", DateTime, other, "date datetime time timedelta timezone"},

	{"torch", TorchTensor, known, "Tensor " + tensorNames + " BoolTensor"},
	{"torch.cuda", TorchTensor, known, tensorNames + " BoolTensor"},
	{"torch.sparse", TorchTensor, known, tensorNames},
	{"torch.cuda.sparse", TorchTensor, known, tensorNames},
	{"torch", TorchStorage, known, storageNames +
		" QInt32Storage QInt8Storage QUInt2x4Storage QUInt4x2Storage QUInt8Storage"},
	{"torch.cuda", TorchStorage, known, storageNames},
	{"torch.storage", TorchUntyped, known, "TypedStorage UntypedStorage"},
	{"torch.storage", TorchUntyped, other, "_TypedStorage _UntypedStorage"}, // 1.11 to 1.13
	{"torch", TorchDType, known, "bcomplex32 bfloat16 bits16 bits1x8 bits2x4 bits4x2 bits8 bool " +
		"complex128 complex32 complex64 float16 float32 float4_e2m1fn_x2 float64 float8_e4m3fn " +
		"float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu int1 int16 int2 int3 int32 int4 " +
		"int5 int6 int64 int7 int8 qint32 qint8 quint2x4 quint4x2 quint8 uint1 uint16 uint2 uint3 " +
		"uint32 uint4 uint5 uint6 uint64 uint7 uint8"},
	{"torch", TorchQScheme, known, "per_channel_affine per_channel_affine_float_qparams " +
		"per_channel_symmetric per_tensor_affine per_tensor_symmetric"},
	{"torch", TorchSize, known, "Size"},
	{"torch", TorchDevice, known, "device"},
	{"torch.serialization", TorchLayout, known, "_get_layout"},
	{"torch.nn.parameter", TorchParameter, known, "Parameter"},
	{"torch.torch_version", TorchVersion, other, "TorchVersion"},
	{"torch._utils", RebuildTensor, known, "_rebuild_tensor"},
	{"torch._utils", RebuildTensorV2, known, "_rebuild_tensor_v2"},
	{"torch._utils", RebuildTensorV3, known, "_rebuild_tensor_v3"},
	{"torch._utils", RebuildParameter, known, "_rebuild_parameter"},
	{"torch._utils", RebuildParameterWithState, known, "_rebuild_parameter_with_state"},
	{"torch._utils", RebuildQTensor, known, "_rebuild_qtensor"},
	{"torch._utils", RebuildSparseTensor, known, "_rebuild_sparse_tensor"},
	{"torch._utils", RebuildSparseCSR, other, "_rebuild_sparse_csr_tensor"},
	{"torch._utils", RebuildNestedTensor, other, "_rebuild_nested_tensor"},
	{"torch._utils", RebuildMetaTensor, known, "_rebuild_meta_tensor_no_storage"},
	{"torch._utils", RebuildWrapperSubclass, known, "_rebuild_wrapper_subclass"},
	{"torch._utils", RebuildDeviceFromNumpy, known, "_rebuild_device_tensor_from_numpy"},
	{"torch._utils", RebuildDeviceFromNumpy, other, "_rebuild_xla_tensor"},
	{"torch._utils", RebuildDeviceFromCPU, known, "_rebuild_device_tensor_from_cpu_tensor"},
	{"torch._tensor", RebuildFromType, known, "_rebuild_from_type_v2"},
	{"torch._tensor", RebuildFromType, other, "_rebuild_from_type"}, // 1.9 to 1.10
	{"torch.tensor", RebuildFromType, other, "_rebuild_from_type"},  // 1.7 to 1.8

	{"numpy.core.multiarray", NumpyReconstruct, other, "_reconstruct"},
	{"numpy._core.multiarray", NumpyReconstruct, other, "_reconstruct"},
	{"numpy.core.multiarray", NumpyScalar, other, "scalar"},
	{"numpy._core.multiarray", NumpyScalar, other, "scalar"},
	{"numpy.core.numeric", NumpyFromBuffer, other, "_frombuffer"},
	{"numpy._core.numeric", NumpyFromBuffer, other, "_frombuffer"},
	{"numpy", NumpyArray, other, "ndarray"},
	{"numpy", NumpySubclass, other, "chararray matrix memmap recarray"},
	{"numpy.matrixlib.defmatrix", NumpySubclass, other, "matrix"},
	{"numpy.rec", NumpySubclass, other, "recarray"},
	{"numpy.core.records", NumpySubclass, other, "recarray"},
	{"numpy._core.records", NumpySubclass, other, "recarray"},
	{"numpy.char", NumpySubclass, other, "chararray"},
	{"numpy.core.defchararray", NumpySubclass, other, "chararray"},
	{"numpy._core.defchararray", NumpySubclass, other, "chararray"},
	{"numpy.core.memmap", NumpySubclass, other, "memmap"},
	{"numpy._core.memmap", NumpySubclass, other, "memmap"},
	{"numpy.rec", NumpyType, other, "record"},
	{"numpy.core.records", NumpyType, other, "record"},
	{"numpy._core.records", NumpyType, other, "record"},
	{"numpy", NumpyDType, other, "dtype"},
	{"numpy", NumpyType, other, "bool bool_ byte bytes_ cdouble clongdouble complex128 complex256 complex64 " +
		"csingle datetime64 double float128 float16 float32 float64 half int16 int32 int64 int8 intc intp " +
		"long longdouble longlong short single str_ timedelta64 ubyte uint uint16 uint32 uint64 uint8 uintc " +
		"uintp ulong ulonglong ushort character complexfloating flexible floating generic inexact integer number " +
		"object_ record signedinteger unsignedinteger void"},
}

const (
	pathNames    = "Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath"
	tensorNames  = "BFloat16Tensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor ShortTensor"
	storageNames = "BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage " +
		"DoubleStorage FloatStorage HalfStorage IntStorage LongStorage ShortStorage"
)

// lookup returns the id of a pair, NoID if it is not in the allowlist.
func lookup(module, name string) (id ID, weightsOnly bool) {
	for i := range allowlist {
		e := &allowlist[i]
		if e.module == module && hasName(e.names, name) {
			return e.id, e.weightsOnly
		}
	}
	return NoID, false
}

// hasName reports whether a list of names holds one.
func hasName(list, name string) bool {
	for list != "" {
		var one string
		if one, list, _ = strings.Cut(list, " "); one == name {
			return name != ""
		}
	}
	return false
}

// python3 returns Python 3's names for a global of Python 2.
func python3(module, name string) (string, string) {
	if both, ok := pythonTwoNames[module+" "+name]; ok {
		module, name, _ = strings.Cut(both, " ")
		return module, name
	}
	if to, ok := pythonTwoModules[module]; ok {
		return to, name
	}
	return module, name
}

// takenByTorch reports whether PyTorch's restricted loader accepts a global. It maps
// Python 2 names for any protocol and then compares the dotted path, so it does not
// matter where the module ends.
func takenByTorch(module, name string) bool {
	module, name = python3(module, name)
	path := module + "." + name
	dot := strings.LastIndexByte(path, '.')
	_, taken := lookup(path[:dot], path[dot+1:])
	return taken
}
