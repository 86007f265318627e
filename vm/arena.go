package vm

import "github.com/anamnesis-go/anamnesis/limits"

// An arena holds elements in pieces that never move: growing copies nothing, and an index
// gives the piece by a shift.
type arena[T any] struct {
	pieces []*[pieceLen]T
	len    uint32
	room   uint32 // elements that fit without growing
}

const (
	// A piece of nodes has 2 KiB, which is enough for small pickles.
	pieceBits = 7
	pieceLen  = 1 << pieceBits
	// maxArena bounds the elements of one arena, because the highest bit of an index
	// marks an inline integer.
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
	for end := uint64(first) + uint64(n); end > uint64(a.room); {
		pieces, err := limits.Grow(w, a.pieces, 1)
		if err != nil {
			return 0, err
		}
		a.pieces = pieces
		piece, err := limits.Make[[pieceLen]T](w, 1)
		if err != nil {
			return 0, err
		}
		a.pieces = append(pieces, &piece[0])
		a.room += pieceLen
	}
	a.len = first + uint32(n)
	return first, nil
}

// copyIn copies items to the elements from i on.
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
