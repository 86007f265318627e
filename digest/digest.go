// Package digest names models by what they hold: the SHA-256 of each tensor's
// logical bytes, which are the same in every format that stores the tensor.
//
//	list, err := digest.Tensors(b, m, digest.Options{})
//	id, err := digest.Model(b, list)
//
// # What is hashed
//
// The elements of a tensor in row-major order, little-endian, without padding;
// those of a quantized type as the blocks that are stored. A safetensors file, an
// npz archive and a checkpoint of one model have the same digests. [Model] hashes
// names, types, shapes and digests, sorted by name.
//
// # Order
//
// Workers take one tensor at a time, in file order, and read it once from its
// beginning to its end. [Whole] reads files instead, each once, and hashes their
// tensors as they pass by. The result is the same for any number of workers.
//
// # Limits
//
// One buffer of 1 MiB for each worker, two for each file that is read at a time, and
// the list, charged to the account. A strided tensor's storage is held in memory while
// it is read.
package digest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/anamnesis-go/anamnesis/internal/ahead"
	"github.com/anamnesis-go/anamnesis/internal/elements"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Sum is a SHA-256.
type Sum [sha256.Size]byte

func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// ParseSum reads what [Sum.String] writes.
func ParseSum(text string) (s Sum, ok bool) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(s) {
		return s, false
	}
	return Sum(raw), true
}

// A Tensor is a tensor and its digest.
type Tensor struct {
	Name, Type string
	Shape      []int64
	Bytes      int64
	Sum        Sum
}

// Options say how to read. The zero value uses one worker.
type Options struct {
	Workers int
	// Done, if set, counts the bytes read.
	Done *atomic.Int64
}

// pieceBytes is how much is hashed at a time: a multiple of every type's block.
const pieceBytes = 1 << 20

// Tensors reads every tensor of a model, and lists them in file order.
func Tensors(b *limits.Budget, m tensor.Model, o Options) (list []Tensor, err error) {
	defer placed(&err)
	j, err := newJob(b, m, o)
	if err != nil {
		return nil, err
	}
	if err := j.run(max(1, o.Workers)); err != nil {
		return nil, err
	}
	return j.result(nil)
}

// placed gives an error of the account, which has no place of its own, that of this package.
func placed(err *error) { *err = wire.At("digest", "", wire.NoOffset, *err) }

func newJob(b *limits.Budget, m tensor.Model, o Options) (*job, error) {
	j := &job{b: b, m: m, o: o}
	var err error
	if j.infos, err = limits.Make[tensor.Info](b, m.Len()); err != nil {
		return nil, err
	}
	j.infos = j.infos[:0]
	for i := range m.Tensors() {
		if err := b.Step(1); err != nil {
			return nil, err
		}
		j.infos = append(j.infos, i)
	}
	if j.list, err = limits.Make[Tensor](b, len(j.infos)); err != nil {
		return nil, err
	}
	j.errs, err = limits.Make[error](b, len(j.infos))
	return j, err
}

type job struct {
	b      *limits.Budget
	m      tensor.Model
	o      Options
	infos  []tensor.Info
	list   []Tensor
	errs   []error
	next   atomic.Int64
	failed atomic.Bool

	skip []bool // tensors that are hashed with their files; nil for none
	same []int  // of those, the one that has the same bytes
}

// run reads the tensors that are not hashed with their files.
func (j *job) run(workers int) error {
	left := len(j.infos)
	for _, skip := range j.skip {
		if skip {
			left--
		}
	}
	if left == 0 {
		return nil
	}
	bufs := make([][]byte, min(workers, left))
	var err error
	for w := range bufs {
		if bufs[w], err = limits.Make[byte](j.b, pieceBytes); err != nil {
			if w == 0 {
				return err
			}
			bufs = bufs[:w] // the account allows fewer workers
			break
		}
	}
	var wg sync.WaitGroup
	for _, buf := range bufs {
		wg.Go(func() { j.work(buf) })
	}
	wg.Wait()
	return nil
}

// result returns the tensors, or the first error: of a tensor in file order, else of a file,
// whichever worker met it first.
func (j *job) result(ofFiles []error) ([]Tensor, error) {
	for _, list := range [...][]error{j.errs, ofFiles} {
		for _, err := range list {
			if err != nil && err != errStopped {
				return nil, err
			}
		}
	}
	for i, same := range j.same {
		if j.skip[i] {
			j.set(i, j.list[same].Sum)
		}
	}
	return j.list, nil
}

// errStopped says that a worker ended because another one had failed.
var errStopped = errors.New("digest: stopped")

// work digests tensors until there are none left.
func (j *job) work(buf []byte) {
	for !j.failed.Load() {
		i := int(j.next.Add(1)) - 1
		if i >= len(j.infos) {
			return
		}
		if j.skip != nil && j.skip[i] {
			continue
		}
		info := j.infos[i]
		sum, err := j.tensor(info, buf)
		if err != nil {
			j.errs[i] = wire.At(j.m.Format(), "tensor "+wire.Quote(info.Name), wire.NoOffset, err)
			j.failed.Store(true)
			return
		}
		j.set(i, sum)
	}
}

// set notes the digest of a tensor.
func (j *job) set(i int, sum Sum) {
	info := &j.infos[i]
	j.list[i] = Tensor{info.Name, info.TypeName(), info.Shape, info.Bytes(), sum}
}

// count counts bytes that were read.
func (j *job) count(n int) {
	if j.o.Done != nil {
		j.o.Done.Add(int64(n))
	}
}

// tensorSteps are those of a tensor, whatever its size.
const tensorSteps = 16

func (j *job) tensor(info tensor.Info, buf []byte) (sum Sum, err error) {
	if err := j.b.Step(tensorSteps); err != nil {
		return sum, err
	}
	account := j.b.Probe() // its charges are given back
	defer account.Close()
	src, err := elements.Open(account, j.m, info)
	if err != nil {
		return sum, err
	}
	defer src.Close()
	h := sha256.New()
	for left := info.Bytes(); left > 0; {
		if err := j.b.Step(1); err != nil {
			return sum, err
		}
		p := buf[:min(left, piece(info))]
		if err := src.Read(p); err != nil {
			return sum, err
		}
		h.Write(p)
		left -= int64(len(p))
		j.count(len(p))
	}
	h.Sum(sum[:0])
	return sum, nil
}

// piece returns how many bytes of a tensor to read at once, in whole elements.
func piece(i tensor.Info) int64 {
	g, ok := i.DType.Geometry()
	if !ok || g.Bytes == 0 {
		return pieceBytes
	}
	return pieceBytes / int64(g.Bytes) * int64(g.Bytes)
}

// Model returns one digest of all tensors, independent of their order in the file: for
// each, sorted by name, the lengths and texts of name and type, the shape, and the sum.
func Model(b *limits.Budget, list []Tensor) (sum Sum, err error) {
	defer placed(&err)
	order, err := limits.Make[int](b, len(list))
	if err != nil {
		return sum, err
	}
	for i := range order {
		order[i] = i
	}
	if err := limits.SortUnstable(b, order, func(x, y int) int { return strings.Compare(list[x].Name, list[y].Name) }); err != nil {
		return sum, err
	}
	h := sha256.New()
	var p []byte
	number := func(n int64) { p = binary.LittleEndian.AppendUint64(p, uint64(n)) }
	for _, i := range order {
		if err := b.Step(1); err != nil {
			return sum, err
		}
		t := &list[i]
		p = p[:0]
		for _, s := range [...]string{t.Name, t.Type} {
			number(int64(len(s)))
			p = append(p, s...)
		}
		number(int64(len(t.Shape)))
		for _, n := range t.Shape {
			number(n)
		}
		h.Write(append(p, t.Sum[:]...))
	}
	return Sum(h.Sum(nil)), nil
}

// Reader hashes the bytes of a file. The next piece is read while one is hashed.
func Reader(b *limits.Budget, r io.Reader, done *atomic.Int64) (sum Sum, size int64, err error) {
	defer placed(&err)
	var bufs [2][]byte
	for i := range bufs {
		if bufs[i], err = limits.Make[byte](b, pieceBytes); err != nil {
			return sum, 0, err
		}
	}
	h := sha256.New()
	err = ahead.Each(r.Read, bufs, func(p []byte) error {
		h.Write(p)
		size += int64(len(p))
		if done != nil {
			done.Add(int64(len(p)))
		}
		return b.Step(1)
	})
	if err != nil {
		return sum, size, err
	}
	return Sum(h.Sum(nil)), size, nil
}
