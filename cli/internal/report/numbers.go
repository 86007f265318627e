package report

import (
	"cmp"
	"sync/atomic"

	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/stats"
)

// ReadNumbers computes statistics of a model, and shows progress.
func ReadNumbers(s *run.Run, b *limits.Budget, doing string, m tensor.Model, o stats.Options) ([]stats.Tensor, error) {
	var read atomic.Int64
	var total int64
	for i := range m.Tensors() {
		if o.Keep == nil || o.Keep(i.Name) {
			total = wire.AddCap(total, i.Bytes())
		}
	}
	o.Done, o.Workers = &read, cmp.Or(o.Workers, s.Workers)
	done := s.Progress(doing, func() (int64, int64) { return read.Load(), total })
	defer done()
	list, err := stats.Tensors(b, m, o)
	if err == nil {
		err = parser.Unchanged(b, m)
	}
	return list, err
}

// notFinite returns an error about the first tensor with NaN or infinities, or nil.
func notFinite(list []stats.Tensor) error {
	for i := range list {
		if t := &list[i]; !t.Finite() {
			return wire.At("stats", "tensor "+wire.Quote(t.Name), wire.NoOffset, wire.ErrForbidden.Errorf(
				"%s NaN and %s infinite numbers, the first is element %s", term.Count(t.NaN), term.Count(t.Infinite), term.Count(t.First)))
		}
	}
	return nil
}
