package limits

import (
	"math/bits"
	"reflect"
	"slices"
)

// An Account is what Make, Grow and the like charge: a *Budget for its lifetime, a
// *Workspace until it is closed.
type Account interface {
	// Alloc charges one buffer.
	Alloc(n int64) error
	// ceiling bounds one buffer.
	ceiling() int64
	// moved says that a buffer of n bytes has a larger successor.
	moved(n int64)
}

// Make returns a slice of n elements after charging their bytes. Code that reads files
// allocates sizes from a file in no other way.
func Make[T any](a Account, n int) ([]T, error) {
	size, err := sizeOf[T](a, n)
	if err != nil {
		return nil, err
	}
	if err := a.Alloc(size); err != nil {
		return nil, err
	}
	return make([]T, n), nil
}

// Grow returns s with room for n more elements. If it must move, it charges the new array,
// which is at least twice as long. A Workspace gives the old array back, so there may be no
// other reference to it; a [Budget] keeps it charged.
func Grow[T any](a Account, s []T, n int) ([]T, error) {
	if n <= cap(s)-len(s) {
		return s, nil
	}
	want := len(s) + max(n, len(s), 8)
	size, err := sizeOf[T](a, want)
	if err != nil {
		return s, err
	}
	if err := a.Alloc(size); err != nil {
		return s, err
	}
	grown := make([]T, len(s), want)
	copy(grown, s)
	a.moved(int64(cap(s)) * int64(reflect.TypeFor[T]().Size()))
	return grown, nil
}

// Append appends v, charging growth as [Grow] does.
func Append[T any](a Account, s []T, v T) ([]T, error) {
	if len(s) < cap(s) {
		return append(s, v), nil
	}
	s, err := Grow(a, s, 1)
	if err != nil {
		return s, err
	}
	return append(s, v), nil
}

// Clone copies s after charging its bytes.
func Clone[T any](a Account, s []T) ([]T, error) {
	size, err := sizeOf[T](a, len(s))
	if err != nil {
		return nil, err
	}
	if err := a.Alloc(size); err != nil {
		return nil, err
	}
	return slices.Clone(s), nil
}

// String copies s into a string of its own after charging its bytes.
func String(a Account, s []byte) (string, error) {
	size, err := sizeOf[byte](a, len(s))
	if err != nil {
		return "", err
	}
	if err := a.Alloc(size); err != nil {
		return "", err
	}
	return string(s), nil
}

func (b *Budget) ceiling() int64 {
	if !b.exists() {
		return 0
	}
	return b.op.single
}

// moved does nothing: a buffer of a Budget stays charged, since it may still be
// referenced.
func (b *Budget) moved(int64) {}

func sizeOf[T any](a Account, n int) (int64, error) {
	if a == nil {
		return 0, ErrNoAccount
	}
	hi, size := bits.Mul64(uint64(n), uint64(reflect.TypeFor[T]().Size()))
	if n < 0 || hi != 0 || size > uint64(^uint(0)>>1) {
		return 0, &Error{SingleAlloc, 1<<63 - 1, a.ceiling()}
	}
	return int64(size), nil
}
