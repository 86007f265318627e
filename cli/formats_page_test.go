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

func quoted(s string) string { return "`" + s + "`" }

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

	p.text("Read too are the tensors of programs that carry their weights. Their names are those of the library; `amn scan` says what of the program could run.")
	rows = nil
	for _, f := range parser.Graphs() {
		rows = append(rows, []string{quoted(f.Name), f.Title, quoted(strings.Join(f.Extensions, " "))})
	}
	p.table([]string{"name", "format", "usual names"}, rows)
	p.text("Of an ONNX model, `amn` reads the initializers, dense and sparse, of its graph under their names, and those of branches, loops and functions under the way that leads to them: `q/then_branch/w` is the initializer `w` in the branch of the operator that computes `q`. " +
		"A constant of an operator `Constant` has the name of its output; any other tensor of an attribute has the output's and the attribute's, as in `f/value`. Data may be raw, in the fields of its type, or in other files of the model's folder. " +
		"INT4, UINT4, INT2 and UINT2 are read as I8 and U8, one number a byte, as `numpy_helper.to_array` gives them. Strings and the types of six bits are listed only. " +
		"`amn dequantize` makes numbers of the codes of `DequantizeLinear`, `MatMulNBits` and `GatherBlockQuantized`, bit for bit as ONNX Runtime; codes that another operator reads, such as `MatMulInteger`, are refused by its name.")
	p.text("Of an HDF5 file, `amn` reads every dataset of numbers under the path that h5py gives it, such as `layers/dense/vars/0`: superblocks 0 to 3, groups in both forms, contiguous, compact and chunked data (gzip, shuffle, fletcher32, LZF), with a block of the user or MATLAB's before the file. A dataset with several names is listed under each. Booleans and complex numbers are those of h5py, and bfloat16 is that of Keras. Texts, references, compound types and lists are listed only; soft links and filters of plugins are refused by name.")
	p.text("Of an archive that Keras 3 saves, `amn` reads the weights in `model.weights.h5`, as those of an HDF5 file. `amn scan` judges every member: a class of the configuration that is not Keras' own is refused.")

	p.text("Of a TorchScript program (`torch.jit.save`), `--tensors-only` reads parameters, buffers and the constants of the code under torch's names; the code is not read, and not run. `amn scan` refuses every archive with code.")

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
