package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// folderOf are the schemes, each a folder, with what names them. Where a type of numbers, an
// architecture or a library has the same name, it is what only the scheme's files say.
var folderOf = map[string]*regexp.Regexp{
	"quant/autoround":  regexp.MustCompile(`(?i)auto-?round`),
	"quant/awq":        regexp.MustCompile(`(?i)(?:^|[^a-z])awq|autoawq`),
	"quant/bitnet":     regexp.MustCompile(`(?i)bitlinear|BitNetScheme`),
	"quant/bnb":        regexp.MustCompile(`(?i)bnb|bitsandbytes|nf4`),
	"quant/comfy":      regexp.MustCompile(`(?i)comfy`),
	"quant/compressed": regexp.MustCompile(`(?i)compressed.?tensors|"w[48]a16`),
	"quant/fp8":        regexp.MustCompile(`(?i)scale_inv|fbgemm`),
	"quant/gemma":      regexp.MustCompile(`embedding_quantized|module_quant_configs`),
	"quant/ggml":       regexp.MustCompile(`(?i)imatrix|importance.?matrix`),
	"quant/gptq":       regexp.MustCompile(`(?i)gptq`),
	"quant/hqq":        regexp.MustCompile(`(?i)hqq|W_q\b`),
	"quant/mistral":    regexp.MustCompile(`qscale_weight`),
	"quant/mlx":        regexp.MustCompile(`mlx_[0-9mn]`),
	"quant/modelopt":   regexp.MustCompile(`(?i)modelopt`),
	"quant/quanto":     regexp.MustCompile(`(?i)quanto`),
	"quant/quark":      regexp.MustCompile(`(?i)quark`),
	"quant/sdnq":       regexp.MustCompile(`(?i)sdnq`),
	"quant/torchao":    regexp.MustCompile(`(?i)torchao`),
}

// naming are the files outside of a scheme's folder that name it, with how many names they may
// have. There may only be fewer. They are texts of help and advice (cli, internal/wire), tables of
// what loaders read (internal/loaders, internal/transformers), options of callers and where
// configurations are (internal/config, internal/scheme), whose arithmetic a rule is (quant/scaled),
// texts that explain files (gate, internal/sidecar, parser), and values of another library's key.
var naming = map[string]map[string]int{
	"quant/autoround":  {"internal/sidecar/explains.go": 1, "quant/quark/quark.go": 2},
	"quant/awq":        {"cli/internal/write/quantize.go": 2, "cli/internal/write/mix.go": 2, "internal/encode/loads.go": 1, "internal/loaders/loaders.go": 2, "quant/modelopt/keys.go": 2, "quant/quark/quark.go": 2, "quant/scaled/groups.go": 1},
	"quant/bnb":        {"cli/commands.go": 1, "cli/internal/write/convert.go": 5, "cli/internal/write/quantize.go": 11, "cli/internal/write/budget.go": 1, "cli/internal/write/mix.go": 3},
	"quant/comfy":      {"quant/fp8/bind.go": 1},
	"quant/compressed": {"cli/internal/write/quantize.go": 2, "cli/internal/write/mix.go": 3, "internal/loaders/loaders.go": 2, "internal/transformers/breaks.go": 1, "quant/modelopt/bind.go": 1, "quant/modelopt/write.go": 2, "quant/scaled/format.go": 1, "quant/scaled/groups.go": 1},
	"quant/fp8":        {"internal/scheme/grid.go": 1},
	"quant/ggml":       {"cli/internal/write/quantize.go": 1, "cli/internal/write/budget.go": 1, "cli/internal/write/quantize_text.go": 1, "cli/meant.go": 2, "cli/internal/write/mix.go": 10},
	"quant/gptq":       {"cli/internal/write/quantize.go": 2, "cli/internal/fault/option.go": 2, "cli/internal/flags/schemes.go": 4, "cli/internal/write/mix.go": 2, "internal/config/config.go": 2, "internal/encode/loads.go": 1, "internal/loaders/loaders.go": 2, "internal/scheme/options.go": 1, "internal/scheme/set.go": 1, "internal/sidecar/explains.go": 1, "internal/wire/option.go": 3, "quant/awq/bind.go": 2, "quant/awq/write.go": 1, "quant/quark/quark.go": 2, "quant/scaled/groups.go": 1},
	"quant/hqq":        {"gate/rules_formats.go": 1, "parser/safetensors/verify.go": 1},
	"quant/mlx":        {"cli/internal/write/convert.go": 2, "cli/internal/write/quantize.go": 2, "cli/internal/write/mix.go": 4},
	"quant/modelopt":   {"cli/internal/write/quantize.go": 2, "internal/config/config.go": 1, "internal/loaders/loaders.go": 2, "internal/scheme/grid.go": 2, "quant/scaled/encode.go": 1, "quant/scaled/groups.go": 2},
	"quant/torchao":    {"cli/internal/write/quantize.go": 2, "internal/loaders/loaders.go": 2, "internal/sidecar/explains.go": 3, "quant/scaled/encode.go": 2, "quant/scaled/groups.go": 1},
}

// names lists what names a scheme in a file: identifiers, and texts that the program prints.
// Comments may say what they like. A scheme that is another under other names, or that its
// library writes too, imports its folder, and may name it.
func names(s *source, folder string) (found []ast.Node) {
	words := folderOf[folder]
	if s.in("quant") && s.dir() != "quant" && slices.ContainsFunc(s.tree.Imports, func(i *ast.ImportSpec) bool { return strings.HasSuffix(i.Path.Value, "/"+folder+`"`) }) {
		return nil
	}
	ast.Inspect(s.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if words.MatchString(n.Name) {
				found = append(found, n)
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING && words.MatchString(n.Value) {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

// isTable reports the files that list all schemes: those that are decoded and written, those
// that are refused, and what differs in a folder.
func isTable(s *source) bool {
	return slices.Contains([]string{"quant/scheme.go", "quant/foreign.go", "quant/layout.go"}, s.path)
}

// Nothing outside of a scheme's folder names it but the table.
func TestNothingNamesASchemeButItsFolder(t *testing.T) {
	for _, folder := range slices.Sorted(maps.Keys(folderOf)) {
		seen := map[string]bool{}
		for _, s := range sources(t) {
			if s.test() || s.generated() || s.in(folder, "crosscheck", "corpus", "examples", "fuzz", "internal/quanttest") || isTable(s) {
				continue
			}
			found := names(s, folder)
			if n := len(found) - naming[folder][s.path]; n > 0 {
				t.Errorf("%s: %q names the scheme of %s: what it says belongs to a row of that folder (%d names)", place(found[0]), spelled(found[0]), folder, len(found))
			}
			seen[s.path] = len(found) == naming[folder][s.path]
		}
		for _, file := range slices.Sorted(maps.Keys(naming[folder])) {
			if !seen[file] {
				t.Errorf("%s names the scheme of %s less often than naming says: write the number there", file, folder)
			}
		}
	}
}

// Every folder of quant has words by which it is named.
func TestEverySchemeHasWords(t *testing.T) {
	for _, s := range sources(t) {
		if dir := s.dir(); s.in("quant") && dir != "quant" && !s.in("quant/_gen", "quant/ggml/mix", "quant/ggml/imatrix") && folderOf[dir] == nil && !slices.Contains(unnamed, dir) {
			t.Errorf("%s: folderOf does not say what names it", dir)
		}
	}
}

// unnamed are folders whose names are also types of numbers (NVFP4, MXFP4), the
// names of targets in other folders, or the arithmetic that targets share; and bfl, which is a
// part of many words.
var unnamed = []string{"quant/bfl", "quant/mxfp4", "quant/nvfp4", "quant/scaled", "quant/w8a8"}

func spelled(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Ident:
		return n.Name
	case *ast.BasicLit:
		return n.Value[:min(len(n.Value), 40)]
	}
	return ""
}

func parsed(t *testing.T, name, body string) *source {
	t.Helper()
	tree, err := parser.ParseFile(fset, name, "package x\n"+body+"\n", parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return &source{path: name, tree: tree}
}

// A file that names a scheme is found, whichever way it does.
func TestANameOfASchemeIsFound(t *testing.T) {
	for what, planted := range map[string]struct{ folder, file, body string }{
		"an import":                    {"quant/bnb", "planted.go", `import _ "github.com/anamnesis-go/anamnesis/quant/bnb"`},
		"an identifier":                {"quant/bnb", "planted.go", `func toBnb() {}`},
		"a text":                       {"quant/bnb", "planted.go", `const names = "nf4, fp4"`},
		"a text of another scheme":     {"quant/quark", "quant/fp8/planted.go", `const method = "quark"`},
		"an import outside of schemes": {"quant/comfy", "convert/planted.go", `import _ "github.com/anamnesis-go/anamnesis/quant/comfy"`},
	} {
		if found := names(parsed(t, planted.file, planted.body), planted.folder); len(found) != 1 {
			t.Errorf("%s is not found: %d", what, len(found))
		}
	}
	for what, planted := range map[string]struct{ folder, file, body string }{
		"a comment":             {"quant/bnb", "planted.go", "// NF4 of bitsandbytes\nvar x = 1"},
		"a scheme built on one": {"quant/quark", "quant/fp8/planted.go", "import \"github.com/anamnesis-go/anamnesis/quant/quark\"\nvar m = quark.Method"},
	} {
		if found := names(parsed(t, planted.file, planted.body), planted.folder); len(found) != 0 {
			t.Errorf("%s is taken for a name", what)
		}
	}
}
