package vm

// A rule says how a global may be used. The letters of a signature are in
// [machine.fits]: one per argument, '?' before those that may be left out, '*'
// before the one that may stand any number of times, '|' between alternatives.
// An empty signature takes no argument; "-" takes no call.
type rule struct {
	call  string // by REDUCE, OBJ and INST
	new   string // by NEWOBJ and NEWOBJ_EX
	state string // by BUILD, one letter; empty takes none
}

var rules = [...]rule{
	OrderedDict: {"?e", "", "A"},
	Counter:     {"?k", "", "A"},
	DefaultDict: {"|F?E", "", ""},
	Deque:       {"?e?z", "", ""},
	Set:         {"?e", "", ""},
	FrozenSet:   {"?e", "-", ""},
	ByteArray:   {"|y|tl", "-", ""},

	Complex:       {"ff", "-", ""},
	Slice:         {"zzz", "-", ""},
	Range:         {"iii", "-", ""},
	EncodeBytes:   {"tl|tu", "-", ""},
	BytesType:     {"", "-", ""},
	PlainType:     {"-", "-", ""},
	Reconstructor: {"Gcn", "-", ""},
	Namespace:     {"", "", "B"},
	Path:          {"*t", "-", ""},
	DateTime:      {"*Z", "-", ""},
	TorchVersion:  {"t", "t", ""},

	RebuildTensor:             {"SiII", "-", ""},
	RebuildTensorV2:           {"SiIIbh?g", "-", ""},
	RebuildTensorV3:           {"SiIIbhd?g", "-", ""},
	RebuildParameter:          {"Tbh", "-", ""},
	RebuildParameterWithState: {"Tbhs", "-", ""},
	RebuildQTensor:            {"SiIIqbh", "-", ""},
	RebuildSparseTensor:       {"LP", "-", ""},
	RebuildSparseCSR:          {"LP", "-", ""},
	RebuildNestedTensor:       {"TTTT", "-", ""},
	RebuildMetaTensor:         {"dIIb", "-", ""},
	RebuildWrapperSubclass:    {"CdIIiLDb", "-", ""},
	RebuildDeviceFromNumpy:    {"adDb", "-", ""},
	RebuildDeviceFromCPU:      {"TdDb", "-", ""},
	RebuildFromType:           {"RC(s", "-", ""},
	TorchParameter:            {"T?b", "|T?b", "V"},
	TorchTensor:               {"", "", "W"},
	TorchStorage:              {"-", "-", ""},
	TorchUntyped:              {"-", "-", ""},
	TorchDType:                {"-", "-", ""},
	TorchQScheme:              {"-", "-", ""},
	TorchSize:                 {"?I", "?I", ""},
	TorchDevice:               {"t?i", "-", ""},
	TorchLayout:               {"t", "-", ""},

	NumpyReconstruct: {"N0x", "-", "Y"},
	NumpyScalar:      {"Jw", "-", ""},
	NumpyDType:       {"Xjj", "-", "K"},
	NumpyFromBuffer:  {"yJIt?I", "-", ""},
	NumpyArray:       {"-", "-", ""},
	NumpyType:        {"-", "-", ""},

	JoblibArray: {"-", "", "B"}, // whose __init__ wants what BUILD gives
}
