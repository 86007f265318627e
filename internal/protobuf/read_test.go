package protobuf_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	pb "github.com/anamnesis-go/anamnesis/internal/protobuf"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

var causes = pb.Causes{
	Unknown: wire.ErrUnsupported.WithRule("t.unknown"), Twice: wire.ErrDuplicate.WithRule("t.twice"),
	Type: wire.ErrSyntax.WithRule("t.type"), Varint: wire.ErrOverflow.WithRule("t.varint"),
}

// A recorder writes down what it gets.
type recorder struct {
	pb.Ignore

	said *[]string
}

func (r recorder) note(text string, args ...any) error {
	*r.said = append(*r.said, fmt.Sprintf(text, args...))
	return nil
}

func (r recorder) Number(f, v uint64) error          { return r.note("%d=%d", f, v) }
func (r recorder) Text(f uint64, s string) error     { return r.note("%d=%q", f, s) }
func (r recorder) Message(f uint64, _ pb.Hook) error { return r.note("%d", f) }
func (r recorder) Bytes(f uint64, at wire.Cursor) error {
	return r.note("%d at %d, %d bytes", f, at.Off(), at.Left())
}
func (r recorder) End(_ *wire.Cursor, at int64) error { return r.note("end of %d", at) }

// schema is a message with a field of each kind.
func schema(said *[]string) *pb.Message {
	m := &pb.Message{Name: "M", MaxText: 8, Make: func() pb.Hook { return recorder{said: said} }}
	m.Fields = map[uint64]pb.Field{
		1: pb.Scalar, 2: pb.Scalars, 3: pb.Word, 4: pb.Many(m), 5: {Kind: pb.Fixed32, Repeated: true}, 6: {Kind: pb.Fixed64}, 7: {Kind: pb.Text, Place: true},
	}
	return m
}

// The encodings are those of the specification, written by hand.
func TestAMessageIsReadFieldByField(t *testing.T) {
	for _, c := range []struct{ what, data, want string }{
		{"a number", "\x08\x96\x01", "1=150; end of 0"},
		{"the largest number", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "1=18446744073709551615; end of 0"},
		{"numbers, packed and not", "\x10\x01\x12\x03\x02\x80\x01", "2=1; 2=2; 2=128; end of 0"},
		{"a text", "\x1a\x02hi", `3="hi"; end of 0`},
		{"a long text", "\x1a\x09123456789", "3 at 2, 9 bytes; end of 0"},
		{"bytes by their place", "\x3a\x01x", "7 at 2, 1 bytes; end of 0"},
		{"numbers of four bytes", "\x2a\x04\x01\x00\x00\x00\x2d\x02\x00\x00\x00", "5 at 2, 4 bytes; 5=2; end of 0"},
		{"a number of eight bytes", "\x31\x01\x00\x00\x00\x00\x00\x00\x00", "6=1; end of 0"},
		{"messages in messages", "\x22\x04\x22\x02\x08\x05", "1=5; end of 4; 4; end of 2; 4; end of 0"},
		{"a field that is unknown", "\x40\x01", "t.unknown at 0"},
		{"a field that stands twice", "\x08\x01\x08\x02", "t.twice at 2"},
		{"a field in another encoding", "\x0a\x01\x01", "t.type at 1"},
		{"packed numbers of three bytes", "\x2a\x03\x01\x02\x03", "t.type at 2"},
		{"a number of 65 bits", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", "t.varint at 1"},
		{"a tag in two bytes", "\x88\x00\x01", "t.varint at 0"},
		{"a tag in six bytes", "\x08\x01\x88\x80\x80\x80\x80\x00\x01", "t.varint at 2"},
		{"a tag of two bytes that takes two", "\x80\x01\x01", "t.unknown at 0"},
		{"a length in five bytes", "\x1a\x82\x80\x80\x80\x00hi", `3="hi"; end of 0`},
		{"a length in six bytes", "\x1a\x82\x80\x80\x80\x80\x00hi", "t.varint at 1"},
		{"a message that ends early", "\x22\x05\x08", "file.truncated at 2"},
	} {
		b := limits.Policy{}.Budget(t.Context())
		cursor := wire.NewCursor(b, "t", strings.NewReader(c.data), int64(len(c.data)))
		var said []string
		m := schema(&said)
		_, err := pb.NewReader(b, "T", causes).Message(&cursor, m, m.Make())
		got := strings.Join(said, "; ")
		if err != nil {
			e := err.(*wire.Error)
			rule := wire.RuleOf(err)
			if wire.ClassOf(err) == wire.Truncated {
				rule = "file.truncated"
			}
			got = fmt.Sprintf("%s at %d", rule, e.Off)
		}
		if got != c.want {
			t.Errorf("%s: %s (%v), want %s", c.what, got, err, c.want)
		}
		b.Close()
	}
}

func TestDepthAndStepsAreCharged(t *testing.T) {
	data := "\x22\x06\x22\x04\x22\x02\x08\x05"
	for _, p := range []limits.Policy{{MaxDepth: 3}, {MaxSteps: 3}} {
		b := p.Budget(t.Context())
		cursor := wire.NewCursor(b, "t", strings.NewReader(data), int64(len(data)))
		if _, err := pb.NewReader(b, "T", causes).Message(&cursor, schema(new([]string)), nil); wire.ClassOf(err) != wire.Limit {
			t.Errorf("%+v: %v", p, err)
		}
		b.Close()
	}
}

func TestValuesOfAField(t *testing.T) {
	data := []byte("\x08\x01\x12\x02\x02\x03\x1a\x01x\x10\x04\x31\x01\x00\x00\x00\x00\x00\x00\x00\x12\x00\x10\x05")
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	v := pb.NewReader(b, "T", causes).Values(wire.NewCursor(b, "t", bytes.NewReader(data), int64(len(data))), 2, pb.Number)
	var got []uint64
	for {
		x, ok, err := v.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		got = append(got, x)
	}
	if fmt.Sprint(got) != "[2 3 4 5]" {
		t.Error(got)
	}
}
