package main

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/tiles"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// contend runs one contender: "ours 2", "raw 1".
func contend(name, source, target string) (run, error) {
	kind, number, _ := strings.Cut(name, " ")
	threads, err := strconv.Atoi(number)
	if err != nil {
		return run{}, err
	}
	runtime.GOMAXPROCS(runtime.NumCPU() + 2) // as amn does, for raw too
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
	defer b.Close()
	m, err := parser.Open(b, source)
	if err != nil {
		return run{}, err
	}
	defer m.Close()
	p, err := convert.NewPlan(b, m, convert.Options{Threads: threads})
	if err != nil {
		return run{}, err
	}
	began := time.Now()
	f, err := os.Create(target)
	if err != nil {
		return run{}, err
	}
	defer f.Close()
	if err := tiles.Reserve(f, p.Size); err != nil {
		return run{}, err
	}
	if kind == "ours" {
		_, err = p.Stream(f)
		return run{Bytes: p.Size, Wall: time.Since(began)}, err
	}
	err = raw(m, p, f, threads, kind == "shifted")
	return run{Bytes: p.Size, Wall: time.Since(began)}, err
}

// A strip is a tile of output and the part of the source that it is made of.
type strip struct {
	r        tensor.Info
	from, to int64 // offsets: in the tensor, in the output
	in, out  int64 // bytes
}

// raw reads and writes the bytes of a conversion without converting them.
func raw(m tensor.Model, p *convert.Plan, f *os.File, threads int, shift bool) error {
	stored := map[string]tensor.Info{}
	for i := range m.Tensors() {
		stored[i.Name] = i
	}
	for _, w := range p.Weights {
		stored[w.Name] = w.Parts[0]
	}
	var strips []strip
	at := int64(0)
	for _, o := range p.Outs {
		i := stored[o.Name]
		for off := int64(0); off < o.Size; off += convert.DefaultTile {
			n := min(convert.DefaultTile, o.Size-off)
			first, last := off*i.Span.Len/o.Size, (off+n)*i.Span.Len/o.Size
			strips = append(strips, strip{i, first, p.Size - total(p) + at + off, last - first, n})
		}
		at += o.Size
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, threads)
	for k := range threads {
		wg.Go(func() {
			in, out := tiles.Bytes(2*convert.DefaultTile), tiles.Bytes(convert.DefaultTile)
			for {
				i := int(next.Add(1)) - 1
				if i >= len(strips) || errs[k] != nil {
					return
				}
				errs[k] = strips[i].do(m, f, in, out, shift)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func total(p *convert.Plan) (n int64) {
	for _, o := range p.Outs {
		n += o.Size
	}
	return n
}

// do copies one strip. Where source and target lie differently in their lines
// it may be read as the source lies and shifted in memory.
func (s *strip) do(m tensor.Model, f *os.File, in, out []byte, shift bool) error {
	r, _ := m.At(s.r)
	from := s.r.Span.Off + s.from
	dst := tiles.Shift(out, s.to, int(s.out))
	src := dst
	if shift || s.in != s.out {
		src = tiles.Shift(in, from, int(s.in))
	}
	if err := wire.ReadFull(r, src, s.from); err != nil {
		return err
	}
	if s.in == s.out && shift {
		copy(dst, src)
	}
	_, err := f.WriteAt(dst, s.to)
	return err
}
