package remote

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// members reads an object of a server's answer: each member is read by the function of its
// exact name. A member twice is an error, and so is one whose name differs from a known one in
// case alone, which a client written in Go takes for the known one.
func members(d *strictjson.Decoder, read map[string]func() error) error {
	known := make([]string, 0, len(read))
	for name := range read {
		known = append(known, name)
	}
	slices.Sort(known)
	return d.Object(func(name string) error {
		if f := read[name]; f != nil {
			return f()
		}
		if taken, folded := strictjson.Folded(name, known...); folded {
			return d.Fail("", wire.ErrSyntax.Errorf("member %s, which some clients confuse with %s", wire.Quote(name), taken))
		}
		return nil
	})
}

// document reads an answer that is one JSON object.
func (c *client) document(of string, text []byte, read func(d *strictjson.Decoder) error) error {
	return strictjson.Decode(c.b, strictjson.Text{Format: of, Body: string(text), Whole: true}, read)
}

// into returns a function that reads a string; null gives an empty one.
func into(d *strictjson.Decoder, s *string) func() error {
	return func() error {
		k, err := d.Kind()
		if err != nil || k == strictjson.Null {
			return err
		}
		*s, err = d.String()
		return err
	}
}

// count returns a function that reads a size.
func count(d *strictjson.Decoder, n *int64) func() error {
	return func() error {
		var err error
		*n, err = d.Int()
		return err
	}
}
