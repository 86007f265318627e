package cli_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/cli"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A page is a document that is made of tables of the program.
type docPage struct{ strings.Builder }

func (p *docPage) text(s string) { p.WriteString("\n" + s + "\n") }

// table writes rows below their heads.
func (p *docPage) table(heads []string, rows [][]string) {
	p.WriteString("\n")
	line := func(cells []string) {
		for _, c := range cells {
			p.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
		}
		p.WriteString("|\n")
	}
	line(heads)
	p.WriteString(strings.Repeat("|---", len(heads)) + "|\n")
	for _, r := range rows {
		line(r)
	}
}

func quoted(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

// readOf says what is read of the formats that are more than a list of tensors.
var readOf = []struct {
	format string
	facts  []string
}{
	{"ONNX", []string{
		"**Read**: the initializers of the graph, dense and sparse, and those of its branches, loops and functions. Data may be raw, in the fields of its type, or in other files of the model's folder.",
		"**Names**: an initializer keeps its own. Inside a branch, the name begins with the way to it: `q/then_branch/w` is the initializer `w` in the branch of the operator that computes `q`. " +
			"A constant of an operator `Constant` has the name of its output. Any other tensor of an attribute has the names of the output and the attribute, as in `f/value`.",
		"**Small integers**: INT4, UINT4, INT2 and UINT2 become I8 and U8, one number in each byte, as `numpy_helper.to_array` returns them.",
		"**Only listed**: strings, and the types of six bits.",
		"**Quantized**: `amn dequantize` decodes the codes of `DequantizeLinear`, `MatMulNBits` and `GatherBlockQuantized`, bit for bit as ONNX Runtime. If another operator reads the codes, such as `MatMulInteger`, the model is refused, and the message names the operator.",
	}},
	{"HDF5", []string{
		"**Read**: every dataset of numbers: superblocks 0 to 3, groups in both forms, data that is contiguous, compact or chunked (gzip, shuffle, fletcher32, LZF). A user block, such as MATLAB's, may precede the file.",
		"**Names**: the path that h5py gives, such as `layers/dense/vars/0`. A dataset with several names is listed under each.",
		"**Types**: booleans and complex numbers are those of h5py; bfloat16 is that of Keras.",
		"**Only listed**: texts, references, compound types and lists. Soft links and the filters of plugins are refused by name.",
	}},
	{"Keras", []string{
		"**Read**: the weights in `model.weights.h5` of an archive that Keras 3 saves, as those of an HDF5 file.",
		"**Judged**: `amn scan` judges every member. A class of the configuration that does not belong to Keras is refused.",
	}},
	{"TensorFlow Lite", []string{
		"**Read**: the tensors that have data.",
		"**Names**: their own. In a graph other than the first, the name of the graph precedes them, as in `loop_body/w`. A name that appears again gets the number of its tensor, as in `w#7`. The scales and zero points of codes follow as `w/scale` and `w/zero_point`.",
		"**Small integers**: INT4, UINT4 and INT2 become I8 and U8, one number in each byte.",
		"**Only listed**: texts and sparse tensors.",
		"**Quantized**: `amn dequantize` decodes the codes, bit for bit as the reference kernel of LiteRT's DEQUANTIZE.",
		"**Judged**: `amn scan` refuses an operator that is not LiteRT's own, and names it.",
	}},
	{"GGML of whisper.cpp", []string{
		"**Read**: the tensors that whisper.cpp loads (`ggml-*.bin`), under the names of OpenAI's checkpoint, with all block types of ggml. Files of llama.cpp from before GGUF are refused by name.",
	}},
	{"TorchScript", []string{
		"**Read**, of a program that `torch.jit.save` wrote: parameters, buffers and the constants of the code, under torch's names. Nothing is run.",
		"**Judged**: `amn scan` reads the code. Every program is refused: operators that only compute by torch's own registry still read and write where a tensor tells them to (`pth.script-runs`, which a host that runs programs where nothing can be lost may lower). Named besides is an operator that prints, reads or writes a file, starts a thread, sets a state of the library or belongs to another library, a class of a library, and code that runs when a model is loaded (`__setstate__`).",
	}},
}

// The page of formats and schemes is the tables that the program reads files with.
func TestThePageOfFormats(t *testing.T) {
	var p docPage
	p.WriteString("# Formats and schemes\n")
	p.text("The content of a file decides its format, never its name. `amn formats` prints these lists, and `amn formats --json` prints them for programs. This page is written from the same tables that\n" +
		"the program uses (`go test ./cli -update`).")

	p.text("## Formats")
	var rows [][]string
	for _, f := range parser.Formats() {
		rows = append(rows, []string{quoted(f.Name), f.Title, quoted(strings.Join(f.Extensions, " "))})
	}
	p.table([]string{"name", "format", "usual names"}, rows)

	p.text("A model in one of these formats is a program that carries its weights. `amn` reads the tensors, under the names that the library gives them. `amn scan` says what of the program could run.")
	rows = nil
	for _, f := range parser.Graphs() {
		rows = append(rows, []string{quoted(f.Name), f.Title, quoted(strings.Join(f.Extensions, " "))})
	}
	p.table([]string{"name", "format", "usual names"}, rows)
	for _, f := range readOf {
		p.text("### " + f.format)
		p.text("- " + strings.Join(f.facts, "\n- "))
	}

	p.text("## Quantized weights that are decoded")
	p.text("Each scheme decodes to exactly the bits that the named library computes. The tests compare it with files that the library wrote; see [how it was checked](quantize.md#how-it-was-checked).")
	schemes, refused := quant.Schemes()
	rows = nil
	for _, q := range schemes {
		rows = append(rows, []string{q.Name, q.Stores, q.Oracle})
	}
	p.table([]string{"scheme", "what is read", "the same bits as"}, rows)
	p.text("Known, and refused by name: " + strings.Join(refused, ", ") + ".")

	p.text("## What `amn quantize --to` writes")
	p.text("`nf4`, `fp4` and `int8` are those of bitsandbytes. [Quantizing](quantize.md) says what loads each target.")
	rows = nil
	for _, f := range quant.Targets() {
		if f.Layout() != "" {
			rows = append(rows, []string{quoted(f.Name), f.Layout()})
		}
	}
	p.table([]string{"`--to`", "layout"}, rows)
	p.text("llama.cpp's mixes, for GGUF models and [transformers folders](llamacpp.md): `" + strings.Join(cli.MixNames(), "`, `") + "`.")

	p.text("## Refused by name")
	p.text("Files that are often mistaken for a model, and what to do with them:")
	rows = nil
	for _, f := range parser.Recognized() {
		rows = append(rows, []string{f.What, f.Advice})
	}
	p.table([]string{"the file is", "do this"}, rows)
	compare(t, "../docs/formats.md", p.String())
	if n := strings.Count(p.String(), "\n| "); n < 50 {
		t.Errorf("%d rows", n)
	}
}
