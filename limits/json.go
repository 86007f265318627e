package limits

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxPolicyBytes bounds the text of a policy, which may come over a network.
const MaxPolicyBytes = 1 << 20

const unknownMembersField = "refuse_unknown_members"

// MarshalJSON writes every field, with defaults filled in, one per line, so that ReadPolicy
// reads them back.
func (p Policy) MarshalJSON() ([]byte, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	var out strings.Builder
	for a := range axisCount {
		fmt.Fprintf(&out, "%s%q: %s", separator(out.Len()), axes[a].field, jsonValue(axes[a].unit, p.Limit(a)))
	}
	for _, l := range lists {
		list, err := json.Marshal(append([]string{}, *l.of(&p)...))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, ",\n  %q: %s", l.field, list)
	}
	fmt.Fprintf(&out, ",\n  %q: %t\n}", unknownMembersField, p.RefuseUnknownMembers)
	return []byte(out.String()), nil
}

func separator(written int) string {
	if written == 0 {
		return "{\n  "
	}
	return ",\n  "
}

func jsonValue(u unit, n int64) string {
	text := formatValue(u, n)
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return text
	}
	return strconv.Quote(text)
}

// ReadPolicy reads a policy from JSON: one object. Missing fields keep their defaults.
// Unknown and duplicate fields, unknown names, zero, negative or overflowing numbers and
// wrong units are errors that name the field; all are [ErrPolicy].
func ReadPolicy(r io.Reader) (Policy, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxPolicyBytes+1))
	if err != nil {
		return Policy{}, err
	}
	if len(text) > MaxPolicyBytes {
		return Policy{}, fmt.Errorf("%w: more than %d bytes", ErrPolicy, MaxPolicyBytes)
	}
	return ParsePolicy(text)
}

// ParsePolicy is [ReadPolicy] for text in memory.
func ParsePolicy(text []byte) (Policy, error) {
	p, err := parsePolicy(text)
	if err != nil {
		return Policy{}, fmt.Errorf("%w: %w", ErrPolicy, err)
	}
	if err := p.Validate(); err != nil {
		return Policy{}, err
	}
	return p, nil
}

func parsePolicy(text []byte) (Policy, error) {
	if !utf8.Valid(text) {
		return Policy{}, errors.New("not UTF-8 text")
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return Policy{}, errors.New("not a JSON object")
	}
	var p Policy
	var seen []string
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return Policy{}, plainJSON(err)
		}
		field, ok := t.(string)
		if !ok {
			return Policy{}, errors.New("not a JSON object")
		}
		if slices.Contains(seen, field) {
			return Policy{}, fmt.Errorf("field %s appears twice", show(field))
		}
		if err := p.readField(d, field); err != nil {
			return Policy{}, fmt.Errorf("field %s: %w", show(field), err)
		}
		seen = append(seen, field)
	}
	if _, err := d.Token(); err != nil {
		return Policy{}, plainJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Policy{}, errors.New("text after the object")
	}
	return p, nil
}

func (p *Policy) readField(d *json.Decoder, field string) error {
	for a := range axisCount {
		if axes[a].field == field {
			return p.readAxis(d, a)
		}
	}
	for _, l := range lists {
		if l.field == field {
			return readList(d, l.of(p))
		}
	}
	if field != unknownMembersField {
		return errors.New("unknown field")
	}
	t, err := d.Token()
	if err != nil {
		return plainJSON(err)
	}
	v, ok := t.(bool)
	if !ok {
		return errors.New("expected true or false")
	}
	p.RefuseUnknownMembers = v
	return nil
}

func (p *Policy) readAxis(d *json.Decoder, a Axis) error {
	t, err := d.Token()
	if err != nil {
		return plainJSON(err)
	}
	switch v := t.(type) {
	case json.Number:
		if axes[a].unit == clock {
			return fmt.Errorf(`%s has no unit: write "60s", or "none"`, show(v.String()))
		}
		return p.Set(a, v.String())
	case string:
		if axes[a].unit == count {
			return fmt.Errorf("%s is a string: expected a number", show(v))
		}
		return p.Set(a, v)
	default:
		return errors.New("expected a number or a size")
	}
}

func readList(d *json.Decoder, list *[]string) error {
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return errors.New("expected a list of names")
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return plainJSON(err)
		}
		name, ok := t.(string)
		if !ok || name == "" {
			return errors.New("expected a list of names")
		}
		*list = append(*list, name)
	}
	_, err := d.Token()
	return plainJSON(err)
}

// plainJSON converts an error of encoding/json, including an unexpected end.
func plainJSON(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
