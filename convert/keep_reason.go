package convert

// A keepReason says why a [bnbRule] leaves a matrix alone.
type keepReason uint8

const (
	noReason keepReason = iota // it is quantized, or kept for another reason than the rule's
	keepExcluded
	keepNoMatrix
	keepEmpty
	keepEmbedding
	keepHead
	keepRouter
	keepExpert
	keepAttention
	keepOther
	keepOtherLinear
	keepUnknownLayout
	keepLast
	keepFloat32
	keepNotBuilt
	keepNotQuantized

	// The numbers are in other linear modules once the model is loaded, and no pattern
	// of a name in the file matches those.
	keepRearranged
)

var keepReasons = [...]string{
	noReason:          "",
	keepExcluded:      "excluded",
	keepNoMatrix:      "not a matrix of a linear module",
	keepEmpty:         "empty",
	keepEmbedding:     "embedding",
	keepHead:          "output head",
	keepRouter:        "router",
	keepExpert:        "expert: transformers fuses them into one parameter, which takes no codes of this format",
	keepAttention:     "part of torch's MultiheadAttention",
	keepOther:         "no linear module",
	keepOtherLinear:   "no linear module of torch's own",
	keepUnknownLayout: "only config.json says how it is laid out",
	keepLast:          "last module",
	keepFloat32:       "kept in full precision",
	keepNotBuilt:      "transformers builds no such module for this type",
	keepNotQuantized:  "transformers quantizes no such module of this type",
	keepRearranged:    "transformers splits it when it loads",
}

// String returns the reason for messages.
func (r keepReason) String() string { return keepReasons[r] }
