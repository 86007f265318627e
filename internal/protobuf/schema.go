package protobuf

import "github.com/anamnesis-go/anamnesis/internal/wire"

// A Kind is the encoding of a field.
type Kind uint8

// The kinds.
const (
	Number  Kind = iota // varint
	Fixed32             // float, fixed32
	Fixed64             // double, fixed64
	Text                // a string, or bytes
	Sub                 // a message
)

// A Field of a message.
type Field struct {
	Kind     Kind
	Repeated bool // it may appear more than once
	Of       *Message
	// Place says that the hook gets where the bytes lie, however few they are.
	Place bool
}

// A Message describes the fields that a message may have, by number: at most 63.
type Message struct {
	Name    string
	Fields  map[uint64]Field
	Make    func() Hook // nil if no caller needs it
	MaxText uint64      // how much of a text is given to the hook, 0 for the usual
}

// maxLength is the largest number of bytes of a varint that is a length.
const maxLength = 5

// maxText is the longest text that is given to hooks.
const maxText = 1 << 10

// Fields that many messages have.
var (
	Scalar  = Field{Kind: Number}
	Scalars = Field{Kind: Number, Repeated: true}
	Word    = Field{Kind: Text}
	Words   = Field{Kind: Text, Repeated: true}
)

// Many is a field of any number of messages, One of at most one.
func Many(m *Message) Field { return Field{Kind: Sub, Repeated: true, Of: m} }

// One is a field of at most one message.
func One(m *Message) Field { return Field{Kind: Sub, Of: m} }

// A Hook gets the fields of one message, and its end. It charges the memory of the texts and
// numbers that it keeps.
type Hook interface {
	// Number gets a number, also each of a packed list.
	Number(f, v uint64) error
	// Text gets a text of at most [Message.MaxText] bytes.
	Text(f uint64, s string) error
	// Bytes gets the place of a longer one, of packed numbers of one size, or of a field
	// with [Field.Place].
	Bytes(f uint64, at wire.Cursor) error
	// Message gets the hook of a message that has ended.
	Message(f uint64, of Hook) error
	// End is called once, at the end; at is where the message begins.
	End(c *wire.Cursor, at int64) error
}

// Ignore is a hook that ignores everything; embed it.
type Ignore struct{}

// Number ignores a number.
func (Ignore) Number(uint64, uint64) error { return nil }

// Text ignores a text.
func (Ignore) Text(uint64, string) error { return nil }

// Bytes ignores bytes.
func (Ignore) Bytes(uint64, wire.Cursor) error { return nil }

// Message ignores a message.
func (Ignore) Message(uint64, Hook) error { return nil }

// End accepts the end.
func (Ignore) End(*wire.Cursor, int64) error { return nil }
