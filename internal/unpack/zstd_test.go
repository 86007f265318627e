package unpack

import (
	"encoding/hex"
	"io"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
)

// Frames that zstandard 0.25.0 writes at level 19 with a window of 8 MiB, without their sizes
// and with checksums: of 20,000 times "layer.weight ", and of "bias".
const (
	wide  = "28b52ffd0468ac0000686c617965722e776569676874200100f0ff90cf2f4500000001009df7904f209fd7ad51"
	small = "28b52ffd046821000062696173459b883e"
)

func unzstd(t *testing.T, in string) (string, error) {
	t.Helper()
	data, err := hex.DecodeString(in)
	if err != nil {
		t.Fatal(err)
	}
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
	defer b.Close()
	var out []byte
	err = Named("zstd").Walk(b, strings.NewReader(string(data)), int64(len(data)), func(i Item) (err error) {
		out, err = io.ReadAll(io.NewSectionReader(i.R, 0, i.Size))
		return err
	})
	return string(out), err
}

func TestAnEmptyWindowTakesNoMemory(t *testing.T) {
	long := strings.Repeat("layer.weight ", 20000)
	for in, want := range map[string]string{
		small:                "bias",
		wide:                 long,
		small + wide + small: "bias" + long + "bias",
	} {
		if got, err := unzstd(t, in); got != want || err != nil {
			t.Errorf("%s: %d bytes, want %d, %v", in, len(got), len(want), err)
		}
	}
	one := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			unzstd(t, small)
		}
	})
	if size := one.AllocedBytesPerOp(); size > 2<<20 {
		t.Errorf("%d bytes for a frame of 4, whose window is 8 MiB", size)
	}
}
