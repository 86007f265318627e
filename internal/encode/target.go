package encode

// A Target is a stored form that a scheme writes: a row of its folder. The command and its
// documents print what it says.
type Target struct {
	Name    string // by which callers ask for it
	Library string // whose form it is
	// Converts are the names under which a conversion has it as its format, its own first; nil
	// for none.
	Converts []string
	Served   Served
	Nests    bool // scales can be quantized too
	// CheckBlock returns an error if no such number of elements shares a scale; nil if the form
	// decides how many do.
	CheckBlock func(int) error
	New        func(Choices) Quantizer
}

// Choices are what the caller decides of a target.
type Choices struct {
	// Include and Exclude choose by name and override the rules; nil chooses none.
	Include, Exclude func(name string) bool
	Measure          bool // compare each weight with its decoded encoding
	Block            int  // numbers per scale; 0 is the form's own
	Nested           bool // the scales are quantized too
}

// Served says by which names other libraries know a target.
type Served struct {
	Method       string // of vLLM and SGLang; "" if they have none
	VLLM, SGLang string // class of a scheme of compressed-tensors, or algorithm of ModelOpt
	Diffusers    string // method; "" if it has none
	TriedAs      string // the target whose loader is the same, and was tried with every type
}
