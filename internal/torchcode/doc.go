// Package torchcode reads the code of a TorchScript program, and says which operators it uses.
//
// The code is the text that torch.jit.save prints (torch/csrc/jit/serialization/python_print.cpp)
// and that torch.jit.load parses (frontend/lexer.h, frontend/parser.cpp) and compiles with the names
// of serialization/import_source.cpp and frontend/ir_emitter.cpp, all of PyTorch 2.15. Nothing is
// compiled here. Every name of the text is looked at instead, whether it is called or not, since a
// name can be assigned to a variable and called later.
//
// # What a name may be
//
//	torch.NAME, ops.SPACE.NAME   an operator
//	__torch__.A.B                a class or a function of the code itself
//	CONSTANTS.cN                 a constant
//	VALUE.NAME                   an operator of aten or prim, or a member of a class of the code
//	NAME                         a built-in function or a type of the language, or a variable
//
// An operator must be one that only computes. Those are in operators.txt, which
// crosscheck/kinds/torch_operators.py writes from torch's registry. An error that the code raises and
// a warning are no problem either. Everything else is, by its name. So is a text that the grammar of the printer does not explain: comments, lines that a
// backslash continues, triple quotes, characters outside of ASCII.
//
// # Order
//
// [Code.Read] reads one file after the other, each from its first byte to its last; every step
// consumes a token. [Code.Problems] then looks up the names whose definitions may come later.
//
// # Limits
//
//	MaxSteps       one per token and 16 bytes
//	MaxDepth       brackets, blocks and unary operators
//	MaxTotalBytes  the names, and 64 bytes for each
package torchcode
