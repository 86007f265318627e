package bfl

import "github.com/anamnesis-go/anamnesis/internal/scheme"

// Method is the one in the files of Black Forest Labs.
var Method = scheme.Method{Name: "bfl", Known: keys}

// keys are those of its configuration.
var keys = []string{"compute_dtype", "pre_quantized"}
