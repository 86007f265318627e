package fuzz_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// A forgetting is a way to quantize: type, block, and selection.
type forgetting struct {
	how     uint8
	threads int
	tile    int
}

func (f *forgetting) options() bnb.Layout {
	o := bnb.Layout{Type: bnb.Type(f.how % 3), Measure: true}
	if o.Type != bnb.INT8 {
		o.Block, o.Nested = 32<<(f.how/3%8), f.how&64 != 0
	}
	if f.how&128 != 0 {
		o.Include = func(string) bool { return true }
	}
	return o
}

// FuzzForget quantizes any bytes as a model. The written file must bind and decode, and
// must be the same for any number of workers and any tiles, with the same distortion. A
// tighter account must give the same result or a limit error.
func FuzzForget(f *testing.F) {
	seeds := sampled{f, new(int)}
	for i, format := range corpus.Formats() {
		for k, s := range corpus.Valid(format) {
			seeds.Add(s.Data, uint8(37*i+k+128))
		}
	}
	for how := range 16 {
		f.Add(smallMatrices(how), uint8(how*16))
	}
	f.Fuzz(func(t *testing.T, data []byte, how uint8) {
		var same agreement
		for _, w := range [...]forgetting{{how, 1, 0}, {how, 4, 128}, {how, 3, 1000}} {
			b := fuzz.Ceilings.Budget(context.Background())
			sum, err := forget(b, bytes.NewReader(data), int64(len(data)), w, true)
			b.Close()
			if err := fuzz.Placed(err, int64(len(data))); err != nil {
				t.Fatal(err)
			}
			same.hold(t, w, sum, err)
		}
		fuzz.Target{
			Read: func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
				sum, err := forget(b, r, size, forgetting{how, 1, 0}, true)
				return fuzz.Text(sum), err
			},
			Measured: func(b *limits.Budget, r io.ReaderAt, size int64) error {
				_, err := forget(b, r, size, forgetting{how, 1, 0}, false)
				return err
			},
		}.Check(t, data)
	})
}

// forget quantizes a model and decodes what was written.
func forget(b *limits.Budget, r io.ReaderAt, size int64, f forgetting, look bool) (string, error) {
	m, err := parser.Decode(b, r, size)
	if err != nil {
		return "", err
	}
	defer m.Close()
	p, err := convert.NewPlan(b, m, convert.Options{Quantize: f.options(), Requantize: true, Threads: f.threads, Tile: f.tile})
	if err != nil {
		return "", err
	}
	if !look {
		return unread(p)
	}
	data, answer, err := writtenOut(p)
	if data == nil {
		return answer, err
	}
	if why := bindsAgain(data, p.Quantized); why != "" {
		return "", &fuzz.Broken{Property: fuzz.Rewritten, Seen: why}
	}
	return fmt.Sprintf("%x %+v", sha256.Sum256(data), p.Quantized.Lost()), nil
}

// bindsAgain says why the written file does not decode to as many weights, or returns "".
func bindsAgain(data []byte, e *convert.Quantized) string {
	b := limits.Policy{Timeout: limits.NoTimeout, MaxExpandRatio: 1 << 20}.Budget(context.Background())
	defer b.Close()
	m, err := parser.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err.Error()
	}
	bound, err := quant.Plan(b, m, quant.Options{Target: quant.F32})
	if err != nil {
		return err.Error()
	}
	byName := map[string]*quant.Weight{}
	for _, w := range bound.Weights {
		byName[w.Name] = w
	}
	for i := range e.Weights {
		want := &e.Weights[i]
		w := byName[want.Name]
		if w == nil || w.Rows()*w.Cols() != want.Elements {
			return fmt.Sprintf("%q does not bind", want.Name)
		}
		if err := quant.Decode(b, m, w, make([]byte, w.Size(quant.F32)), quant.F32); err != nil {
			return err.Error()
		}
	}
	return ""
}

// smallMatrices returns a safetensors file of linear weights.
func smallMatrices(k int) []byte {
	rows, cols := 1+k*5%23, 1+k*k%70
	n := 2 * rows * cols
	header := fmt.Sprintf(`{"a.weight":{"dtype":"BF16","shape":[%d,%d],"data_offsets":[0,%d]},"lm_head.weight":{"dtype":"BF16","shape":[1,1],"data_offsets":[%d,%d]}}`,
		rows, cols, n, n, n+2)
	out := []byte{byte(len(header)), byte(len(header) >> 8), 0, 0, 0, 0, 0, 0}
	out = append(out, header...)
	for i := range n/2 + 1 {
		out = append(out, byte(i*37+k), byte(0x38+(i*k)%9)|byte(i%2<<7))
	}
	return out
}
