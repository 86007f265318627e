package polyglot

import "strings"

// Fold converts the ASCII letters of a name to lower case: PyTorch's reader ignores their
// case.
func Fold(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// TorchRecord reports whether PyTorch's readers run a member of this name or decide by
// it: torch.load, torch.jit.load, torch.export.load and torch.package. Such a member
// among arrays makes an archive a checkpoint as well.
func TorchRecord(name string) bool {
	name = Fold(name)
	_, inside, _ := strings.Cut(name, "/")
	switch name[strings.LastIndexByte(name, '/')+1:] {
	case "data.pkl", "constants.pkl", "bytecode.pkl", "serialized_exported_program.json":
		return true
	}
	return inside == "archive_format" || strings.HasPrefix(inside, "code/") || strings.HasPrefix(inside, ".data/")
}
