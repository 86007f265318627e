package model

import (
	"sync"

	"github.com/anamnesis-go/anamnesis/limits"
)

// Rooms lends memory to readers, as many at a time as there are workers.
type Rooms[T any] struct {
	b    *limits.Budget
	size int

	mu   sync.Mutex
	free [][]T
}

// NewRooms lends rooms of n elements.
func NewRooms[T any](b *limits.Budget, n int) *Rooms[T] { return &Rooms[T]{b: b, size: n} }

// Budget is the account that rooms are charged to.
func (r *Rooms[T]) Budget() *limits.Budget { return r.b }

// Step charges a step of what is computed in rooms.
func (r *Rooms[T]) Step() error { return r.b.Step(1) }

// Take lends a room; what is in it is undefined.
func (r *Rooms[T]) Take() ([]T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.free); n > 0 {
		room := r.free[n-1]
		r.free = r.free[:n-1]
		return room, nil
	}
	return limits.Make[T](r.b, r.size)
}

// Back takes a room back.
func (r *Rooms[T]) Back(room []T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free = append(r.free, room)
}
