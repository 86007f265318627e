package msgpack_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/msgpack"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// read lists the values of a file, each behind the members around it.
func read(t *testing.T, policy limits.Policy, data string) (string, error) {
	t.Helper()
	b := policy.Budget(t.Context())
	defer b.Close()
	w := b.Probe()
	var out []string
	err := msgpack.Read(w, wire.NewCursor(w, "msgpack", strings.NewReader(data), int64(len(data))), func(v msgpack.Value) error {
		out = append(out, fmt.Sprintf("%s:%d:%d:%s", strings.Join(v.Keys, "."), v.Kind, v.Size, v.Text))
		return nil
	})
	w.Close()
	limitstest.NoLeak(t, b)
	return strings.Join(out, " "), err
}

// What srsly 2.5.1 writes: srsly.msgpack_dumps of the object in the comment.
func TestWhatSrslyWritesIsRead(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"\x80", ":6:0:"}, // {}
		{"\x82\xa1a\xa1b\xa1c\x93\x01\xc0\xc2", ":6:2: a:3:1:b c:5:3: c.:2:0: c.:0:0: c.:1:0:"}, // {"a": "b", "c": [1, None, False]}
		{"\x81\xa1x\xcb?\xf8\x00\x00\x00\x00\x00\x00", ":6:1: x:2:0:"},                          // {"x": 1.5}
		{"\x81\x05\xc4\x02\x00\x01", ":6:1: :4:2:\x00\x01"},                                     // {5: b"\0\1"}
		{"\x81\xa1k\x81\xa1l\xcd\x01\x00", ":6:1: k:6:1: k.l:2:0:"},                             // {"k": {"l": 256}}
		{"\x85\xc4\x02nd\xc3\xc4\x04type\xa3<f4\xc4\x04kind\xc4\x00\xc4\x05shape\x91\x01\xc4\x04data\xc4\x04\x00\x00\x80?", // numpy.ones(1, "f")
			":6:5: nd:1:0: type:3:3:<f4 kind:4:0: shape:5:1: shape.:2:0: data:4:4:\x00\x00\x80?"},
	} {
		if got, err := read(t, limits.Policy{}, c.data); err != nil || got != c.want {
			t.Errorf("%q: %q, want %q (%v)", c.data, got, c.want, err)
		}
	}
}

// A file that is no value, or more than one, is refused where that shows.
func TestWhatIsNoValueIsRefused(t *testing.T) {
	for data, want := range map[string]wire.Class{
		"":                          wire.Truncated,
		"\x80\x80":                  wire.Malformed,
		"\xde\xff\xff\xa1":          wire.Truncated,
		"\xdd\xff\xff\xff\xff":      wire.Truncated,
		"\xdf\xff\xff\xff\xff\xa1":  wire.Truncated,
		"\x81\xa1a":                 wire.Truncated,
		"\xd9\x05ab":                wire.Truncated,
		"\xc1":                      wire.Unsupported,
		"\xd4\x01\x00":              wire.Unsupported,
		"\xc7\x01\x05\x00":          wire.Unsupported,
		"\x81\x90\xc0":              wire.Unsupported,
		"\xa1\xff":                  wire.Malformed,
		strings.Repeat("\x91", 200): wire.Limit,
		strings.Repeat("\x91", 100): wire.Truncated,
		"\xdc\x00\x64" + strings.Repeat("\x01", 100) + "\x01": wire.Malformed,
	} {
		if _, err := read(t, limits.Policy{}, data); wire.ClassOf(err) != want {
			t.Errorf("%.20q: %v, want %v", data, err, want)
		}
	}
	if _, err := read(t, limits.Policy{MaxItems: 50}, "\xdc\x00\x64"+strings.Repeat("\x01", 100)); wire.ClassOf(err) != wire.Limit {
		t.Errorf("100 items of at most 50: %v", err)
	}
}

// A text that is too long for a visitor is given as a place.
func TestALongTextIsGivenAsAPlace(t *testing.T) {
	long := strings.Repeat("x", msgpack.MaxText+1)
	data := "\xdb\x00\x01\x00\x01" + long
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	var got bytes.Buffer
	err := msgpack.Read(b, wire.NewCursor(b, "msgpack", strings.NewReader(data), int64(len(data))), func(v msgpack.Value) error {
		if v.Text != "" || v.Long == nil {
			t.Fatalf("%d bytes as a text", len(v.Text))
		}
		for v.Long.Left() > 0 {
			p, err := v.Long.Window(1)
			if err != nil {
				return err
			}
			got.Write(p)
			if err := v.Long.Skip(uint64(len(p))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || got.String() != long {
		t.Errorf("%d bytes, want %d (%v)", got.Len(), len(long), err)
	}
}
