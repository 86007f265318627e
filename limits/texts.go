package limits

import "strings"

// Texts copies many short texts into few allocations, each charged before it is made. A
// text keeps the others of its allocation alive, so all should live equally long. The zero
// value is ready; it is not safe for concurrent use.
type Texts struct {
	out  *strings.Builder
	size int // size of the last allocation
}

const (
	firstTexts = 64
	largeTexts = 4 << 10
)

// String copies s into a string, as [String] does.
func (t *Texts) String(b *Budget, s []byte) (string, error) {
	if t == nil {
		return "", ErrNoAccount
	}
	if len(s) > largeTexts/8 {
		return String(b, s)
	}
	if t.out == nil || len(s) > t.size-t.out.Len() {
		size := max(min(2*t.size, largeTexts), firstTexts, len(s))
		if err := b.Alloc(int64(size)); err != nil {
			return "", err
		}
		t.out, t.size = new(strings.Builder), size
		t.out.Grow(size)
	}
	at := t.out.Len()
	t.out.Write(s)
	return t.out.String()[at:], nil
}
