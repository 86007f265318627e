package strictjson

import (
	"hash/maphash"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// MaxText bounds one text: member names are kept as 32-bit positions.
const MaxText = 1<<31 - 1

// A Text is what [Decode] reads, and its position in the file.
type Text struct {
	Format string // for errors
	Body   string // charged by the caller
	Off    int64  // offset of the text in its file
	// Whole says that the text is a whole file: then an early end means a truncated file, otherwise
	// a wrong length before the text.
	Whole bool
}

// A Decoder is positioned before a value of the text. It is for one goroutine.
type Decoder struct {
	b       *limits.Budget
	steps   limits.Steps
	text    Text
	pos     int
	name    int // where the name of the latest member begins
	depth   int // open objects and arrays
	entered int // levels charged: the most that were open at once
	owed    int // items that have not been charged yet
	seed    maphash.Seed
}

// A Kind is the kind of a value, which its first byte shows.
type Kind uint8

// The kinds.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

var kinds = [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}

func (k Kind) String() string { return kinds[k] }

// Decode runs read over the one value of a text. White space may surround the
// value; anything else after it is refused.
func Decode(b *limits.Budget, text Text, read func(*Decoder) error) error {
	d := &Decoder{b: b, steps: b.Steps(), text: text, seed: maphash.MakeSeed()}
	defer d.leave()
	if len(text.Body) > MaxText {
		return d.Fail("", tooLong(int64(len(text.Body))))
	}
	d.space()
	start := d.pos
	if err := read(d); err != nil {
		return err
	}
	if d.pos == start {
		if err := d.Skip(); err != nil {
			return err
		}
	}
	d.space()
	if d.pos < len(text.Body) {
		return d.Fail("", wire.ErrTrailing.WithRule("json.trailing").Errorf("after the end of the JSON value"))
	}
	return d.pay()
}

// itemBatch is the number of items per charge, because each charge goes through every parent
// account.
const itemBatch = 32

// item counts one member, or one element that is not a number.
func (d *Decoder) item() error {
	if d.owed++; d.owed < itemBatch {
		return nil
	}
	return d.pay()
}

func (d *Decoder) pay() error {
	n := d.owed
	d.owed = 0
	return d.Fail("", d.b.Items(int64(n)))
}

func (d *Decoder) leave() {
	for ; d.entered > 0; d.entered-- {
		d.b.Leave()
	}
}

// Off returns the offset in the file of the next byte.
func (d *Decoder) Off() int64 { return d.text.Off + int64(d.pos) }

// NameOff returns the offset in the file of the name of the current member.
func (d *Decoder) NameOff() int64 { return d.text.Off + int64(d.name) }

// Rest returns the text that has not been read.
func (d *Decoder) Rest() string { return d.text.Body[d.pos:] }

// Fail returns an error with a cause at the offset of the next byte; nil if the cause is nil.
func (d *Decoder) Fail(where string, cause error) error { return d.FailAt(where, d.Off(), cause) }

// FailAt returns an error with a cause at an offset of the file.
func (d *Decoder) FailAt(where string, off int64, cause error) error {
	return wire.At(d.text.Format, where, off, cause)
}

// kindOf has the kind of a value plus one by its first byte, 0 for a byte that begins no value.
var kindOf = [256]Kind{
	'n': Null + 1, 't': Bool + 1, 'f': Bool + 1, '"': String + 1, '[': Array + 1, '{': Object + 1,
	'-': Number + 1, '0': Number + 1, '1': Number + 1, '2': Number + 1, '3': Number + 1, '4': Number + 1,
	'5': Number + 1, '6': Number + 1, '7': Number + 1, '8': Number + 1, '9': Number + 1,
}

// Kind returns the kind of the next value.
func (d *Decoder) Kind() (Kind, error) {
	if d.pos >= len(d.text.Body) {
		return 0, d.ended("a value")
	}
	if k := kindOf[d.text.Body[d.pos]]; k != 0 {
		return k - 1, nil
	}
	return 0, d.unexpected("a value")
}

// Skip reads and discards any value.
func (d *Decoder) Skip() error {
	k, err := d.Kind()
	if err != nil {
		return err
	}
	switch k {
	case Object:
		return d.Object(func(string) error { return nil })
	case Array:
		return d.Array(func(int) error { return nil })
	case String:
		_, err = d.quoted(false)
	case Number:
		_, err = d.Number()
	case Bool:
		_, err = d.Bool()
	default:
		err = d.Null()
	}
	return err
}

// value charges for one value, and checks that it is of the kind that the caller wants.
func (d *Decoder) value(want Kind) error {
	if err := d.steps.Step(); err != nil {
		return d.Fail("", err)
	}
	if d.pos < len(d.text.Body) && kindOf[d.text.Body[d.pos]] == want+1 {
		return nil
	}
	k, err := d.Kind()
	if err != nil {
		return err
	}
	return d.Fail("", wire.ErrSyntax.WithRule("json.kind").Errorf("%v where %v belongs", k, want))
}

// space skips white space.
func (d *Decoder) space() {
	if d.pos < len(d.text.Body) && d.text.Body[d.pos] <= ' ' {
		d.spaces()
	}
}

func (d *Decoder) spaces() {
	for d.pos < len(d.text.Body) {
		switch d.text.Body[d.pos] {
		case ' ', '\t', '\n', '\r':
			d.pos++
		default:
			return
		}
	}
}

// peek skips white space and returns the next byte without reading it, or 0 at
// the end.
func (d *Decoder) peek() byte {
	d.space()
	if d.pos < len(d.text.Body) {
		return d.text.Body[d.pos]
	}
	return 0
}

// missing returns the error for a next byte, or an end, that is not what the grammar wants.
func (d *Decoder) missing(want string) error {
	if d.pos < len(d.text.Body) {
		return d.unexpected(want)
	}
	return d.ended(want)
}

func (d *Decoder) ended(want string) error {
	d.pos = len(d.text.Body)
	cause := wire.ErrSyntax.WithRule("json.unfinished")
	if d.text.Whole {
		cause = wire.ErrTruncated
	}
	return d.Fail("", cause.Errorf("the JSON text ends where %s belongs", want))
}

func (d *Decoder) unexpected(want string) error {
	return d.Fail("", wire.ErrSyntax.WithRule("json.syntax").Errorf("byte %#02x where %s belongs", d.text.Body[d.pos], want))
}
