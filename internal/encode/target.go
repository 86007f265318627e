package encode

import (
	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// A Target is a stored form that a scheme writes: a row of its folder. The command and its
// documents print what it says.
type Target struct {
	Name    string // by which callers ask for it
	Library string // whose form it is
	// Scaled or Groups is the arithmetic of the codes; both are nil where the scheme has its
	// own.
	Scaled *scaled.Format
	Groups *scaled.Groups
	// Converts are the names under which a conversion has it as its format, its own first; nil
	// for none.
	Converts []string
	Served   Served
	Experts  *Experts // of a mixture, if they are quantized too; nil to leave them alone
	Fuses    bool     // loaders fuse matrices, which must then have the same form
	// Replaces says that codes are what transformers' modules have as weight, or that these have
	// none: a class that needs the numbers of a weight, or asks for its type, has codes.
	Replaces   bool
	KeepsRules bool // it is a format of a library that keeps its own rules: see [Options].Rules
	Nests      bool // scales can be quantized too
	// CheckBlock returns an error if no such number of elements shares a scale; nil if the form
	// decides how many do.
	CheckBlock func(int) error
	// New returns the quantizer, if it has choices of its own.
	New func(Choices) Quantizer
	// Start makes the encoder for one model, if New is nil.
	Start func(*Job) (Encoder, error)
}

// Quantizer returns what writes the target.
func (t *Target) Quantizer(c Choices) Quantizer {
	if t.New != nil {
		return t.New(c)
	}
	return chosen{t, c}
}

// chosen is a target with what the caller decides.
type chosen struct {
	t *Target
	c Choices
}

// A Job is what a target makes an encoder for: a model, with what its caller decides.
type Job struct {
	Target  *Target
	Choices Choices
	Budget  *limits.Budget
	Model   tensor.Model
	Options *Options
}

func (q chosen) Check() error { return nil }

func (q chosen) Start(b *limits.Budget, m tensor.Model, o *Options) (Encoder, error) {
	return q.t.Start(&Job{q.t, q.c, b, m, o})
}

// Formats lists the arithmetic of targets: with a scale for each block, and in groups.
func Formats(all []*Target) (blocks []scaled.Format, groups []scaled.Groups) {
	for _, t := range all {
		if t.Scaled != nil {
			blocks = append(blocks, *t.Scaled)
		}
		if t.Groups != nil {
			groups = append(groups, *t.Groups)
		}
	}
	return blocks, groups
}

// Layout describes for people how weights are stored; "" if that depends on choices.
func (t *Target) Layout() string {
	switch {
	case t.Scaled != nil:
		return t.Scaled.Layout
	case t.Groups != nil:
		return t.Groups.Layout
	}
	return ""
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
	Transformers string // why transformers does not load it; "" if it may
	Method       string // of vLLM and SGLang; "" if they have none
	SGLangMethod string // that of SGLang, if it is another
	VLLM, SGLang string // class of a scheme of compressed-tensors, or algorithm of ModelOpt
	Diffusers    string // method; "" if it has none
	TriedAs      string // the target whose loader is the same, and was tried with every type
	// Packers are the libraries that load it beside transformers, and Packed the method by which
	// they know it.
	Packers []loaders.Library
	Packed  string
}

// Experts says what is known of the experts of a mixture in a target.
type Experts struct {
	Stops string // why transformers does not load their codes; "" if it does
	Only  bool   // transformers, where it stacks experts, finds them in codes only
	// Others are targets to choose where not all experts fit.
	Others []Other
}

// An Other is a target that may fit where another one does not.
type Other struct {
	Name string
	Fits func(rows, cols int64) bool // nil if every matrix does
}

// Rules say which tensors a library treats unlike the others.
type Rules struct {
	Library string
	// Casts reports whether it casts a tensor to the type of the model. Stays and Eight report
	// whether it leaves a module alone, or quantizes it to 8 bits.
	Casts func(*tensor.Info) bool
	Stays func(module string) bool
	Eight func(module string) bool
}

// An Entry is an entry of the metadata of a file.
type Entry struct {
	Key   string
	Value any
}

// A Describer is an encoder that adds to the metadata what loaders need. name returns the
// names of the tensors of the output, of which there are n.
type Describer interface {
	Describe(b *limits.Budget, n int, name func(i int) string, meta []Entry) ([]Entry, error)
}
