package vm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
)

// longArrays is a pickle of two arrays, one of numbers and one of texts, whose bytes are n long,
// and where the bytes begin.
func longArrays(n int) (pickle []byte, numbers, texts int) {
	p := []byte("\x80\x03]")
	array := func(dtype string, itemsize int) int {
		p = append(p, "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R(K\x01J"...)
		p = binary.LittleEndian.AppendUint32(p, uint32(n/itemsize))
		p = append(p, "\x85cnumpy\ndtype\n"+dtype+"\x89B"...)
		p = binary.LittleEndian.AppendUint32(p, uint32(n))
		at := len(p)
		p = append(p, make([]byte, n)...)
		p = append(p, "tba"...)
		return at
	}
	numbers = array("X\x02\x00\x00\x00f8\x89\x88\x87R(K\x03X\x01\x00\x00\x00<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb", 8)
	texts = array("X\x02\x00\x00\x00U1\x89\x88\x87R(K\x03X\x01\x00\x00\x00<NNNK\x04K\x04K\x08tb", 4)
	return append(p, '.'), numbers, texts
}

func scanBytes(t *testing.T, p []byte, r *bytes.Reader) *Report {
	t.Helper()
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
	t.Cleanup(b.Close)
	return ScanPlain(b, r, 0, int64(len(p)))
}

func TestTheVerdictDoesNotDependOnWhatIsUnread(t *testing.T) {
	const n = 1 << 20
	p, numbers, texts := longArrays(n)
	r := scanBytes(t, p, bytes.NewReader(p))
	if !r.Safe.OK {
		t.Fatal(r.Refusal())
	}
	parts, sum := r.Graph.Unread()
	if len(parts) != 1 || parts[0][0] < int64(numbers) || parts[0][0]+parts[0][1] > int64(numbers+n) || parts[0][1] < n-10000 {
		t.Fatalf("the parts are %v, the numbers begin at %d", parts, numbers)
	}
	from, to := parts[0][0], parts[0][0]+parts[0][1]
	if sum != sha256.Sum256(append(bytes.Clone(p[:from]), p[to:]...)) {
		t.Error("the sum is not that of the other bytes")
	}
	// Numbers that change do not change the verdict or the sum. A text that does changes both.
	p[from], p[to-1] = 1, 2
	if other := scanBytes(t, p, bytes.NewReader(p)); !other.Safe.OK {
		t.Error(other.Refusal())
	} else if _, again := other.Graph.Unread(); again != sum {
		t.Error("the sum depends on what was not read")
	}
	p[texts+3] = 0xff // no character
	if other := scanBytes(t, p, bytes.NewReader(p)); other.Safe.OK {
		t.Error("a text without a character was accepted")
	}
}

// A lateReader fails from the second read of a place on.
type lateReader struct {
	*bytes.Reader
	from, to int64
}

func (r lateReader) ReadAt(p []byte, off int64) (int, error) {
	if off < r.to && off+int64(len(p)) > r.from {
		return 0, errors.New("the disk is gone")
	}
	return r.Reader.ReadAt(p, off)
}

func TestAReadThatFailsLateIsNoAcceptance(t *testing.T) {
	p, _, texts := longArrays(1 << 20)
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
	defer b.Close()
	r := ScanPlain(b, lateReader{bytes.NewReader(p), int64(texts) + 1<<19, int64(texts) + 1<<19 + 1}, 0, int64(len(p)))
	if r.Safe.OK || r.Err == nil {
		t.Errorf("accepted although texts could not be read: %v", r.Err)
	}
}
