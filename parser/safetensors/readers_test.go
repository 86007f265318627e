package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/faulty"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
)

func TestReadsAreAtMostTwoAndOnePer64KiB(t *testing.T) {
	for _, n := range []int{1, 10, 1000, 5000} {
		header, size := synthetic(n)
		r := &faulty.Counter{ReaderAt: bytes.NewReader(header)}
		if _, err := safetensors.Decode(account(t, limits.Policy{}), r, size); err != nil {
			t.Fatal(err)
		}
		if r.Reads > int64(2+len(header)/(64<<10)) || r.End > int64(len(header)) {
			t.Errorf("%d reads up to %d, of a header of %d bytes", r.Reads, r.End, len(header))
		}
	}
}

func TestAHeaderTakesLessThanThreeTimesItsSize(t *testing.T) {
	header, size := synthetic(20_000)
	b := account(t, limits.Policy{})
	if _, err := safetensors.Decode(b, bytes.NewReader(header), size); err != nil {
		t.Fatal(err)
	}
	if n := b.Charged(); n > 3*int64(len(header)) {
		t.Errorf("%d bytes charged for a header of %d", n, len(header))
	}
}

func TestDecodeHeaderReadsNoMore(t *testing.T) {
	for _, s := range corpus.Valid("safetensors") {
		whole, err := decode(t, s.Data)
		if err != nil {
			t.Fatal(err)
		}
		r := bytes.NewReader(s.Data)
		h, err := safetensors.DecodeHeader(account(t, limits.Policy{}), iotest.HalfReader(r))
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		if left := int64(len(s.Data)) - h.Len; int64(r.Len()) != left || h.Len != 8+whole.HeaderLen() || h.Data != left {
			t.Errorf("%s: %d bytes left unread, header of %d, data of %d", s.Name, r.Len(), h.Len, h.Data)
		}
		if diff := cmp.Diff(whole.Infos, h.Infos); diff != "" {
			t.Errorf("%s: %s", s.Name, diff)
		}
		if diff := cmp.Diff(texts(whole), maps.Collect(h.Meta())); diff != "" {
			t.Errorf("%s: %s", s.Name, diff)
		}
		if diff := cmp.Diff(maps.Collect(whole.Aliases()), maps.Collect(h.Aliases())); diff != "" {
			t.Errorf("%s: %s", s.Name, diff)
		}
	}
}

func TestDecodeHeaderOfReadersThatFail(t *testing.T) {
	data := file(`{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, 4)
	for n := range 61 {
		_, err := safetensors.DecodeHeader(account(t, limits.Policy{}), bytes.NewReader(data[:n]))
		if at, ok := errors.AsType[*wire.Error](err); !ok || !errors.Is(err, wire.ErrTruncated) || at.Off > int64(n) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	disk := errors.New("disk")
	_, err := safetensors.DecodeHeader(account(t, limits.Policy{}), io.MultiReader(bytes.NewReader(data[:20]), iotest.ErrReader(disk)))
	if !errors.Is(err, disk) || wire.ClassOf(err) != wire.Internal {
		t.Error(err)
	}
	// A length of 100 MB without data costs one piece.
	b := account(t, limits.Policy{})
	if _, err := safetensors.DecodeHeader(b, bytes.NewReader(file("", 0)[:8])); err == nil {
		t.Error("a header of no bytes")
	}
	declared := binary.LittleEndian.AppendUint64(nil, safetensors.MaxHeader)
	if _, err := safetensors.DecodeHeader(b, bytes.NewReader(append(declared, '{'))); !errors.Is(err, wire.ErrTruncated) || b.Charged() > 128<<10 {
		t.Errorf("%d charged: %v", b.Charged(), err)
	}
}

func TestReadersThatFail(t *testing.T) {
	data := file(`{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, 4)
	for after := range 61 {
		_, err := safetensors.Decode(account(t, limits.Policy{}), faulty.Reader{Data: data, From: int64(after)}, int64(len(data)))
		if !errors.Is(err, faulty.ErrDisk) || wire.ClassOf(err) != wire.Internal {
			t.Errorf("an error after %d bytes: %v", after, err)
		}
		_, err = safetensors.Decode(account(t, limits.Policy{}), bytes.NewReader(data[:after]), int64(len(data)))
		if !errors.Is(err, wire.ErrTruncated) {
			t.Errorf("an end after %d bytes: %v", after, err)
		}
	}
	// The first byte of a header that is cut is looked at, and may fail too.
	if _, err := safetensors.Decode(account(t, limits.Policy{}), faulty.Reader{Data: data[:20], From: 8}, 20); !errors.Is(err, faulty.ErrDisk) {
		t.Error(err)
	}
}

// A charge that fails anywhere ends in class limit with a place, and every
// larger account reads the file.
func TestEveryChargeMayFail(t *testing.T) {
	const tensors = `"b.w":{"dtype":"U8","shape":[1,1],"data_offsets":[1,2]},"a":{"dtype":"F2","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}`
	data := file(`{"__metadata__":{"\u0061.w":"b.w","c.w":"d.w"},`+tensors+`}`, 2)
	steps := 0
	for limit := int64(1); ; limit++ {
		b := account(t, limits.Policy{MaxTotalBytes: limit})
		_, err := safetensors.Decode(b, bytes.NewReader(data), int64(len(data)))
		if err == nil {
			break
		}
		at, ok := errors.AsType[*wire.Error](err)
		if !ok || wire.ClassOf(err) != wire.Limit || at.Off < wire.NoOffset || at.Off > int64(len(data)) {
			t.Fatalf("%d bytes: %v", limit, err)
		}
		steps++
	}
	if steps < 1000 {
		t.Errorf("only %d bytes needed", steps)
	}
	for limit := int64(1); limit < 20; limit++ {
		b := account(t, limits.Policy{MaxItems: limit})
		if _, err := safetensors.Decode(b, bytes.NewReader(data), int64(len(data))); err != nil && wire.ClassOf(err) != wire.Limit {
			t.Errorf("%d items: %v", limit, err)
		}
	}
}
