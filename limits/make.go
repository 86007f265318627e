package limits

import (
	"math/bits"
	"reflect"
	"slices"
)

// Make returns a slice of n elements after charging their bytes. Code that
// reads files has no other way to allocate a size that it did not choose.
func Make[T any](b *Budget, n int) ([]T, error) {
	size, err := sizeOf[T](b, n)
	if err != nil {
		return nil, err
	}
	if err := b.Alloc(size); err != nil {
		return nil, err
	}
	return make([]T, n), nil
}

// Grow returns s with room for n more elements. When it must move, it charges
// the new array, which is at least twice the old one.
func Grow[T any](b *Budget, s []T, n int) ([]T, error) {
	if n <= cap(s)-len(s) {
		return s, nil
	}
	want := len(s) + max(n, len(s), 8)
	size, err := sizeOf[T](b, want)
	if err != nil {
		return s, err
	}
	if err := b.Alloc(size); err != nil {
		return s, err
	}
	grown := make([]T, len(s), want)
	copy(grown, s)
	return grown, nil
}

// Append appends v, charging growth as [Grow] does.
func Append[T any](b *Budget, s []T, v T) ([]T, error) {
	if len(s) < cap(s) {
		return append(s, v), nil
	}
	s, err := Grow(b, s, 1)
	if err != nil {
		return s, err
	}
	return append(s, v), nil
}

// Clone copies s after charging its bytes.
func Clone[T any](b *Budget, s []T) ([]T, error) {
	size, err := sizeOf[T](b, len(s))
	if err != nil {
		return nil, err
	}
	if err := b.Alloc(size); err != nil {
		return nil, err
	}
	return slices.Clone(s), nil
}

// String copies s into a string of its own after charging its bytes.
func String(b *Budget, s []byte) (string, error) {
	if err := b.Alloc(int64(len(s))); err != nil {
		return "", err
	}
	return string(s), nil
}

func sizeOf[T any](b *Budget, n int) (int64, error) {
	hi, size := bits.Mul64(uint64(n), uint64(reflect.TypeFor[T]().Size()))
	if n < 0 || hi != 0 || size > uint64(^uint(0)>>1) {
		return 0, &Error{SingleAlloc, 1<<63 - 1, b.single}
	}
	return int64(size), nil
}
