package vm_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/vm"
)

// stateDict is the data.pkl of a state dict of n tensors as torch.save writes
// it: protocol 2, every value memoized, globals and common texts replayed.
func stateDict(n int) (data []byte, opcodes int) {
	p := &pickler{memo: map[string]int{}}
	p.op(0x80, 2)
	p.global("collections", "OrderedDict")
	p.op(')')
	p.op('R')
	p.put()
	p.op('(')
	for i := range n {
		p.tensor(fmt.Sprintf("model.layers.%d.self_attn.q_proj.lora_%d.weight", i/100, i%100), i)
	}
	p.op('u')
	p.op('}')
	p.put()
	p.text("_metadata")
	p.global("collections", "OrderedDict")
	p.op(')')
	p.op('R')
	p.put()
	p.op('s')
	p.op('b')
	p.op('.')
	return p.out, p.count
}

type pickler struct {
	out   []byte
	memo  map[string]int
	next  int
	count int
}

func (p *pickler) op(code byte, operand ...byte) {
	p.out = append(append(p.out, code), operand...)
	p.count++
}

func (p *pickler) put() {
	if p.next < 256 {
		p.op('q', byte(p.next))
	} else {
		p.op('r', binary.LittleEndian.AppendUint32(nil, uint32(p.next))...)
	}
	p.next++
}

func (p *pickler) get(at int) {
	if at < 256 {
		p.op('h', byte(at))
	} else {
		p.op('j', binary.LittleEndian.AppendUint32(nil, uint32(at))...)
	}
}

func (p *pickler) once(key string, write func()) {
	if at, ok := p.memo[key]; ok {
		p.get(at)
		return
	}
	write()
	p.memo[key] = p.next
	p.put()
}

func (p *pickler) global(module, name string) {
	p.once("c"+module+name, func() { p.op('c', []byte(module+"\n"+name+"\n")...) })
}

func (p *pickler) text(s string) {
	p.once("X"+s, func() {
		p.op('X', append(binary.LittleEndian.AppendUint32(nil, uint32(len(s))), s...)...)
	})
}

func (p *pickler) number(n int) {
	switch {
	case n < 256:
		p.op('K', byte(n))
	case n < 65536:
		p.op('M', byte(n), byte(n>>8))
	default:
		p.op('J', binary.LittleEndian.AppendUint32(nil, uint32(n))...)
	}
}

func (p *pickler) tensor(name string, i int) {
	p.text(name)
	p.global("torch._utils", "_rebuild_tensor_v2")
	p.op('(')
	p.op('(')
	p.text("storage")
	p.global("torch", "FloatStorage")
	p.text(fmt.Sprint(i))
	p.text("cpu")
	p.number(4096 * 16)
	p.op('t')
	p.put()
	p.op('Q')
	p.number(0)
	p.number(4096)
	p.number(16)
	p.op(0x86)
	p.put()
	p.number(16)
	p.number(1)
	p.op(0x86)
	p.put()
	p.op(0x89)
	p.global("collections", "OrderedDict")
	p.op(')')
	p.op('R')
	p.put()
	p.op('t')
	p.put()
	p.op('R')
	p.put()
}

var background = context.Background()

// BenchmarkLoad reads a state dict of 100,000 tensors. The figures: time and
// charged bytes of an opcode, and the account's peak as a multiple of the pickle.
func BenchmarkLoad(b *testing.B) {
	data, opcodes := stateDict(100_000)
	b.SetBytes(int64(len(data)))
	var peak int64
	for b.Loop() {
		account := limits.Policy{}.Budget(background)
		g, err := vm.Load(account, bytes.NewReader(data), 0, int64(len(data)))
		if err != nil {
			b.Fatal(err)
		}
		peak = account.Usage()[limits.Total].Peak
		runtime.KeepAlive(g)
		account.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*opcodes), "ns/opcode")
	b.ReportMetric(float64(peak)/float64(len(data)), "peak/pickle")
}
