package fuzz

// fragments are instructions and short sequences of them: values of each kind that the
// machine tells apart, complete and incomplete, and operations on them.
var fragments = [...]string{
	// Instructions that use the value on the stack.
	"R", "R", "R", "b", "b", "b", "a", "s", "u", "e", "o", "\x81", "\x81", "\x92", "\x90", "\x91", "\x93", "Q", "0", "1", "2",
	"t", "t", "l", "d", "\x85", "\x85", "\x86", "\x86", "\x87", "(", "(", "(", ".",
	"q\x00", "h\x00", "q\x01", "h\x01", "q\x02", "h\x02", "\x94", "p3\ng3\n", ")R", ")\x81", ")\x85R", "}b", ")b", "N\x86b", "0h\x00", "K\x01b", "]b",
	// Plain values.
	"N", "\x88", "\x89", "K\x01", "K\x04", "J\xff\xff\xff\xff", "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", "\x8a\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
	"G?\xf0\x00\x00\x00\x00\x00\x00", "G\x7f\xf8\x00\x00\x00\x00\x00\x00", "I01\n", "L5L\n", "F1.5\n", "S'a'\n", "Vb\n", "U\x01\xff",
	"X\x01\x00\x00\x00a", "X\x01\x00\x00\x00b", "\x8c\x01c", "X\x07\x00\x00\x00storage", "X\x03\x00\x00\x00cpu", "X\x01\x00\x00\x000", "X\x06\x00\x00\x00latin1",
	"X\x04\x00\x00\x00\x80\x02K.", "\x8c\x02os", "\x8c\x06system", "C\x04\x80\x04N.", "C\x02ab", "\x96\x01\x00\x00\x00\x00\x00\x00\x00x", "P7\n",
	")", "]", "}", "\x8f", "(K\x01K\x02t", "K\x04\x85", "]K\x01a", "}X\x01\x00\x00\x00kNs", "}K\x01Ns", "(K\x01K\x02\x91", "(K\x01K\x02\x90",
	// Globals.
	"cos\nsystem\n", "ios\nsystem\n", "cmy.mod\nThing\n", "cbuiltins\ngetattr\n", "cos\npath.join\n", "\x82\x01", "c__builtin__\nset\n",
	"ccollections\nOrderedDict\n", "ccollections\nCounter\n", "ccollections\ndefaultdict\n", "ccollections\ndeque\n", "cbuiltins\nset\n", "cbuiltins\nfrozenset\n",
	"cbuiltins\nbytearray\n", "cbuiltins\ncomplex\n", "cbuiltins\nslice\n", "cbuiltins\nobject\n", "cbuiltins\ndict\n", "c_codecs\nencode\n", "ccopyreg\n_reconstructor\n",
	"cargparse\nNamespace\n", "cpathlib\nPosixPath\n", "cdatetime\ndate\n", "ctorch\nSize\n", "ctorch\ndevice\n", "ctorch\nfloat32\n", "ctorch\nTensor\n",
	"ctorch\nFloatTensor\n", "ctorch\nFloatStorage\n", "ctorch.storage\nUntypedStorage\n", "ctorch\nper_tensor_affine\n", "ctorch.nn.parameter\nParameter\n",
	"ctorch._utils\n_rebuild_tensor\n", "ctorch._utils\n_rebuild_tensor_v2\n", "ctorch._utils\n_rebuild_parameter\n", "ctorch._utils\n_rebuild_sparse_tensor\n",
	"ctorch._utils\n_rebuild_qtensor\n", "ctorch._tensor\n_rebuild_from_type_v2\n", "ctorch.serialization\n_get_layout\n", "ctorch.torch_version\nTorchVersion\n",
	"cnumpy\ndtype\n", "cnumpy\nndarray\n", "cnumpy.core.multiarray\n_reconstruct\n", "cnumpy.core.multiarray\nscalar\n", "cjoblib.numpy_pickle\nNumpyArrayWrapper\n",
	// What calls give.
	"ccollections\nOrderedDict\n)R", "ccollections\ndefaultdict\nN\x85R", "ccollections\ndeque\n]K\x02\x86R", "cbuiltins\nbytearray\n)R", "cargparse\nNamespace\n)R",
	"ctorch\nSize\n)\x85R", "ctorch\ndevice\nX\x03\x00\x00\x00cpu\x85R", aStorage, aTensor, aTensor, aDType, aDType + aDTypeState + "b",
	"ctorch.nn.parameter\nParameter\n" + aTensor + "\x89\x86\x81", "ctorch._utils\n_rebuild_parameter\n" + aTensor + "\x89}\x87R",
	"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R", "(K\x01K\x01\x85" + aDType + "\x89C\x08abcdefght", aDTypeState,
	"\x89\x89}\x87", aTensor + "\x89}\x89N", "(" + aStorage + "K\x00K\x04\x85K\x01\x85t",
	// The stream.
	"\x80\x02", "\x80\x04", "\x95\x05\x00\x00\x00\x00\x00\x00\x00", "\x95\x20\x00\x00\x00\x00\x00\x00\x00", "\x97", "\x98", "\x00",
}

const (
	aStorage    = "(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ"
	aTensor     = "ctorch._utils\n_rebuild_tensor\n(" + aStorage + "K\x00K\x04\x85K\x01\x85tR"
	aDType      = "cnumpy\ndtype\nX\x02\x00\x00\x00f8\x89\x88\x87R"
	aDTypeState = "(K\x03X\x01\x00\x00\x00<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t"
)

// Fragments returns a pickle of unrelated fragments, one for each byte, which no plan
// would produce.
func Fragments(data []byte) []byte {
	out := []byte{}
	for _, c := range data[:min(len(data), 200)] {
		out = append(out, fragments[int(c)%len(fragments)]...)
	}
	return append(out, '.')
}
