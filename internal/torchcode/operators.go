package torchcode

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed operators.txt
var registry string

// operators has why an operator is not taken for one that only computes, by name; "" for those that
// are.
var operators = sync.OnceValue(func() map[string]string {
	all := make(map[string]string, strings.Count(registry, "\n"))
	for line := range strings.Lines(registry) {
		if name, why, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); !strings.HasPrefix(name, "#") {
			all[name] = why
		}
	}
	return all
})

// Operator returns why an operator such as aten::add is not one that only computes, "" for one that
// is.
func Operator(name string) (why string) {
	why, known := operators()[name]
	if !known {
		return "torch 2.15 does not have it"
	}
	return why
}

// builtins are the functions that the compiler knows without a namespace (ir_emitter.cpp,
// import_source.cpp), and the operators that they become; "" for a special form without effects.
var builtins = map[string]string{
	"print": "prim::Print", "fork": "prim::fork", "awaitable": "prim::awaitable",

	"annotate": "", "unchecked_cast": "", "uninitialized": "", "tuple": "", "list": "", "dict": "", "range": "", "zip": "", "enumerate": "",
	"getattr": "", "hasattr": "", "isinstance": "", "AssertionError": "", "float": "", "int": "", "bool": "", "str": "", "complex": "",
	"_to_tensor": "prim::NumToTensor", "len": "aten::len", "hex": "aten::hex", "oct": "aten::oct", "round": "aten::round", "hash": "aten::hash",
	"id": "prim::id", "min": "prim::min", "max": "prim::max", "abs": "prim::abs", "all": "aten::all", "any": "aten::any", "divmod": "aten::divmod",
	"sum": "aten::sum", "ord": "aten::ord", "chr": "aten::chr", "bin": "aten::bin", "pow": "aten::pow", "rangelist": "prim::rangelist", "sorted": "aten::sorted",

	// Numbers and types (script_type_parser.cpp).
	"inf": "", "infj": "", "nan": "", "nanj": "",
	"Tensor": "", "number": "", "Device": "", "Generator": "", "Any": "", "Dict": "", "List": "", "Tuple": "", "Optional": "", "Union": "", "Final": "",
	"Module": "", "NamedTuple": "", "Interface": "", "ModuleInterface": "", "Enum": "",
}

// views are the attributes that are neither operators nor members: those of a tensor, and what makes an
// object of a class.
var views = map[string]bool{"T": true, "H": true, "mT": true, "mH": true, "real": true, "imag": true, "shape": true, "ndim": true, "is_leaf": true, "retains_grad": true, "output_nr": true, "_version": true, "__new__": true}

// messages are the ways to end a computation with an error, or to warn: torch.nn's own code does both.
// The text of either is given to the host's handler, and nothing else is reached.
var messages = map[string]bool{"prim::RaiseException": true, "aten::warn": true}
