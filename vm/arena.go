package vm

import "github.com/anamnesis-go/anamnesis/limits"

// An arena holds elements in pieces that never move, so that growing costs no
// copy and no second array. Only the first piece starts small and doubles.
type arena[T any] struct {
	pieces [][]T
	len    uint32
	room   uint32 // elements that fit without growing
}

const (
	pieceBits = 12
	pieceLen  = 1 << pieceBits
	firstLen  = 64
	// maxArena bounds the elements of one arena: an index must not reach the
	// bit that marks an inline integer.
	maxArena = 1 << 31
)

func (a *arena[T]) at(i uint32) *T {
	return &a.pieces[i>>pieceBits][i&(pieceLen-1)]
}

// reserve makes room for n more elements and returns the index of the first.
func (a *arena[T]) reserve(w *limits.Workspace, n int) (uint32, error) {
	first := a.len
	if n <= int(a.room-first) {
		a.len = first + uint32(n)
		return first, nil
	}
	return a.extend(w, n)
}

func (a *arena[T]) extend(w *limits.Workspace, n int) (uint32, error) {
	first := a.len
	if uint64(n) > maxArena-uint64(first) {
		return 0, &limits.Error{Axis: limits.Items, Want: int64(n), Left: int64(maxArena - first)}
	}
	for end := int(first) + n; end > int(a.room); {
		if err := a.grow(w, end); err != nil {
			return 0, err
		}
	}
	a.len = first + uint32(n)
	return first, nil
}

func (a *arena[T]) grow(w *limits.Workspace, end int) error {
	pieces, err := limits.GrowWork(w, a.pieces, 1)
	if err != nil {
		return err
	}
	a.pieces = pieces
	if len(pieces) > 1 || len(pieces) == 1 && len(pieces[0]) == pieceLen {
		piece, err := limits.MakeWork[T](w, pieceLen)
		if err == nil {
			a.pieces = append(pieces, piece)
			a.room += pieceLen
		}
		return err
	}
	return a.widen(w, end)
}

// widen doubles the only piece, or makes it.
func (a *arena[T]) widen(w *limits.Workspace, end int) error {
	size := firstLen
	for size < end && size < pieceLen {
		size *= 2
	}
	var first []T
	if len(a.pieces) > 0 {
		first = a.pieces[0]
	}
	grown, err := limits.GrowWork(w, first, size-len(first))
	if err != nil {
		return err
	}
	a.room = uint32(min(cap(grown), pieceLen))
	a.pieces = append(a.pieces[:0], grown[:a.room])
	return nil
}

// copyIn copies items to index i on.
func (a *arena[T]) copyIn(i uint32, items []T) {
	for len(items) > 0 {
		n := copy(a.pieces[i>>pieceBits][i&(pieceLen-1):], items)
		items, i = items[n:], i+uint32(n)
	}
}

// move copies n elements from index from to index to; the runs do not overlap.
func (a *arena[T]) move(to, from uint32, n int) {
	for n > 0 {
		part := a.pieces[from>>pieceBits][from&(pieceLen-1):]
		part = part[:min(len(part), n)]
		a.copyIn(to, part)
		to, from, n = to+uint32(len(part)), from+uint32(len(part)), n-len(part)
	}
}
