package unpack

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/ledger"
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
	ledger.Charges(t)
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

// Contents ask for files beside them that are missing, and for folders.
func TestAFileThatIsMissingIsLookedForOnce(t *testing.T) {
	const n = 2_000
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i := range n {
		if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("d%d/f", i), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	files, err := Named("tar").Files(b, bytes.NewReader(out.Bytes()), int64(out.Len()), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	before := b.Worked()
	for i := range n {
		if info, err := files.Stat(fmt.Sprintf("d%d", i)); err != nil || !info.IsDir() {
			t.Fatalf("folder %d: %v, %v", i, info, err)
		}
		for _, name := range []string{fmt.Sprintf("d%d/g", i), fmt.Sprintf("e%d", i), "d"} {
			if _, err := files.Stat(name); err == nil {
				t.Fatalf("%s is there", name)
			}
		}
	}
	if steps := b.Worked() - before; steps > 8*n {
		t.Errorf("%d steps for %d questions", steps, 4*n)
	}
}
