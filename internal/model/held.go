package model

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// heldBody reads the elements of a view in order from a storage that is also read in
// order. It holds one slab: the part of the storage for one index of the first dimension.
// A view whose slabs overlap is a single slab.
type heldBody struct {
	b       *limits.Budget
	body    io.ReadCloser
	storage []byte
	view    *Strided
	swap    int64
	slab    int64 // bytes read of the current slab
	at      int64 // bytes read
	left    int64 // bytes left to read
	unread  int64 // unread bytes of the storage
	next    int64 // the next slab
}

func newHeld(b *limits.Budget, body io.ReadCloser, i *tensor.Info) (*heldBody, error) {
	h := &heldBody{b: b, body: body, swap: Swapped(i), slab: i.Bytes(), left: i.Bytes(), unread: i.Span.Len}
	held := i.Span.Len
	if i.Strides != nil {
		v, _, err := NewStrided(i)
		if err != nil {
			return nil, err
		}
		h.view = &v
		if apart(i) {
			h.slab /= i.Shape[0]
			held = min(held, i.Strides[0]*v.elem)
		}
	}
	size, ok := wire.Int(uint64(held), wire.MaxSize)
	if !ok {
		return nil, wire.ErrOverflow.Errorf("%d bytes", held)
	}
	var err error
	h.storage, err = limits.Make[byte](b, size)
	return h, err
}

// apart reports whether the slabs of the first dimension follow each other without
// overlap. The view is inside its storage, so no product overflows.
func apart(i *tensor.Info) bool {
	if len(i.Shape) < 2 || i.Bytes() == 0 {
		return false
	}
	last := i.Offset
	for d := 1; d < len(i.Shape); d++ {
		last += (i.Shape[d] - 1) * i.Strides[d]
	}
	return last < i.Strides[0]
}

// load reads the next slab.
func (h *heldBody) load() error {
	h.storage = h.storage[:min(int64(cap(h.storage)), h.unread)]
	if _, err := io.ReadFull(h.body, h.storage); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	h.unread -= int64(len(h.storage))
	h.next++
	return nil
}

// Read reads whole elements.
func (h *heldBody) Read(p []byte) (int, error) {
	if h.left == 0 {
		return 0, io.EOF
	}
	if h.at == h.next*h.slab {
		if err := h.load(); err != nil {
			return 0, err
		}
	}
	n := min(int64(len(p)), h.next*h.slab-h.at)
	if h.view == nil {
		n -= n % max(1, h.swap)
		copy(p[:n], h.storage[h.at:])
	} else {
		n -= n % h.view.elem
		base := int64(0)
		if h.next > 1 {
			base = (h.next - 1) * h.view.of.Strides[0]
		}
		h.view.Gather(p[:n], h.storage, base, h.at/h.view.elem, (h.at+n)/h.view.elem)
	}
	if n == 0 {
		return 0, wire.ErrInternal.Errorf("a read splits an element")
	}
	Swap(p[:n], h.swap)
	h.at, h.left = h.at+n, h.left-n
	return int(n), nil
}

// Close frees the memory.
func (h *heldBody) Close() error {
	h.b.Drop(int64(cap(h.storage)))
	h.storage = nil
	return h.body.Close()
}
