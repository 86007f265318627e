package tflite

import (
	"bytes"
	"io"

	fb "github.com/anamnesis-go/anamnesis/internal/flatbuffers"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Format is the name of the format in errors.
const Format = "tflite"

// Magic is at the offset 4.
const Magic = "TFL3"

// headLen is the first offset and the magic.
const headLen = 8

// The causes of refusals.
var (
	errStructure = wire.ErrSyntax.WithRule("tflite.structure")
	errRange     = wire.ErrRange.WithRule("tflite.number")
	causes       = fb.Causes{
		Structure: errStructure,
		Unknown:   wire.ErrUnsupported.WithRule("tflite.field-unknown"),
		Text:      wire.ErrText.WithRule("tflite.name"),
	}
)

// The places of the fields that are read, in the schema.
const (
	modelVersion, modelCodes, modelGraphs, modelDescription, modelBuffers = 0, 1, 2, 3, 4

	codeOld, codeCustom, codeBuiltin = 0, 1, 3

	bufferData, bufferOffset, bufferSize = 0, 1, 2

	graphTensors, graphInputs, graphOutputs, graphOperators, graphName = 0, 1, 2, 3, 4

	operatorCode, operatorInputs, operatorOutputs, operatorOptions, operatorOffset, operatorOptions2 = 0, 1, 2, 4, 9, 12

	tensorShape, tensorType, tensorBuffer, tensorName, tensorQuantization = 0, 1, 2, 3, 4
	tensorVariable, tensorSparsity, tensorExternal                        = 5, 6, 10

	quantizationScale, quantizationZero, quantizationKind, quantizationDimension = 2, 3, 4, 6
)

type stage uint8

const (
	stHead    stage = iota // the magic and the first table
	stSchema               // all that the schema reaches
	stCodes                // operators by code
	stBuffers              // where data are
	stGraphs               // tensors and operators
	stSpans                // which tensors share data
	stRest                 // what is behind the FlatBuffers
	stDone
)

// A decoder reads one file.
type decoder struct {
	b     *limits.Budget
	steps limits.Steps
	r     io.ReaderAt
	size  int64
	stage stage
	fb    *fb.Reader
	root  fb.Node
	out   *File

	codes      []code
	buffers    []tensor.Span
	graphCount int
	called     []call
	looped     bool // a finding says that an operator loops
}

// Decode reads the structure of the model in r, which holds size bytes.
func Decode(b *limits.Budget, r io.ReaderAt, size int64) (*File, error) {
	b.Source(size)
	d := &decoder{b: b, steps: b.Steps(), r: r, size: size, out: &File{File: tensor.File{Name: Format, Source: r}}}
	for d.stage != stDone {
		if err := d.step(); err != nil {
			return nil, wire.At(Format, "", wire.NoOffset, err)
		}
	}
	return d.out, nil
}

func (d *decoder) step() error {
	if err := d.steps.Step(); err != nil {
		return err
	}
	now := d.stage
	d.stage++
	switch now {
	case stHead:
		return d.head()
	case stSchema:
		return d.fb.Verify(d.root)
	case stCodes:
		return d.root.Each(modelCodes, d.code)
	case stBuffers:
		return d.root.Each(modelBuffers, d.buffer)
	case stGraphs:
		return d.graphs()
	case stSpans:
		return d.spans()
	case stRest:
		return d.rest()
	default:
		panic("internal error: stage out of range")
	}
}

func (d *decoder) fail(where string, off int64, cause error) error {
	return wire.At(Format, where, off, cause)
}

// head finds the first table.
func (d *decoder) head() error {
	var head [headLen]byte
	if d.size < headLen {
		return d.fail("", d.size, wire.ErrTruncated.Errorf("%d bytes, and a model has at least %d", d.size, headLen))
	}
	if err := wire.ReadFull(d.r, head[:], 0); err != nil {
		return d.fail("", 0, err)
	}
	if !bytes.Equal(head[4:], []byte(Magic)) {
		return d.fail("", 4, wire.ErrMagic.Errorf("no %s", Magic))
	}
	var err error
	if d.fb, err = fb.NewReader(d.b, Format, d.r, d.size, &schema, causes); err == nil {
		d.root, err = d.fb.Root(tableModel)
	}
	if err != nil {
		return err
	}
	version, err := d.root.Number(modelVersion)
	if err != nil {
		return err
	}
	if version != 3 {
		return d.fail("Model.Version", d.root.Off(), wire.ErrUnsupported.WithRule("tflite.version").Errorf("version %d of the schema, and the runtime reads 3", version))
	}
	d.out.description, err = d.root.Text(modelDescription)
	return err
}

// A code is an operator that the model uses.
type code struct {
	name string
	own  bool // it is the runtime's own
	said bool // a finding says that it is not
}

// outside are the operators that ask for what is not in the runtime. Of those with a name of
// their own, CUSTOM, the runtime registers four itself; they read options that nothing proves, and
// ai-edge-litert 2.3.0 ends with a segmentation fault where they are not as it expects.
var outside = map[string]bool{"CUSTOM": true, "DELEGATE": true, "PLACEHOLDER_FOR_GREATER_OP_CODES": true, "STABLEHLO_CUSTOM_CALL": true}

func (d *decoder) code(_ int, n fb.Node) error {
	old, err := n.Number(codeOld)
	if err != nil {
		return err
	}
	number, err := n.Number(codeBuiltin)
	if err != nil {
		return err
	}
	// As the runtime does: files of before 2020 have the older field alone.
	v := max(int64(int8(old)), int64(int32(number)))
	name, known := operators[v]
	if !known {
		return d.fail("OperatorCode", n.Off(), wire.ErrUnsupported.WithRule("tflite.operator-unknown").Errorf("the operator %d, and %s has none of this number", v, schemaOf))
	}
	c := code{name: name, own: !outside[name]}
	if name == "CUSTOM" {
		if c.name, err = n.Text(codeCustom); err != nil {
			return err
		}
	}
	err = d.b.Items(1)
	if err == nil {
		d.codes, err = limits.Append(d.b, d.codes, c)
	}
	if err != nil {
		return d.fail("OperatorCode", n.Off(), err)
	}
	return nil
}

// buffer finds the data of a buffer: in the FlatBuffers, or behind them.
func (d *decoder) buffer(i int, n fb.Node) error {
	at, has, err := n.Vector(bufferData)
	if err != nil {
		return err
	}
	off, err := n.Number(bufferOffset)
	if err != nil {
		return err
	}
	size, err := n.Number(bufferSize)
	if err != nil {
		return err
	}
	span := tensor.Span(at)
	switch behind := off > 1; { // writers leave 0 or 1 where there is nothing
	case behind && has && at.Len > 0:
		return d.fail("Buffer", n.Off(), wire.ErrMismatch.WithRule("tflite.data-twice").Errorf("buffer %d has its data in itself and at an offset: the runtime takes the first", i))
	case behind:
		if off > uint64(d.size) || size > uint64(d.size)-off {
			return d.fail("Buffer", n.Off(), wire.ErrTruncated.Errorf("the data of buffer %d are %d bytes at %#x, and the file has %d", i, size, off, d.size))
		}
		span = tensor.Span{Off: int64(off), Len: int64(size)}
	}
	err = d.b.Items(1)
	if err == nil {
		d.buffers, err = limits.Append(d.b, d.buffers, span)
	}
	if err != nil {
		return d.fail("Buffer", n.Off(), err)
	}
	return nil
}
