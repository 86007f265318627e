package unwrap

import "strings"

// Fold lower-cases the ASCII letters of a name: PyTorch's reader finds a member
// whatever their case.
func Fold(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// TorchRecord reports the name of a member that PyTorch's readers run or go by:
// torch.load, torch.jit.load, torch.export.load and torch.package. A pickle among
// arrays makes an archive a checkpoint as well.
func TorchRecord(name string) bool {
	name = Fold(name)
	_, inside, _ := strings.Cut(name, "/")
	switch name[strings.LastIndexByte(name, '/')+1:] {
	case "data.pkl", "constants.pkl", "bytecode.pkl":
		return true
	}
	return inside == "archive_format" || strings.HasPrefix(inside, "code/") || strings.HasPrefix(inside, ".data/")
}
