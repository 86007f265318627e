package ggml

import (
	"io"
	"iter"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Format is the name of the format in errors.
const Format = "ggml"

// Magic is the number 0x67676d6c, as it is stored.
const Magic = "lmgg"

const (
	maxDims = 4   // ne of whisper_model_load
	maxName = 256 // the longest that whisper.cpp knows has 40
	// versionFactor is GGML_QNT_VERSION_FACTOR: the version of the blocks is in ftype.
	versionFactor = 1000
	blockVersion  = 2
)

// The causes of refusals.
var (
	errRange = wire.ErrRange.WithRule("ggml.number")
	errOther = wire.ErrUnsupported.WithRule("ggml.other")
	errText  = wire.ErrText.WithRule("ggml.name")
	errHead  = wire.ErrMismatch.WithRule("ggml.hyperparameters")
)

// params are the hyperparameters, in the order in which whisper.cpp reads them, with the most that
// each may be: models that are published stay far below. All but ftype are at least one: the loader
// divides by the heads, and ends in an assertion without a layer of the decoder, a mel or a context.
var params = [...]struct {
	name string
	most uint32
}{
	{"n_vocab", 1 << 20}, {"n_audio_ctx", 1 << 20}, {"n_audio_state", 1 << 16}, {"n_audio_head", 1 << 10}, {"n_audio_layer", 1 << 10},
	{"n_text_ctx", 1 << 20}, {"n_text_state", 1 << 16}, {"n_text_head", 1 << 10}, {"n_text_layer", 1 << 10}, {"n_mels", 1 << 10}, {"ftype", 1 << 16},
}

// The places of some hyperparameters.
const (
	vocab       = 0
	audioCtx    = 1
	audioState  = 2
	audioHeads  = 3
	audioLayers = 4
	textCtx     = 5
	textState   = 6
	textHeads   = 7
	textLayers  = 8
	mels        = 9
	ftype       = 10
)

// A File is a model whose structure has been proven.
type File struct {
	tensor.File

	params  [len(params)]uint32
	filters [2]uint32
	tokens  uint32
}

// Meta lists the hyperparameters by whisper.cpp's names, and the sizes of filters and vocabulary.
func (f *File) Meta() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for k, p := range params {
			if !yield("whisper."+p.name, int64(f.params[k])) {
				return
			}
		}
		_ = yield("whisper.filters", []any{int64(f.filters[0]), int64(f.filters[1])}) && yield("whisper.tokens", int64(f.tokens))
	}
}

// A decoder reads one file.
type decoder struct {
	b     *limits.Budget
	steps limits.Steps
	c     wire.Cursor
	out   *File
	names *wire.NameSet
	plan  plan
}

// Decode reads the structure of the model in r, which holds size bytes.
func Decode(b *limits.Budget, r io.ReaderAt, size int64) (*File, error) {
	b.Source(size)
	d := &decoder{b: b, steps: b.Steps(), c: wire.NewCursor(b, Format, r, size), out: &File{File: tensor.File{Name: Format, Source: r}}}
	for _, stage := range [...]func() error{d.head, d.agree, d.filters, d.vocab, d.tensors} {
		err := b.Step(1)
		if err == nil {
			err = stage()
		}
		if err != nil {
			return nil, wire.At(Format, "", wire.NoOffset, err)
		}
	}
	return d.out, nil
}

// head reads magic and hyperparameters.
func (d *decoder) head() error {
	magic, err := d.c.Bytes(uint64(len(Magic)))
	if err != nil {
		return err
	}
	if string(magic) != Magic {
		return d.c.FailAt("", 0, wire.ErrMagic.Errorf("it begins with %q", magic))
	}
	for k := range d.out.params {
		at := d.c.Off()
		v, err := d.c.U32()
		if err != nil {
			return err
		}
		p := &params[k]
		if d.out.params[k] = v; v > p.most {
			return d.c.FailAt(p.name, at, errOther.Errorf("%d, and models of whisper.cpp have at most %d: it is a file of another program, or none", v, p.most))
		}
	}
	return nil
}

// filters reads the sizes of the filters, and skips them.
func (d *decoder) filters() error {
	at := d.c.Off()
	for k := range d.out.filters {
		v, err := d.c.U32()
		if err != nil {
			return err
		}
		d.out.filters[k] = v
	}
	rows, cols := uint64(d.out.filters[0]), uint64(d.out.filters[1])
	if rows != uint64(d.out.params[mels]) {
		return d.c.FailAt("filters", at, errOther.Errorf("%d rows, and %d mels: it is a file of another program, or none", rows, d.out.params[mels]))
	}
	n, ok := wire.Mul(4*rows, cols)
	if !ok {
		return d.c.FailAt("filters", at, wire.ErrInternal.Errorf("%d times %d, and n_mels is at most 1024", rows, cols))
	}
	return d.c.Skip(n)
}

// vocab skips the tokens.
func (d *decoder) vocab() error {
	at := d.c.Off()
	n, err := d.c.U32()
	if err != nil {
		return err
	}
	if n > d.out.params[vocab] {
		return d.c.FailAt("vocabulary", at, errRange.Errorf("%d tokens, and n_vocab is %d", n, d.out.params[vocab]))
	}
	if err := d.b.Items(int64(n)); err != nil {
		return d.c.FailAt("vocabulary", at, err)
	}
	d.out.tokens = n
	for range n {
		if err := d.steps.Step(); err != nil {
			return d.c.Fail("vocabulary", err)
		}
		length, err := d.c.U32()
		if err == nil {
			err = d.c.Skip(uint64(length))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tensors reads tensors to the end of the file.
func (d *decoder) tensors() error {
	var err error
	d.names, err = wire.NewNameSet(d.b, 0, func(i int) string { return d.out.Infos[i].Name })
	if err != nil {
		return err
	}
	for d.c.Left() > 0 {
		if err := d.steps.Step(); err != nil {
			return d.c.Fail("", err)
		}
		if err := d.tensor(); err != nil {
			return err
		}
	}
	return d.all()
}

// all checks that there are as many tensors as whisper.cpp has for the layers: 15 of a layer of the
// encoder, 24 of one of the decoder, and 11 besides. There are no more, because each has a name of its
// table, and its own.
func (d *decoder) all() error {
	if got, want := len(d.out.Infos), 11+15*int(d.out.params[audioLayers])+24*int(d.out.params[textLayers]); got < want {
		return d.c.Fail("", wire.ErrTruncated.Errorf("%d tensors, and the layers have %d", got, want))
	}
	return nil
}

// tensor reads the head of a tensor, and skips its body.
func (d *decoder) tensor() error {
	at := d.c.Off()
	var head [3]uint32 // dimensions, bytes of the name, type
	for k := range head {
		v, err := d.c.U32()
		if err != nil {
			return err
		}
		head[k] = v
	}
	switch {
	case head[0] == 0 || head[0] > maxDims:
		return d.c.FailAt("", at, errRange.Errorf("a tensor of %d dimensions: the loader has room for %d", head[0], maxDims))
	case head[1] == 0 || head[1] > maxName:
		return d.c.FailAt("", at, errRange.Errorf("a name of %d bytes", head[1]))
	}
	i := tensor.Info{}
	var err error
	if i.Shape, err = d.shape(int(head[0])); err != nil {
		return err
	}
	if i.Name, err = d.c.String(uint64(head[1])); err != nil {
		return err
	}
	where := "tensor " + wire.Quote(i.Name)
	if !utf8.ValidString(i.Name) {
		return d.c.FailAt(where, at, errText.Errorf("a name that is not UTF-8"))
	}
	if i.Stored, i.DType = gguf.Type(head[2]).String(), gguf.Type(head[2]).DType(); i.DType == tensor.Unknown {
		return d.c.FailAt(where, at, wire.ErrUnsupported.WithRule("ggml.type-unknown").Errorf("the type %d, of which ggml has no block today", head[2]))
	}
	if err := d.span(&i, where, at); err != nil {
		return err
	}
	if err := d.planned(&i, gguf.Type(head[2]), where, at); err != nil {
		return err
	}
	return d.add(i, where, at)
}

// shape reads dimensions, the innermost first.
func (d *decoder) shape(n int) ([]int64, error) {
	shape, err := limits.Make[int64](d.b, n)
	if err != nil {
		return nil, d.c.Fail("", err)
	}
	for k := range shape {
		v, err := d.c.U32()
		if err != nil {
			return nil, err
		}
		if shape[n-1-k] = int64(int32(v)); int32(v) <= 0 {
			return nil, d.c.Fail("", errRange.Errorf("a dimension of %d", int32(v)))
		}
	}
	return shape, nil
}

// span proves that the data are whole blocks which lie in the file.
func (d *decoder) span(i *tensor.Info, where string, at int64) error {
	g, _ := i.DType.Geometry()
	row := i.Shape[len(i.Shape)-1]
	if row%int64(g.Elems) != 0 {
		return d.c.FailAt(where, at, wire.ErrMismatch.WithRule("ggml.blocks").Errorf("rows of %d elements, and a block of %s has %d", row, i.Stored, g.Elems))
	}
	if version := d.out.params[ftype] / versionFactor; g.Elems > 1 && version != blockVersion {
		return d.c.FailAt(where, at, wire.ErrUnsupported.WithRule("ggml.block-version").Errorf("blocks of version %d, and those of version %d are read", version, blockVersion))
	}
	n, ok := wire.Product(i.Shape)
	if ok {
		n, ok = wire.Mul(n/uint64(g.Elems), uint64(g.Bytes))
	}
	if !ok {
		return d.c.FailAt(where, at, wire.ErrOverflow.WithRule("ggml.shape-overflow").Errorf("shape %v of %s", i.Shape, i.Stored))
	}
	i.Span.Off = d.c.Off()
	if err := d.c.Skip(n); err != nil {
		return wire.At(Format, where, at, err)
	}
	i.Span.Len = d.c.Off() - i.Span.Off
	return nil
}

// add adds a tensor.
func (d *decoder) add(i tensor.Info, where string, at int64) error {
	err := d.b.Items(1)
	if err == nil {
		err = d.b.Expand(i.Span.Len)
	}
	if err == nil {
		d.out.Infos, err = limits.Append(d.b, d.out.Infos, i)
	}
	if err != nil {
		return d.c.FailAt(where, at, err)
	}
	if _, added, err := d.names.Add(len(d.out.Infos) - 1); err != nil {
		return d.c.FailAt(where, at, err)
	} else if !added {
		return d.c.FailAt(where, at, wire.ErrDuplicate.WithRule("ggml.name-twice").Errorf("another tensor has this name"))
	}
	return nil
}
