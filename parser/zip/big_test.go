package zip_test

import (
	"io"
	"os"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// holed is a file with a hole of zeros between two pieces.
type holed struct {
	head, tail []byte
	hole       int64
}

func (h holed) size() int64 { return int64(len(h.head)) + h.hole + int64(len(h.tail)) }

func (h holed) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		at, rest := off+int64(n), p[n:]
		switch first, second := int64(len(h.head)), int64(len(h.head))+h.hole; {
		case at < first:
			n += copy(rest, h.head[at:])
		case at < second:
			k := min(int64(len(rest)), second-at)
			clear(rest[:k])
			n += int(k)
		case at < h.size():
			n += copy(rest, h.tail[at-second:])
		default:
			return n, io.EOF
		}
	}
	return n, nil
}

// The two pieces are what torch 2.15.0 wrote around the data of
//
//	torch.save({'a': torch.zeros(2**32+5, dtype=torch.uint8), 'b': torch.ones(7),
//	    'c': torch.zeros(0), 'd': torch.ones(3)}, 'big.pt')
//
// Beyond 4 GiB its local headers hold a ZIP64 field that has only the offset.
func overFourGiB(t testing.TB) holed {
	t.Helper()
	head, err := os.ReadFile("testdata/over-4gib.head")
	if err != nil {
		t.Fatal(err)
	}
	tail, err := os.ReadFile("testdata/over-4gib.tail")
	if err != nil {
		t.Fatal(err)
	}
	return holed{head, tail, 1<<32 + 5}
}

func TestACheckpointOverFourGiBIsRead(t *testing.T) {
	f := overFourGiB(t)
	a, err := zip.Decode(account(t, nil), f, f.size(), zip.Options{Format: "pth", StoredOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Members) != 10 || a.Members[4].Size != 1<<32+5 {
		t.Fatalf("%+v", a.Members)
	}
	for i := range a.Members {
		if i != 4 {
			read(t, a, i) // proves its CRC
		}
	}
}

// Beyond 4 GiB, statements of sizes and offsets are still compared with each other.
func TestAnOffsetBeyondFourGiBIsChecked(t *testing.T) {
	f := overFourGiB(t)
	for _, c := range []struct {
		name string
		at   int // in the tail
	}{
		{"offset in the local header's zip64 field", 24 + 30 + len("big/data/1") + 4},
		{"size in the descriptor", 8},
	} {
		bad := holed{f.head, append([]byte(nil), f.tail...), f.hole}
		bad.tail[c.at] ^= 1
		_, err := zip.Decode(account(t, nil), bad, bad.size(), zip.Options{})
		if wire.ClassOf(err) != wire.Malformed {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
