package cli

import (
	"strings"

	"github.com/alecthomas/kong"
)

// elsewhere maps flags of other programs, without their dashes, to what this one has instead. They
// are flags of model scanners (picklescan, modelscan, modelaudit), of trivy and grype, of sha256sum,
// of llama.cpp's and MLX's converters, and words that people try. An answer is given only if the
// command has the flag that the answer begins with.
var elsewhere = map[string][]string{
	"profile":          {"--limits takes a profile"},
	"policy":           {"--limits takes a policy"},
	"config":           {"--limits takes a policy"},
	"settings-file":    {"--limits takes a policy"},
	"c":                {"--check compares with a manifest", "--limits takes a policy"},
	"filter":           {"--tensor takes a pattern of names", "--exclude leaves files out", "amn parse --tensor takes a pattern of names"},
	"include":          {"--tensor takes a pattern of names", "amn parse --tensor takes a pattern of names"},
	"name":             {"--tensor takes a pattern of names", "amn parse --tensor takes a pattern of names"},
	"format":           {"--output takes FORMAT=FILE", "--json prints one object", "--to takes the format of the output"},
	"reporting-format": {"--output takes FORMAT=FILE"},
	"sarif":            {"--output takes sarif=FILE"},
	"j":                {"--json prints one object"},
	"severity":         {"--fail-on takes a severity"},
	"exit-code":        {"--fail-on takes a severity"},
	"globals":          {"--all lists every global"},
	"g":                {"--all lists every global"},
	"verbose":          {"--all lists everything"},
	"v":                {"--all lists everything"},
	"outfile":          {"--output is its name here"},
	"out":              {"--output is its name here"},
	"outtype":          {"--out-dtype is its name here"},
	"dtype":            {"--out-dtype is its name here", "--to takes the type"},
	"qtype":            {"--to takes the type", "--quant takes the type"},
	"type":             {"--to takes the type"},
	"imatrix-file":     {"--imatrix is its name here"},
	"nthreads":         {"--threads is its name here"},
	"t":                {"--threads is its name here"},
	"overwrite":        {"--force is its name here"},
	"yes":              {"--force is its name here"},
	"y":                {"--force is its name here"},
	"path":             {"name the file without a flag"},
	"p":                {"name the file without a flag"},
	"model":            {"name the file without a flag"},
	"m":                {"name the file without a flag"},
	"i":                {"name the file without a flag"},
	"input":            {"name the file without a flag"},
	"hf-path":          {"name the file without a flag"},
}

// flagMeant returns what a command has in place of another program's flag, or "".
func flagMeant(n *kong.Node, flag string) string {
	flag, _, _ = strings.Cut(strings.TrimLeft(flag, "-"), "=")
	for _, answer := range elsewhere[flag] {
		name, _, _ := strings.Cut(answer, " ")
		if !strings.HasPrefix(name, "--") && len(n.Positional) > 0 || flagNamed(n, name) != nil {
			return answer
		}
	}
	return ""
}
