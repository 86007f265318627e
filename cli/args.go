package cli

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/cli/internal/write"
)

// rewriteArgs rewrites forms that people try with any program: "help" with or without a command,
// and flags that print a version. It also joins --report with its optional value.
func rewriteArgs(args []string) []string {
	switch args[0] {
	case "help":
		return append(slices.Clone(args[1:]), "--help")
	case "--version", "-V":
		return append([]string{"version"}, args[1:]...)
	}
	var list []string
	for i, a := range args {
		switch {
		case a == "--":
			return append(list, args[i:]...)
		case i > 0 && args[i-1] == "--report" && write.IsReport(a):
			list[len(list)-1] += "=" + a
		default:
			list = append(list, a)
		}
	}
	return list
}
