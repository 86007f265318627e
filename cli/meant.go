package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// elsewhere maps flags of other programs to what this one has: those of model scanners
// (picklescan, modelscan, modelaudit), of trivy and grype, of sha256sum, of llama.cpp's and
// MLX's converters, and what people try, without their dashes. An answer is given where the
// command has the flag that it begins with.
var elsewhere = map[string][]string{
	"profile":          {"--limits takes a profile"},
	"policy":           {"--limits takes a policy"},
	"config":           {"--limits takes a policy"},
	"settings-file":    {"--limits takes a policy"},
	"c":                {"--check compares with a manifest", "--limits takes a policy"},
	"filter":           {"--tensor takes a pattern of names"},
	"include":          {"--tensor takes a pattern of names"},
	"name":             {"--tensor takes a pattern of names"},
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

// classOf returns the class of an error. A file that was named and is not there is wrong usage,
// unless a parser has said more.
func classOf(err error) wire.Class {
	if c := wire.ClassOf(err); c != wire.Internal || !errors.Is(err, fs.ErrNotExist) {
		return c
	}
	return wire.Usage
}

// isMissing reports whether an error says no more than that the file at path is not there.
func isMissing(path string, err error) bool {
	e, ok := errors.AsType[*fs.PathError](err)
	return ok && error(e) == err && errors.Is(e.Err, fs.ErrNotExist) && (e.Path == path || e.Path == filepath.Base(path))
}

// missing returns a wrong usage in place of an error that says that the file at path is not
// there, with the name of one beside it that is. Other errors it returns as they are.
func missing(path string, err error) error {
	if !isMissing(path, err) {
		return err
	}
	return wire.ErrUsage.WithRule("file.missing").Errorf("no such file or directory%s", nearestFile(path))
}

// stem returns a name without its extension: that two files have the same one says nothing.
func stem(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }

// mostNames bounds the names of a folder that a mistyped one is compared with.
const mostNames = 10_000

// nearestFile returns a question whether a file beside the one that is missing was meant.
func nearestFile(path string) string {
	dir, name := filepath.Split(path)
	d, err := folder.Open(filepath.Clean(dir))
	if err != nil {
		return ""
	}
	defer d.Close()
	names, _ := d.Readdirnames(mostNames) // what was read of them will do
	names = slices.DeleteFunc(names, func(n string) bool { return nearestOf(stem(name), []string{stem(n)}) == "" })
	if found := nearestOf(name, names); found != "" {
		return fmt.Sprintf(", did you mean %q?", term.Path(filepath.Join(dir, found)))
	}
	return ""
}
