package transformers

// A Reason says why a [Rule] leaves a matrix alone.
type Reason uint8

const (
	None Reason = iota // it is quantized, or kept for another reason than the rule's
	Excluded
	NoMatrix
	Empty
	Embedding
	Head
	Router
	Expert
	Attention
	Other
	OtherLinear
	UnknownLayout
	Last
	Float32
	NotBuilt
	NotQuantized
	Typed
	Read
	Held

	// The numbers are in other linear modules once the model is loaded, and no pattern
	// of a name in the file matches those.
	Rearranged
)

var keepReasons = [...]string{
	None:          "",
	Excluded:      "excluded",
	NoMatrix:      "not a matrix of a linear module",
	Empty:         "empty",
	Embedding:     "embedding",
	Head:          "output head",
	Router:        "router",
	Expert:        "expert: transformers fuses them into one parameter, which takes no codes of this format",
	Attention:     "part of torch's MultiheadAttention",
	Other:         "no linear module",
	OtherLinear:   "no linear module of torch's own",
	UnknownLayout: "only config.json says how it is laid out",
	Last:          "last module",
	Float32:       "kept in full precision",
	NotBuilt:      "transformers builds no such module for this type",
	NotQuantized:  "transformers quantizes no such module of this type",
	Typed:         "transformers converts numbers to the type of its weight, which codes have not",
	Read:          "transformers reads its weight as numbers, which codes are not",
	Held:          "transformers runs the module without codes, of which it has a list",
	Rearranged:    "transformers splits it when it loads",
}

// String returns the reason for messages.
func (r Reason) String() string { return keepReasons[r] }
