package torchcode_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/torchcode"
	"github.com/anamnesis-go/anamnesis/limits"
)

// problems reads one file and returns the kinds of its problems, with the text of the first.
func problems(t *testing.T, src string) (kinds, first string) {
	t.Helper()
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	c := torchcode.New(b)
	if err := c.Read("code/__torch__.py", "__torch__", src); err != nil {
		t.Fatal(err)
	}
	list, _, err := c.Problems()
	if err != nil {
		t.Fatal(err)
	}
	for k, p := range list {
		kinds += " " + p.Kind
		if k == 0 {
			first = p.Text
		}
	}
	return strings.TrimSpace(kinds), first
}

// Code of a module with all statements of the language, and of some of torch.nn, as torch prints it, is
// read whole: only names of other files are missing.
func TestPrintedCodeIsRead(t *testing.T) {
	ledger.Charges(t)
	files, err := filepath.Glob("testdata/*.py")
	if err != nil || len(files) != 4 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if kinds, first := problems(t, string(src)); strings.Contains(kinds, "syntax") || strings.Contains(kinds, "operator") {
			t.Errorf("%s: %s, first %s", file, kinds, first)
		}
		corpustest.DamagedTexts(t, filepath.Base(file), string(src), corpustest.MostPlaces, func(text string) string {
			kinds, _ := problems(t, text)
			return kinds
		})
	}
}

// Each function is judged by its names alone.
func TestNamesAreJudged(t *testing.T) {
	ledger.Charges(t)
	for _, c := range []struct{ body, kind, says string }{
		{"return torch.add(x, 1.5e-3)", "", ""},
		{"return x[0:2, ..., None, ::2]", "", ""},
		{"return ~x + -x", "", ""},
		{"y, z = [x, x], {\"a\": -x}\n  y[0] += z[\"a\"]\n  return y", "", ""},
		{"return [i * 2 for i in range(3) if True else 2]", "", ""},
		{"return x if x is not None and 1 not in [2] else x.add(x, alpha=3)", "", ""},
		{"while True:\n    break\n  else:\n    pass", "syntax", "expected a name"},
		{"assert x, \"no\"\n  raise AssertionError(\"from_file\")", "", ""},
		{"torch.warn(\"deprecated\")\n  return x", "", ""},
		{"return getattr(x, \"shape\")", "", ""},
		{"return __torch__.f(x)", "", ""},
		{"return CONSTANTS.c12", "", ""},

		{"f = torch.save\n  return f(x, \"a\")", "operator", "aten::save (reads or writes a file)"},
		{"return ops.aten.from_file(\"a\")", "operator", "aten::from_file (reads or writes a file)"},
		{"return x.save(\"a\")", "operator", "aten::save"},
		{"return getattr(x, \"save\")", "operator", "aten::save"},
		{"return getattr(x, \"sa\" \"ve\")", "syntax name", "expected ,"},
		{"return getattr(x, \"sa\\x76e\")", "syntax", "not a plain string"},
		{"return hasattr(x, 1)", "syntax", "not a plain string"},
		{"p = print\n  return p(x)", "operator", "prim::Print"},
		{"print = x\n  return print", "operator", "prim::Print"},
		{"return [torch.seed() for i in range(3)]", "operator", "aten::seed (sets the state of a generator)"},
		{"with torch.set_grad_enabled(False):\n    pass", "operator", "aten::set_grad_enabled"},
		{"return ops.prim.PythonOp(x)", "operator", "prim::PythonOp (an instruction of the compiler)"},
		{"return ops.c10d.send(x)", "operator", "(an operator of a library)"},
		{"return torch._unsafe_index(x, [x])", "operator", "a private operator"},
		{"return torch.run(x)", "operator", "torch 2.15 does not have it"},
		{"return x.set_(x)", "operator", "takes or gives a Storage"},

		{"return unknown", "name", "\"unknown\" is neither a variable"},
		{"return x.unknown", "name", "\"unknown\" is neither an operator"},
		{"return x + (lambda: 1)", "syntax", "expected ,"},
		{"return __torch__.g(x)", "class", "is not in the code"},
		{"return __torch__.f.unknown(x)", "name", "is not a member"},
		{"return __torch__.torch.classes.rnn.Cell(x)", "class", "in a library"},
		{"y : Stream = x", "name", "\"Stream\""},

		{"return x is nothing", "syntax", "reads as two"},
		{"return x not inside", "syntax", "reads as two"},
		{"return x # y", "syntax", "a character"},
		{"return x \\\n   + x", "syntax", "a character"},
		{"return '''x'''", "syntax", "three quotes"},
		{"return \"x", "syntax", "not closed"},
		{"return \"x\\\n\"", "syntax", "two lines"},
		{"return 0x1", "syntax", "not decimal"},
		{"return 1.2.3", "syntax", "not decimal"},
		{"return x <=> x", "syntax", "expected a value"},
		{"return \u00e9", "syntax", "a character"},
		{"return (x", "syntax", "not closed"},
		{"return x)", "syntax", "not opened"},
		{"\treturn x", "syntax", "a character"},
		{"return x\n return x", "syntax", "an indent that no block has"},
		{"global x", "syntax", "expected a name"},
		{"x x", "syntax", ""},
		{"return CONSTANTS.x", "syntax", "a constant without a number"},
		{"return ops.aten", "syntax", "expected ."},
		{"return x[1:2:3:4]", "syntax", "more than three parts"},
	} {
		kinds, first := problems(t, "def f(x: Tensor) -> Tensor:\n  "+c.body+"\n")
		if kinds != c.kind || !strings.Contains(first, c.says) {
			t.Errorf("%q: %q %s, want %q %s", c.body, kinds, first, c.kind, c.says)
		}
		corpustest.DamagedTexts(t, "body", c.body, corpustest.MostPlaces, func(body string) string {
			kinds, _ := problems(t, "def f(x: Tensor) -> Tensor:\n  "+body+"\n")
			return kinds
		})
	}
}

// A class says which members the values of a program have, and whether loading one runs code.
func TestClassesAreJudged(t *testing.T) {
	for _, c := range []struct{ src, kind string }{
		{"class M(Module):\n  __parameters__ = [\"w\", ]\n  w : Tensor\n  __annotations__[\"0\"] = Tensor\n  n : Final[int] = 3\n  def f(self: __torch__.M) -> Tensor:\n    return torch.add(self.w, getattr(self, \"0\"))\n", ""},
		{"class P(NamedTuple):\n  a : Tensor\nclass E(Enum):\n  RED = 1\n", ""},
		{"op_version_set = 1\nimport __torch__.a\nclass M:\n  pass\n", ""},
		{"class M(Module):\n  def __setstate__(self: __torch__.M, s: Tensor) -> NoneType:\n    return None\n", "setstate"},
		{"class M(Other):\n  pass\n", "syntax"},
		{"class M(Module):\n  w[\"a\"] = Tensor\n", "syntax"},
		{"class M:\n  pass\nclass M:\n  pass\n", "syntax"},
		{"x = 1\n", "syntax"},
	} {
		if kinds, first := problems(t, c.src); kinds != c.kind {
			t.Errorf("%q: %q %s, want %q", c.src, kinds, first, c.kind)
		}
	}
}

// Brackets are as deep as the policy allows, and long code takes the steps that it has.
func TestCodeIsBounded(t *testing.T) {
	for axis, src := range map[limits.Axis]string{
		limits.Depth:     "def f(x: Tensor) -> Tensor:\n  return " + strings.Repeat("(", 1000),
		limits.StepCount: "def f(x: Tensor) -> Tensor:\n  return x" + strings.Repeat(" + x", 10000),
		limits.Total:     "def f(x: Tensor) -> Tensor:\n  return x" + strings.Repeat(" + x", 100000),
	} {
		b := limits.Policy{MaxSteps: map[bool]int64{true: 10000, false: 1 << 30}[axis == limits.StepCount], MaxTotalBytes: 1 << 20}.Budget(t.Context())
		err := torchcode.New(b).Read("a", "__torch__", src)
		if e, ok := err.(*limits.Error); !ok || e.Axis != axis {
			t.Errorf("%v: %v", axis, err)
		}
		b.Close()
	}
}

// Expressions and blocks in others are bounded by the account's depth: torch's compiler, which recurses, is not.
func TestDepthIsBounded(t *testing.T) {
	for _, src := range []string{
		"def f(x: Tensor) -> Tensor:\n  return " + strings.Repeat("(", 200) + "x" + strings.Repeat(")", 200) + "\n",
		"def f(x: Tensor) -> Tensor:\n  return " + strings.Repeat("[", 200) + "x" + strings.Repeat("]", 200) + "\n",
	} {
		b := limits.Policy{}.Budget(t.Context())
		err := torchcode.New(b).Read("code/__torch__.py", "__torch__", src)
		b.Close()
		if e, ok := errors.AsType[*limits.Error](err); !ok || e.Axis != limits.Depth {
			t.Errorf("%.60q: %v", src, err)
		}
	}
}

// Each charge of a code that is refused ends its reading as a limit.
func TestEachRefusedChargeEndsTheReading(t *testing.T) {
	files, err := filepath.Glob("testdata/*.py")
	if err != nil || len(files) != 4 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		corpustest.EachCharge(t, func() error {
			b := limits.Policy{}.Budget(t.Context())
			defer b.Close()
			c := torchcode.New(b)
			if err := c.Read("code/__torch__.py", "__torch__", string(src)); err != nil {
				return err
			}
			_, _, err := c.Problems()
			return err
		})
	}
}
