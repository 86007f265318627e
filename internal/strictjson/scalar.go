package strictjson

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Uint reads a plain integer of at most limit: digits, no sign, no leading zero.
func (d *Decoder) Uint(limit uint64) (uint64, error) {
	if err := d.value(Number); err != nil {
		return 0, err
	}
	s, i := d.text.Body[d.pos:], 0
	n := uint64(0)
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		n = n*10 + uint64(s[i]-'0')
	}
	if i == 0 || s[0] == '0' && i > 1 || i < len(s) && (s[i] == '.' || s[i]|0x20 == 'e') || n > limit || i > 19 {
		if err := d.notPlain(s, i, n, limit); err != nil {
			return 0, err
		}
	}
	d.pos += i
	return n, nil
}

// notPlain returns the error for s, which begins with a number of i digits, n modulo 2^64, that is
// not a plain integer of at most limit.
func (d *Decoder) notPlain(s string, i int, n, limit uint64) error {
	switch {
	case i == 0 || s[0] == '0' && i > 1:
		return d.Fail("", wire.ErrSyntax.WithRule("json.integer").Errorf("not a plain integer"))
	case i < len(s) && (s[i] == '.' || s[i]|0x20 == 'e'):
		return d.Fail("", wire.ErrSyntax.WithRule("json.integer").Errorf("a fraction or exponent where a plain integer belongs"))
	case i > 20 || i == 20 && (s[0] != '1' || n < 1e19):
		// Twenty digits that fit begin with a one. Those that begin with a one
		// and do not fit have wrapped to less than 1e19.
		return d.Fail("", wire.ErrRange.WithRule("json.number-size").Errorf("integer of more than 64 bits"))
	case n > limit:
		return d.Fail("", wire.ErrRange.WithRule("json.number-size").Errorf("%d is more than %d", n, limit))
	}
	return nil
}

// Int reads a plain integer with or without a minus sign; -0 is refused.
func (d *Decoder) Int() (int64, error) {
	if err := d.value(Number); err != nil {
		return 0, err
	}
	if d.text.Body[d.pos] != '-' {
		n, err := d.Uint(1<<63 - 1)
		return int64(n), err
	}
	start := d.pos
	d.pos++
	if d.pos == len(d.text.Body) {
		return 0, d.ended("a digit")
	}
	if c := d.text.Body[d.pos]; c-'0' > 9 || c == '0' {
		d.pos = start
		return 0, d.Fail("", wire.ErrSyntax.WithRule("json.integer").Errorf("not a plain integer"))
	}
	n, err := d.Uint(1 << 63)
	return -int64(n), err
}

// Number reads any JSON number and returns it as it is written, a slice of the text.
func (d *Decoder) Number() (string, error) {
	if err := d.value(Number); err != nil {
		return "", err
	}
	s, start := d.text.Body, d.pos
	if s[d.pos] == '-' {
		d.pos++
	}
	leading := d.pos
	if err := d.digits(); err != nil {
		return "", err
	}
	if s[leading] == '0' && d.pos > leading+1 {
		d.pos = leading
		return "", d.Fail("", wire.ErrSyntax.WithRule("json.number").Errorf("number with a leading zero"))
	}
	if d.pos < len(s) && s[d.pos] == '.' {
		d.pos++
		if err := d.digits(); err != nil {
			return "", err
		}
	}
	if d.pos < len(s) && s[d.pos]|0x20 == 'e' {
		d.pos++
		if d.pos < len(s) && (s[d.pos] == '+' || s[d.pos] == '-') {
			d.pos++
		}
		if err := d.digits(); err != nil {
			return "", err
		}
	}
	return s[start:d.pos], nil
}

func (d *Decoder) digits() error {
	s, start := d.text.Body, d.pos
	for d.pos < len(s) && s[d.pos]-'0' <= 9 {
		d.pos++
	}
	if d.pos > start {
		return nil
	}
	if d.pos == len(s) {
		return d.ended("a digit")
	}
	return d.unexpected("a digit")
}

// Float reads any number as the nearest float64. A number beyond the range of float64 is refused.
func (d *Decoder) Float() (float64, error) {
	_, f, err := d.Finite()
	return f, err
}

// Finite reads any number as it is written, with its value as [Decoder.Float] reads it.
func (d *Decoder) Finite() (text string, f float64, err error) {
	start := d.Off()
	if text, err = d.Number(); err != nil {
		return "", 0, err
	}
	f, ok, err := wire.Float(text, d.steps.Take)
	if err != nil {
		return "", 0, d.FailAt("", start, err)
	}
	if !ok {
		return "", 0, d.FailAt("", start, wire.ErrRange.WithRule("json.number-size").Errorf("number too large"))
	}
	return text, f, nil
}

// Bool reads true or false.
func (d *Decoder) Bool() (bool, error) {
	if err := d.value(Bool); err != nil {
		return false, err
	}
	if d.text.Body[d.pos] == 't' {
		return true, d.literal("true")
	}
	return false, d.literal("false")
}

// Null reads null.
func (d *Decoder) Null() error {
	if err := d.value(Null); err != nil {
		return err
	}
	return d.literal("null")
}

func (d *Decoder) literal(word string) error {
	for i := range len(word) {
		if d.pos == len(d.text.Body) {
			return d.ended(word)
		}
		if d.text.Body[d.pos] != word[i] {
			return d.unexpected(word)
		}
		d.pos++
	}
	return nil
}
