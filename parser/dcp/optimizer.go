package dcp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// An optimizer of torch has two members: state, with tensors as large as the weights, and
// param_groups. The library joins their names with what leads to them: optim.state.fc.weight.exp_avg and
// optim.param_groups.fc.weight.lr.
const (
	groups = "param_groups."
	state  = "state."
)

// maxOptimizers bounds the optimizers of a checkpoint: each is compared with each name.
const maxOptimizers = 64

// optimizers finds how the names of the states of optimizers begin, and says that there are some.
func (d *decoder) optimizers() error {
	f := d.out
	for i := range f.items {
		if err := d.steps.Step(); err != nil {
			return err
		}
		name := f.items[i].name
		at := strings.Index(name, groups)
		if at < 0 || at > 0 && name[at-1] != '.' || len(f.trained) == maxOptimizers || slices.Contains(f.trained, name[:at]) {
			continue
		}
		var err error
		if f.trained, err = limits.Append(d.b, f.trained, name[:at]); err != nil {
			return d.fail("", wire.NoOffset, err)
		}
	}
	n := 0
	for i := range f.Infos {
		if err := d.steps.Take(1 + int64(len(f.trained))/4); err != nil {
			return err
		}
		if f.OfOptimizer(f.Infos[i].Name) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return f.Found.Add(d.b, Format, tensor.Finding{
		Code: "dcp.optimizer", Severity: tensor.Note, Off: wire.NoOffset,
		Text: fmt.Sprintf("%d of %d tensors are the state of an optimizer, not weights", n, len(f.Infos)),
	})
}

// OfOptimizer reports whether a tensor is part of the state of an optimizer.
func (f *File) OfOptimizer(name string) bool {
	for _, prefix := range f.trained {
		if rest, ok := strings.CutPrefix(name, prefix); ok && (strings.HasPrefix(rest, state) || strings.HasPrefix(rest, groups)) {
			return true
		}
	}
	return false
}
