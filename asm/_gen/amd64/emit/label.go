package emit

import (
	"strconv"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A Place is a label of one kernel. Two that ask for the same name get different
// labels, so that a part of a kernel may stand in it twice.
type Place string

// named counts the labels of the kernel that is written.
var named = map[string]int{}

// NewLabel is a label that no other part of the kernel has.
func NewLabel(name string) Place {
	named[name]++
	if n := named[name]; n > 1 {
		name += strconv.Itoa(n)
	}
	return Place(name)
}

// Here is the place.
func (l Place) Here() { build.Label(string(l)) }

// Repeat is a loop of n passes.
func Repeat(name string, n reg.Register, body func()) {
	again := NewLabel(name)
	again.Here()
	body()
	build.DECQ(n)
	build.JNZ(again.Ref())
}

// Ref is what jumps name.
func (l Place) Ref() operand.LabelRef { return operand.LabelRef(l) }
