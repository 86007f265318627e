package main

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"time"

	"github.com/anamnesis-go/anamnesis/compare"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/digest"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/watch"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/stats"
)

// An input is a file of some name.
type input struct {
	name, format string
	data         []byte
	recipe       string // its text, if it is made from one
	through      func(io.ReaderAt) io.ReaderAt
}

// A command is what `amn` does with one file.
type command struct {
	name string
	run  func(b *limits.Budget, in *input) error
}

// commands are the commands that read a model, without those that only print.
var commands = []command{
	{"parse", func(b *limits.Budget, in *input) error {
		return opened(b, in, func(m tensor.Model) error {
			for range m.Tensors() {
			}
			for range m.Meta() {
			}
			return nil
		})
	}},
	{"inspect", func(b *limits.Budget, in *input) error {
		return opened(b, in, func(m tensor.Model) error { return parser.Verify(b, m) })
	}},
	{"scan", func(b *limits.Budget, in *input) error { return judged(b, in, false) }},
	{"verify", func(b *limits.Budget, in *input) error { return judged(b, in, true) }},
	{"hash", func(b *limits.Budget, in *input) error {
		return opened(b, in, func(m tensor.Model) error {
			if _, _, err := digest.Reader(b, in.reader(), nil); err != nil {
				return err
			}
			_, err := digest.Tensors(b, m, digest.Options{Workers: 1})
			return err
		})
	}},
	{"stats", func(b *limits.Budget, in *input) error {
		return opened(b, in, func(m tensor.Model) error {
			_, err := stats.Tensors(b, m, stats.Options{Workers: 1})
			return err
		})
	}},
	{"diff", func(b *limits.Budget, in *input) error {
		return opened(b, in, func(m tensor.Model) error {
			return opened(b, in, func(other tensor.Model) error {
				_, err := compare.Models(b, m, other, compare.Options{}, func(*compare.Difference) error { return nil })
				return err
			})
		})
	}},
	{"convert", func(b *limits.Budget, in *input) error {
		return written(b, in, convert.Options{AsIs: true, Sink: convert.Safetensors{}, Threads: 1})
	}},
	{"dequantize", func(b *limits.Budget, in *input) error {
		return written(b, in, convert.Options{Quant: quant.Options{Target: quant.BF16}, Sink: convert.Safetensors{}, Threads: 1})
	}},
}

func (in *input) reader() *io.SectionReader {
	return io.NewSectionReader(in.at(), 0, int64(len(in.data)))
}

// at returns what reads the file.
func (in *input) at() io.ReaderAt {
	if in.through != nil {
		return in.through(bytes.NewReader(in.data))
	}
	return bytes.NewReader(in.data)
}

func opened(b *limits.Budget, in *input, use func(tensor.Model) error) error {
	m, err := parser.Decode(b, in.at(), int64(len(in.data)))
	if err != nil {
		return err
	}
	defer m.Close()
	return use(m)
}

func judged(b *limits.Budget, in *input, digest bool) error {
	g := gate.Gate{Policy: gate.Policy{Limits: *b.Policy()}, Digest: digest}
	v, err := g.Check(b, in.at(), int64(len(in.data)), gate.Hint{Name: in.name, Beside: true})
	if err != nil {
		return err
	}
	defer v.Close()
	return v.Err
}

func written(b *limits.Budget, in *input, o convert.Options) error {
	return opened(b, in, func(m tensor.Model) error {
		p, err := convert.NewPlan(b, m, o)
		if err != nil {
			return err
		}
		_, err = p.Stream(nowhere{})
		return err
	})
}

// nowhere is a file that keeps nothing.
type nowhere struct{}

func (nowhere) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

// A price is what one run cost.
type price struct {
	cpu             time.Duration
	steps, inflated int64
	blind           time.Duration // the longest time between two looks at its context
	err             error
}

// maxTime ends runs that are far beyond the bounds. It is of the clock, and the machine may
// have other work.
const maxTime = 2 * time.Minute

// measure runs a command, and again if that took long enough to be blind for long: what sees
// each look at the context costs time itself.
func (c *command) measure(in *input) (p price) {
	p = c.timed(in)
	if p.cpu >= least {
		l := looks{last: time.Now()}
		c.under(in, l.look)
		l.look()
		p.blind = min(l.longest, p.cpu) // of the clock: others may have had the processor meanwhile
	}
	return p
}

// timed runs a command once.
func (c *command) timed(in *input) price {
	from := cpu()
	p := c.under(in, nil)
	p.cpu = cpu() - from
	return p
}

// under runs a command, and calls look, if there is one, wherever it looks at its context.
func (c *command) under(in *input, look func()) (p price) {
	b := limits.Policy{Timeout: maxTime}.Budget(context.Background())
	defer b.Close()
	if look != nil {
		watch.SetLook(look)
		defer watch.SetLook(nil)
	}
	p.err = c.run(b, in)
	p.steps, p.inflated = b.Worked(), b.Inflated()
	return p
}

// again returns the least price of several runs, for what is worth it.
func (c *command) again(in *input, p price) price {
	for range 2 {
		runtime.GC()
		q := c.measure(in)
		blind := min(p.blind, q.blind)
		if p.blind == 0 {
			blind = q.blind
		}
		if q.cpu < p.cpu {
			p = q
		}
		p.blind = blind
	}
	return p
}

const mebi = 1 << 20

// rate is the share of what the input may cost: above 1 it is a fault.
func (p *price) rate(in *input) float64 {
	size := float64(max(len(in.data), mebi)) / mebi
	return p.cpu.Seconds() / (size + 0.1*float64(p.inflated)/mebi)
}

// least is the time below which the price of a step says nothing.
const least = 5 * time.Millisecond

// step is the nanoseconds of one step, 0 for a run that is too short.
func (p *price) step() float64 {
	if p.cpu < least {
		return 0
	}
	return float64(p.cpu.Nanoseconds()) / float64(max(p.steps, 1))
}

// class says how the run ended.
func (p *price) class() string { return wire.ClassOf(p.err).String() }
