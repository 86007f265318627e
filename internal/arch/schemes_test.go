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
	"quant/onnx":       regexp.MustCompile(`MatMulNBits|GatherBlockQuantized`),
	"quant/quanto":     regexp.MustCompile(`(?i)quanto`),
	"quant/quark":      regexp.MustCompile(`(?i)quark`),
	"quant/sdnq":       regexp.MustCompile(`(?i)sdnq`),
	"quant/torchao":    regexp.MustCompile(`(?i)torchao`),
}

// A naming is a file outside of a scheme's folder that names it: how often, which may only become
// less, and why the name is there and not in a row of the folder.
type naming struct {
	file   string
	names  map[string]int // by the folder of the scheme, without quant/
	reason string
}

var namings = []naming{
	// The command line. Its texts are read by people, group targets by the library that they have,
	// and are read by kong from tags, which are constants.
	{"cli/commands.go", map[string]int{"bnb": 1}, "the line of quantize in the list of commands"},
	{"cli/internal/write/convert.go", map[string]int{"bnb": 5, "mlx": 2}, "help of --to, --quant and their examples: convert has targets of its own names, bnb-nf4 and mlx"},
	{"cli/internal/write/quantize.go", map[string]int{"bnb": 11, "awq": 2, "compressed": 2, "ggml": 1, "gptq": 2, "mlx": 2, "modelopt": 2, "torchao": 2}, "help of --to, which lists the targets by their libraries, and its examples"},
	{"cli/internal/write/budget.go", map[string]int{"ggml": 1}, "--budget refuses --pure"},
	{"cli/internal/write/mix.go", map[string]int{"bnb": 3, "awq": 2, "compressed": 3, "ggml": 10, "gptq": 2, "mlx": 4}, "the flag --imatrix, and what people may mean by int4, 4bit and 8bit, which is a target of several schemes"},
	{"cli/internal/write/quantize_text.go", map[string]int{"ggml": 1}, "a line of the summary about weights that --imatrix has no row of"},
	{"cli/meant.go", map[string]int{"ggml": 2}, "llama-quantize's name for the flag --imatrix"},
	// One option of the caller decides between two readings of a layout that files do not tell apart.
	{"cli/internal/flags/schemes.go", map[string]int{"gptq": 4}, "the flag --gptq-zeros"},
	{"cli/internal/fault/option.go", map[string]int{"gptq": 2}, "the flag that a message about the option names"},
	{"internal/wire/option.go", map[string]int{"gptq": 3}, "the option, by the name of its field, in messages"},
	{"internal/scheme/options.go", map[string]int{"gptq": 1}, "the option"},
	{"internal/scheme/set.go", map[string]int{"gptq": 1}, "the option, given to config, which compares two files that may state it"},
	{"internal/config/config.go", map[string]int{"gptq": 2, "modelopt": 1}, "a key that several schemes have is by default GPTQ's; a file that states no method is ModelOpt's by its name: both decide which scheme is asked"},
	// Libraries that load models. Some have the name of a scheme, and load others too.
	{"internal/loaders/loaders.go", map[string]int{"awq": 2, "compressed": 2, "gptq": 2, "modelopt": 2, "torchao": 2}, "the table of the libraries that load what is written"},
	{"internal/encode/loads.go", map[string]int{"awq": 1, "gptq": 1}, "what two of these libraries do with a type that they do not know"},
	{"internal/transformers/breaks.go", map[string]int{"compressed": 1}, "a key of the table of what transformers does not load, by library"},
	// Behaviour of other libraries for values in files of any scheme or of none.
	{"internal/sidecar/explains.go", map[string]int{"autoround": 1, "gptq": 1, "torchao": 3}, "values of config.json that the gate explains by what transformers does with them"},
	{"gate/rules_formats.go", map[string]int{"hqq": 1}, "the text of a rule about a tensor that a loader evaluates, in files of any kind"},
	{"parser/onnx/quantized.go", map[string]int{"bnb": 1, "onnx": 4}, "operators of a format, whose inputs the parser finds by their names"},
	{"parser/safetensors/verify.go", map[string]int{"hqq": 1}, "the finding of that rule"},
	// Schemes whose own configurations name others.
	{"quant/quark/quark.go", map[string]int{"autoround": 2, "awq": 2, "gptq": 2}, "algorithms that Quark's configuration lists"},
	{"quant/modelopt/keys.go", map[string]int{"awq": 2}, "a key of ModelOpt's configuration"},
	{"quant/modelopt/bind.go", map[string]int{"compressed": 1}, "ModelOpt's own name, W4A16, for a layout of its"},
	{"quant/modelopt/write.go", map[string]int{"compressed": 2}, "ModelOpt's own name, W4A16_NVFP4"},
	{"quant/awq/bind.go", map[string]int{"gptq": 2}, "GPTQModel, a library that writes AWQ"},
	{"quant/awq/write.go", map[string]int{"gptq": 1}, "GPTQModel, a library that loads AWQ"},
	{"quant/fp8/bind.go", map[string]int{"comfy": 1}, "the name of a golden whose first form is FP8's"},
}

// engineTests are the tests of convert that name schemes, with why. A test of one scheme is in its
// folder; these are of the engine, which they show models of some shape.
var engineTests = map[string]string{
	"convert/bench_encode_test.go": "measures the engine with codes of each shape",
	"convert/bench_test.go":        "measures the engine with weights of each shape",
	"convert/comparison_test.go":   "compares all targets with what is written",
	"convert/example_test.go":      "shows a caller how a model is quantized",
	"convert/memory_linux_test.go": "measures memory with weights that are read in ranges, and as a whole",
	"convert/resume_test.go":       "resumes a job of each kind of task",
	"convert/special_test.go":      "counts NaN, infinities and overflow in a weight that can have all",
	"convert/straight_test.go":     "quantizes storages with strides, in both orders of bytes",
	"convert/strip_test.go":        "reads both layouts whose columns are rows",
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

// Nothing outside of a scheme's folder names it but the table, and the files of namings.
func TestNothingNamesASchemeButItsFolder(t *testing.T) {
	named := map[string]map[string]int{}
	for _, n := range namings {
		if named[n.file] != nil || n.reason == "" {
			t.Errorf("%s: twice, or without a reason", n.file)
		}
		named[n.file] = n.names
	}
	for _, folder := range slices.Sorted(maps.Keys(folderOf)) {
		scheme := strings.TrimPrefix(folder, "quant/")
		seen := map[string]bool{}
		for _, s := range sources(t) {
			if s.generated() || s.in(folder, "crosscheck", "corpus", "examples", "fuzz", "internal/quanttest", "internal/converttest") || isTable(s) || s.test() && s.dir() != "convert" || engineTests[s.path] != "" {
				continue
			}
			found := names(s, folder)
			if n := len(found) - named[s.path][scheme]; n > 0 {
				t.Errorf("%s: %q names the scheme of %s: what it says belongs to a row of that folder (%d names)", place(found[0]), spelled(found[0]), folder, len(found))
			}
			seen[s.path] = len(found) == named[s.path][scheme]
		}
		for file, counts := range named {
			if counts[scheme] > 0 && !seen[file] {
				t.Errorf("%s names the scheme of %s less often than namings says: write the number there", file, folder)
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
// names of targets in other folders, or the arithmetic that targets share; bfl, which is a part of
// many words; and tflite, which is the name of its container.
var unnamed = []string{"quant/bfl", "quant/mxfp4", "quant/nvfp4", "quant/scaled", "quant/tflite", "quant/w8a8"}

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
