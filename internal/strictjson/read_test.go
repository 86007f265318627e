package strictjson_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

func TestReadAtAsksOncePer64KiB(t *testing.T) {
	data := strings.Repeat("0123456789abcdef", 10_000)
	b := account(t, limits.Policy{})
	r := &counting{r: strings.NewReader(data)}
	got, err := strictjson.ReadAt(b, r, 16, int64(len(data)-32))
	if err != nil || got != data[16:len(data)-16] {
		t.Fatal(err)
	}
	if r.calls != 3 {
		t.Errorf("%d reads of 160,000 bytes", r.calls)
	}
	if u := used(b, limits.Total).Used; u != int64(len(got)+64<<10) {
		t.Errorf("%d charged", u)
	}
}

type counting struct {
	r     io.ReaderAt
	calls int
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	c.calls++
	return c.r.ReadAt(p, off)
}

func TestReadTakesNoMoreThanItsBytes(t *testing.T) {
	data := strings.Repeat("0123456789abcdef", 10_000)
	for _, n := range []int{0, 1, 100, 64 << 10, 64<<10 + 1, 150_000} {
		r := strings.NewReader(data)
		b := account(t, limits.Policy{})
		got, err := strictjson.Read(b, iotest.OneByteReader(r), 8, int64(n))
		if err != nil || got != data[:n] || r.Len() != len(data)-n {
			t.Errorf("%d bytes: %v, %d left", n, err, r.Len())
		}
		if u := used(b, limits.Total); u.Used > int64(n)+1024 || u.Peak > int64(2*n)+1024 {
			t.Errorf("%d bytes: charged %d, at most %d", n, u.Used, u.Peak)
		}
	}
}

// A declared length of 100 MB with a few bytes after it allocates one chunk.
func TestReadDoesNotTrustALength(t *testing.T) {
	b := account(t, limits.Policy{})
	_, err := strictjson.Read(b, strings.NewReader("abc"), 8, 100_000_000)
	if !errors.Is(err, wire.ErrTruncated) {
		t.Error(err)
	}
	if u := used(b, limits.Total).Peak; u > 64<<10 {
		t.Errorf("%d charged", u)
	}
}

func TestReadersThatFail(t *testing.T) {
	disk := errors.New("disk")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		r      io.Reader
		policy limits.Policy
		ctx    context.Context
		want   error
	}{
		"its own error":            {iotest.ErrReader(disk), limits.Policy{}, t.Context(), disk},
		"an error later":           {io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(disk)), limits.Policy{}, t.Context(), disk},
		"an end":                   {strings.NewReader("abc"), limits.Policy{}, t.Context(), wire.ErrTruncated},
		"nothing at all":           {idle{}, limits.Policy{}, t.Context(), io.ErrNoProgress},
		"too little memory":        {bytes.NewReader(make([]byte, 200_000)), limits.Policy{MaxTotalBytes: 100_000}, t.Context(), limits.ErrLimit},
		"none for the text":        {bytes.NewReader(make([]byte, 200_000)), limits.Policy{MaxTotalBytes: 300_000}, t.Context(), limits.ErrLimit},
		"none for the list":        {bytes.NewReader(make([]byte, 200_000)), limits.Policy{MaxTotalBytes: 64<<10 + 10}, t.Context(), limits.ErrLimit},
		"none for the first":       {bytes.NewReader(make([]byte, 200_000)), limits.Policy{MaxTotalBytes: 10}, t.Context(), limits.ErrLimit},
		"a context that has ended": {bytes.NewReader(make([]byte, 200_000)), limits.Policy{}, ended, context.Canceled},
	} {
		b := c.policy.Budget(c.ctx)
		defer b.Close()
		if _, err := strictjson.Read(b, c.r, 8, 200_000); !errors.Is(err, c.want) {
			t.Errorf("%s, in order: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		r      io.ReaderAt
		policy limits.Policy
		ctx    context.Context
		want   error
	}{
		"an end":                   {strings.NewReader("abc"), limits.Policy{}, t.Context(), wire.ErrTruncated},
		"no memory":                {strings.NewReader("abc"), limits.Policy{MaxTotalBytes: 10}, t.Context(), limits.ErrLimit},
		"none for the buffer":      {strings.NewReader("abc"), limits.Policy{MaxTotalBytes: 200_010}, t.Context(), limits.ErrLimit},
		"a context that has ended": {bytes.NewReader(make([]byte, 200_000)), limits.Policy{}, ended, context.Canceled},
	} {
		b := c.policy.Budget(c.ctx)
		defer b.Close()
		if _, err := strictjson.ReadAt(b, c.r, 0, 200_000); !errors.Is(err, c.want) {
			t.Errorf("%s, at an offset: %v", name, err)
		}
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestATextIsAtMost2GiB(t *testing.T) {
	b := account(t, limits.Policy{MaxSingleAlloc: 1 << 40, MaxTotalBytes: 1 << 40})
	if _, err := strictjson.ReadAt(b, strings.NewReader(""), 0, strictjson.MaxText+1); !errors.Is(err, wire.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := strictjson.Read(b, strings.NewReader(""), 0, strictjson.MaxText+1); !errors.Is(err, wire.ErrUnsupported) {
		t.Error(err)
	}
}

// A text of whole pieces costs as many charges as one that is a byte shorter.
func TestWholePiecesCostNoFurtherPiece(t *testing.T) {
	charges := 0
	limitstest.Watch(t, func(string, int64) { charges++ })
	count := func(n int) int {
		b := account(t, limits.Policy{})
		charges = 0
		if _, err := strictjson.Read(b, strings.NewReader(strings.Repeat("x", n)), 0, int64(n)); err != nil {
			t.Fatal(err)
		}
		return charges
	}
	for _, pieces := range []int{1, 2, 3} {
		if whole, less, more := count(pieces<<16), count(pieces<<16-1), count(pieces<<16+1); whole != less || more <= whole {
			t.Errorf("%d pieces: %d charges, a byte less: %d, a byte more: %d", pieces, whole, less, more)
		}
	}
	if none, one := count(0), count(1); none >= one {
		t.Errorf("%d charges of nothing, %d of a byte", none, one)
	}
}
