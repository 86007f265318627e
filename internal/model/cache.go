package model

import (
	"sync"

	"github.com/anamnesis-go/anamnesis/limits"
)

// Held keeps what tensors are made with while they are being made: each value is
// loaded when it is first asked for, and the oldest unused one is dropped when
// another one is.
type Held[T any] struct {
	b    *limits.Budget
	keep int
	load func(b *limits.Budget, i int) (T, error)

	mu   sync.Mutex
	list []*held[T]
}

type held[T any] struct {
	index, users int
	once         sync.Once
	account      *limits.Budget
	value        T
	err          error
}

// NewHeld holds at most keep unused values. load charges what it holds to
// the account that it is given.
func NewHeld[T any](b *limits.Budget, keep int, load func(b *limits.Budget, i int) (T, error)) *Held[T] {
	return &Held[T]{b: b, keep: keep, load: load}
}

// Use gives one value, which is held until done is called.
func (h *Held[T]) Use(i int) (value T, done func(), err error) {
	e := h.enter(i)
	e.once.Do(func() {
		e.account = h.b.Probe()
		e.value, e.err = h.load(e.account, i)
	})
	if e.err != nil {
		h.leave(e)
		return value, func() {}, e.err
	}
	return e.value, func() { h.leave(e) }, nil
}

func (h *Held[T]) enter(i int) *held[T] {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.list {
		if e.index == i {
			e.users++
			return e
		}
	}
	h.trim(h.keep - 1)
	e := &held[T]{index: i, users: 1}
	h.list = append(h.list, e)
	return e
}

func (h *Held[T]) leave(e *held[T]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e.users--
	if e.err != nil && e.users == 0 {
		h.trim(0)
	}
}

// trim drops the oldest unused values until at most keep are left.
func (h *Held[T]) trim(keep int) {
	idle := 0
	for _, e := range h.list {
		if e.users == 0 {
			idle++
		}
	}
	left := h.list[:0]
	for _, e := range h.list {
		if e.users == 0 && idle > keep {
			idle--
			if e.account != nil {
				e.account.Close()
			}
			continue
		}
		left = append(left, e)
	}
	clear(h.list[len(left):])
	h.list = left
}

// Close drops all values; none may be in use.
func (h *Held[T]) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trim(0)
	return nil
}
