package vm

import "iter"

// Persistents yields every persistent id that the pickle resolves, in order, even those
// that no value refers to in the end, since a loader has fetched them.
func (g *Graph) Persistents() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for _, r := range g.ids {
			if !yield(Value{g, r}) {
				return
			}
		}
	}
}
