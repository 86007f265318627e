package unpack

import (
	"io"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// hello is the output of bzip2 1.0.8 for "hello\n" at level 9, and nothing its output for "".
var (
	hello = "BZh91AY&SY\xc1\xc0\x80\xe2\x00\x00\x01\x41\x00\x00\x10\x02\x44\xa0\x00\x30\xcd\x00\xc3\x46\x29\x97\x17\x72\x45\x38\x50\x90\xc1\xc0\x80\xe2"
	large = "\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\x77\x62\x50\x64\x03\x0d\x3f\x81\x00\x30\x00\x20\x00\x30\x80\x29\x18\x04\x94\x16\x01\x25\x05\xc5\xdc\x91\x4e\x14\x24\x1d" +
		"\xd8\x94\x19\x00" // of 400,000 times "ab"
	nothing = "BZh9\x17\x72\x45\x38\x50\x90\x00\x00\x00\x00"
)

// bunzip walks a stream of bzip2 and returns its content and the steps.
func bunzip(t *testing.T, data string) (string, int64, error) {
	t.Helper()
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
	defer b.Close()
	k := Named("bzip2")
	if !polyglot.IsBzip2([]byte(data)) {
		t.Fatalf("%q is no bzip2", data[:min(10, len(data))])
	}
	var out []byte
	err := k.Walk(b, strings.NewReader(data), int64(len(data)), func(i Item) (err error) {
		out, err = io.ReadAll(io.NewSectionReader(i.R, 0, i.Size))
		return err
	})
	return string(out), b.Worked(), err
}

func TestASmallStreamOfBzip2NeedsLittleMemory(t *testing.T) {
	n := testing.AllocsPerRun(1, func() {
		if text, _, err := bunzip(t, hello); text != "hello\n" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
	})
	one := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			bunzip(t, hello)
		}
	})
	if size := one.AllocedBytesPerOp(); size > 1<<20 {
		t.Errorf("%d bytes in %v allocations for a stream of %d bytes", size, n, len(hello))
	}
}

func TestSmallStreamsOfBzip2ReadAsByTheirOwnHeader(t *testing.T) {
	ledger.Charges(t)
	text, _, err := bunzip(t, hello+nothing+hello)
	if text != "hello\nhello\n" || err != nil {
		t.Errorf("several streams: %q, %v", text, err)
	}
	if _, _, err := bunzip(t, hello[:20]+"\x00"+hello[21:]); wire.ClassOf(err) != wire.Malformed {
		t.Errorf("a damaged stream: %v", err)
	}
}

// A small stream may state blocks of more than 100,000 bytes.
func TestASmallStreamOfLargeBlocksIsReadByItsHeader(t *testing.T) {
	want := strings.Repeat("ab", 400_000)
	if text, _, err := bunzip(t, large); text != want || err != nil {
		t.Errorf("%d bytes of %d, %v", len(text), len(want), err)
	}
	if _, _, err := bunzip(t, "BZh1"+large[4:]); wire.ClassOf(err) != wire.Malformed {
		t.Errorf("a header that says too little: %v", err)
	}
}
