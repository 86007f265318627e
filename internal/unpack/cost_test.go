package unpack

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
)

// empties returns a gzip stream of n empty blocks.
func empties(n int) string {
	return "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + strings.Repeat("\x00\x00\x00\xff\xff", n) + "\x01\x00\x00\xff\xff" + strings.Repeat("\x00", 8)
}

func walked(b *limits.Budget, data string) error {
	return Named("gzip").Walk(b, strings.NewReader(data), int64(len(data)), func(Item) error { return nil })
}

func TestEmptyBlocksCostSteps(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	data := empties(200_000)
	if err := walked(b, data); err != nil {
		t.Fatal(err)
	}
	if n := b.Worked(); n < int64(len(data)) {
		t.Errorf("%d bytes from which nothing comes cost %d steps", len(data), n)
	}
}

// endAt is a reader that cancels a context once it has been read up to an offset.
type endAt struct {
	*strings.Reader
	at   int64
	end  context.CancelFunc
	late int64 // bytes read after that
}

func (r *endAt) ReadAt(p []byte, off int64) (int, error) {
	if off >= r.at {
		r.end()
		r.late += int64(len(p))
	}
	return r.Reader.ReadAt(p, off)
}

func TestAStreamThatMakesNothingStopsAtItsDeadline(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := limits.Policy{}.Budget(ctx)
	defer b.Close()
	data := empties(200_000)
	r := &endAt{strings.NewReader(data), 100_000, cancel, 0}
	err := Named("gzip").Walk(b, r, int64(len(data)), func(Item) error { return nil })
	if !errors.Is(err, context.Canceled) || r.late > 2*inputLen {
		t.Errorf("%d bytes were read after the end: %v", r.late, err)
	}
}
