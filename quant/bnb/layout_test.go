package bnb_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// INT8 has a scale for each row, and no other choice.
func TestLayoutsThatBitsandbytesDoesNotHave(t *testing.T) {
	for _, c := range []struct {
		layout bnb.Layout
		want   wire.Class
	}{
		{bnb.Layout{Type: bnb.INT8}, wire.OK},
		{bnb.Layout{Type: bnb.INT8, Block: 64}, wire.Usage},
		{bnb.Layout{Type: bnb.INT8, Nested: true}, wire.Usage},
		{bnb.Layout{Type: bnb.NF4, Block: 48}, wire.Usage},
		{bnb.Layout{Type: bnb.NF4, Block: 64, Nested: true}, wire.OK},
	} {
		if err := c.layout.Check(); wire.ClassOf(err) != c.want {
			t.Errorf("%+v: %v", c.layout, err)
		}
	}
}
