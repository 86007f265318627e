package lora

import (
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// readStacks reads which parameters transformers makes of the matrices of experts that the
// base's type has one by one in the checkpoint, or under another name, if the adapter asks for
// any.
func (x *binder) readStacks(a *adapter) error {
	if a.config == nil || a.parameters == nil || x.readTypes {
		return nil
	}
	v, err := x.config()
	if err != nil {
		return err
	}
	x.kindOfText, x.readTypes = v.At("text_config.model_type").String(), true
	for _, kind := range []string{v.Get("model_type").String(), x.kindOfText} {
		for _, m := range loaders.Merges(kind) {
			if stacksMatrices(&m) {
				x.stacks = append(x.stacks, m) // a few, from our own table
			} else if len(m.Operations) == 0 {
				x.renamed = append(x.renamed, m)
			}
		}
	}
	return nil
}

// stacksMatrices reports a conversion that stacks one matrix of each expert, or the first
// matrices of all experts on the second ones: gate_proj and up_proj, w1 and w3, fc1 and fc3.
func stacksMatrices(m *loaders.Merge) bool {
	joins := slices.Equal(m.Operations, []string{"MergeModulelist", "Concatenate"}) && len(m.From) == 2
	return len(m.To) == 1 && (joins || slices.Equal(m.Operations, []string{"MergeModulelist"}) && len(m.From) == 1)
}

// A stack is a parameter whose matrices the base has one by one.
type stack struct {
	stem string   // the beginning of their names
	from []string // the rest; a star is the number of an expert
}

// name returns the name of one matrix.
func (s *stack) name(from string, expert int64) string {
	return s.stem + strings.Replace(from, "*", strconv.FormatInt(expert, 10), 1)
}

// stackOf returns the stack that transformers makes a parameter of, nil if the base has none.
func (x *binder) stackOf(parameter string) *stack {
	for _, m := range x.stacks {
		stem, ok := strings.CutSuffix(parameter, m.To[0])
		if !ok || stem != "" && !strings.HasSuffix(stem, ".") {
			continue
		}
		stems := []string{stem}
		if before, ok := strings.CutSuffix(stem, "mlp."); ok { // Mixtral's name in the checkpoint
			stems = append(stems, before+"block_sparse_moe.")
		}
		for _, stem := range stems {
			s := &stack{stem, m.From}
			if _, ok := x.names.Find(s.name(m.From[0], 0)); ok {
				return s
			}
		}
	}
	return nil
}

// has reports whether the base has a tensor, or the matrices that make the parameter.
func (x *binder) has(name string) bool {
	_, ok := x.names.Find(name)
	return ok || x.stackOf(name) != nil
}

// parameter returns a separately adapted parameter of the base, and the indices of its tensors:
// its own, or those of all experts, one source of the conversion after the other.
func (x *binder) parameter(name string) (p parameter, places []int, err error) {
	if i, w, err := x.find(name); err == nil {
		return parameter{Info: w}, []int{i}, nil
	}
	s := x.stackOf(name)
	if s == nil {
		return p, nil, missingTensor(name)
	}
	experts := int64(0)
	for k, from := range s.from {
		for e := int64(0); k == 0 || e < experts; e++ {
			if err := x.b.Hold(1024); err != nil { // the index, and a product
				return p, nil, err
			}
			i, ok := x.names.Find(s.name(from, e))
			if !ok && k == 0 {
				experts = e
				break
			}
			if !ok {
				return p, nil, missingTensor(s.name(from, e))
			}
			w := &x.infos[i]
			if p.Info == nil {
				own := *w
				p.Info = &own
			}
			if len(w.Shape) != 2 || !slices.Equal(w.Shape, p.Shape) || w.DType != p.DType {
				return p, nil, wire.ErrMismatch.Errorf("the base's experts differ: %s is %s of shape %v, %s is %s of shape %v", wire.Quote(p.Name), p.DType, p.Shape, wire.Quote(w.Name), w.DType, w.Shape)
			}
			if places, err = limits.Append(x.b, places, i); err != nil {
				return p, nil, err
			}
		}
	}
	rows, fits := wire.Mul(uint64(p.Shape[0]), uint64(len(s.from)))
	if !fits || rows > wire.MaxSize {
		return p, nil, wire.ErrUnsupported.Errorf("experts of %d rows", p.Shape[0])
	}
	p.experts = experts
	p.Shape = []int64{experts, int64(rows), p.Shape[1]}
	return p, places, nil
}

// cut returns the part of a stack's product for the matrix of one expert: k counts the matrices
// as parameter does.
func (p *product) cut(k int, experts, rows int64) *product {
	part := *p
	part.expert, part.experts = int64(k)%experts, experts
	part.firstRow, part.rows, part.batch = int64(k)/experts*rows, rows, 1
	return &part
}

// loadExpert reads the matrices of one expert of a stack.
func (x *matrices) loadExpert(read func(dst []float32, m matrixPart) error) error {
	rank, of := x.rank, x.experts
	if err := read(x.right, matrixPart{info: x.a, first: x.expert * rank * x.cols, n: rank * x.cols}); err != nil {
		return err
	}
	return read(x.left, matrixPart{info: x.b, first: x.firstRow * rank * of, n: x.rows * rank * of, place: func(row, k int64) int64 {
		if k%of != x.expert {
			return -1
		}
		return (row-x.firstRow)*rank + k/of
	}})
}
