package compare

import (
	"github.com/anamnesis-go/anamnesis/internal/elements"
	"github.com/anamnesis-go/anamnesis/internal/number"
	"github.com/anamnesis-go/anamnesis/quant"
)

// distance reads two different tensors again and measures how far apart they are: in
// float32, without pairs of which one is NaN or infinite. For types without numbers the
// sum is empty.
func (c *comparison) distance(a, b *Tensor) (sum quant.Distortion, err error) {
	account := c.b.Probe()
	defer account.Close()
	var r [2]elements.Source
	var of [2]number.Loader
	for i, t := range [...]*Tensor{a, b} {
		if r[i], err = open(account, c.models[i], t); err != nil {
			return sum, err
		}
		defer r[i].Close()
		if of[i] = number.Of(r[i].DType()); of[i] == nil {
			return sum, nil
		}
	}
	total := r[0].Elements()
	for at := int64(0); at < total; at += pieceElements {
		if err := c.b.Step(1); err != nil {
			return sum, err
		}
		n := min(pieceElements, total-at)
		for i := range r {
			p := c.piece[i][:elements.Size(r[i].DType(), n)]
			if err := r[i].Read(p); err != nil {
				return sum, err
			}
			of[i](c.values[i][:n], p, c.tile)
		}
		k := 0
		for i := range n {
			x, y := float32(c.values[0][i].F), float32(c.values[1][i].F)
			if x-x == 0 && y-y == 0 {
				c.tile[k], c.other[k] = x, y
				k++
			}
		}
		var one quant.Distortion
		one.Add(c.tile[:k], c.other[:k])
		sum.Merge(one)
	}
	return sum, nil
}
