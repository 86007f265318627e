package vm

// A rule says how a global may be used. The letters of a signature are documented at
// [machine.fits]: one per argument, '?' before optional ones, '*' before one that may be
// repeated, '|' between alternatives. An empty signature means no arguments; "-" means
// that it may not be called.
type rule struct {
	call  string // by REDUCE, OBJ and INST
	new   string // by NEWOBJ and NEWOBJ_EX
	state string // by BUILD, one letter; empty takes none
}

// signature returns that of REDUCE or of NEWOBJ.
func (r *rule) signature(isNew bool) string {
	if isNew {
		return r.new
	}
	return r.call
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
	NumpyScalar:      {"Jx", "-", ""},
	NumpyDType:       {"Xjj", "-", "K"},
	NumpyFromBuffer:  {"yJIt?I", "-", ""},
	NumpyArray:       {"-", "-", ""},
	NumpySubclass:    {"-", "-", ""},
	NumpyType:        {"-", "-", ""},

	JoblibArray: {"-", "", "B"}, // its __init__ would need what BUILD gives
	// The set says how a class is used.
	LibraryData: {"-", "-", ""},
	SetMember:   {"-", "-", ""},
}
