package ahead_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/anamnesis-go/anamnesis/internal/ahead"
)

func buffers(n int) [2][]byte { return [2][]byte{make([]byte, n), make([]byte, n)} }

func TestEachGivesTheBytesInOrder(t *testing.T) {
	data := make([]byte, 10_007)
	for i := range data {
		data[i] = byte(rand.IntN(256))
	}
	for what, r := range map[string]io.Reader{
		"whole": bytes.NewReader(data), "byte by byte": iotest.OneByteReader(bytes.NewReader(data)),
		"the end with the last bytes": iotest.DataErrReader(bytes.NewReader(data)), "nothing": strings.NewReader(""),
	} {
		var got []byte
		err := ahead.Each(r.Read, buffers(1000), func(p []byte) error {
			got = append(got, p...)
			return nil
		})
		want := data
		if what == "nothing" {
			want = nil
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes of %d, %v", what, len(got), len(want), err)
		}
	}
}

// Blocks that were read before an error are processed before the error is returned.
func TestEachEndsWithTheError(t *testing.T) {
	lost, enough := errors.New("lost"), errors.New("enough")
	read, taken := 0, 0
	err := ahead.Each(func(p []byte) (int, error) {
		if read++; read == 5 {
			return 3, lost
		}
		return len(p), nil
	}, buffers(10), func(p []byte) error {
		taken += len(p)
		return nil
	})
	if !errors.Is(err, lost) || taken != 43 {
		t.Errorf("an error of read: %v after %d bytes", err, taken)
	}
	pieces := 0
	err = ahead.Each(func(p []byte) (int, error) { return len(p), nil }, buffers(10), func([]byte) error {
		if pieces++; pieces == 7 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || pieces != 7 {
		t.Errorf("an error of take: %v after %d pieces", err, pieces)
	}
}

// However it ends, the goroutine has ended too, and a panic is the caller's.
func TestEachPanicsInItsCaller(t *testing.T) {
	before := runtime.NumGoroutine()
	for what, c := range map[string]struct {
		read func([]byte) (int, error)
		take func([]byte) error
	}{
		"read": {func([]byte) (int, error) { panic("read") }, func([]byte) error { return nil }},
		"take": {func(p []byte) (int, error) { return len(p), nil }, func([]byte) error { panic("take") }},
	} {
		func() {
			defer func() {
				if got := recover(); got != what {
					t.Errorf("%s: the panic is %v", what, got)
				}
			}()
			ahead.Each(c.read, buffers(10), c.take)
		}()
	}
	for range 5000 { // close comes before the end of a goroutine
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}
