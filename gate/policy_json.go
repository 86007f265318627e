package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// PolicyVersion is the version of the JSON that [Policy.MarshalJSON] writes. A text without
// a version, or with version 1, is a policy of limits.ReadPolicy.
const PolicyVersion = 3

// A pair is a member of a JSON object.
type pair struct {
	name string
	raw  json.RawMessage
}

// object reads the members of one JSON object, and rejects duplicates.
func object(text []byte) ([]pair, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("not UTF-8 text")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	var list []pair
	names := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		one := pair{}
		one.name, _ = t.(string)
		if names[one.name] {
			return nil, fmt.Errorf("field %s appears twice", wire.Quote(one.name))
		}
		names[one.name] = true
		if err := d.Decode(&one.raw); err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object")
	}
	return list, nil
}

// writtenVersion is the version of a policy's JSON. A policy of limits becomes one of the gate.
func (p *Policy) writtenVersion() int {
	if p.Version == 0 {
		return PolicyVersion
	}
	return max(p.Version, firstOwnVersion)
}

// firstOwnVersion is the first version with members of the gate.
const firstOwnVersion = 2

// MarshalJSON writes every member but loaders that say nothing, in the form that ParsePolicy reads.
func (p Policy) MarshalJSON() ([]byte, error) {
	limit, err := p.Limits.MarshalJSON()
	if err != nil {
		return nil, err
	}
	out := []byte(fmt.Sprintf("{\n  \"version\": %d", p.writtenVersion()))
	add := func(name string, value any) {
		text, e := json.Marshal(value)
		err = errors.Join(err, e)
		out = fmt.Appendf(out, ",\n  %q: %s", name, text)
	}
	for i := range members {
		if value := members[i].get(&p); value != nil {
			add(members[i].name, value)
		}
	}
	blocks := []map[string]any{}
	for _, b := range p.Paths {
		one := map[string]any{"path": b.Path}
		for i := range members {
			if slices.Contains(b.Set, members[i].name) {
				one[members[i].name] = members[i].get(&b.Policy)
			}
		}
		blocks = append(blocks, one)
	}
	add("paths", blocks)
	ignore := []jsonException{}
	for _, e := range p.Ignore {
		ignore = append(ignore, jsonException(e))
	}
	add("ignore", ignore)
	// One object with the members of both.
	out = append(append(out, ",\n"...), bytes.TrimLeft(limit, "{\n")...)
	return out, err
}

// ParsePolicy reads a policy from JSON: one object. Missing members keep their defaults. A
// policy of limits.ParsePolicy is accepted too. Unknown or duplicate members, unknown names
// and rules, and exceptions without a reason are errors.
func ParsePolicy(text []byte) (Policy, error) {
	p, err := parsePolicy(text)
	if err != nil {
		return Policy{}, fmt.Errorf("%w: %w", limits.ErrPolicy, err)
	}
	return p, nil
}

// ReadPolicy is [ParsePolicy] for a reader.
func ReadPolicy(r io.Reader) (Policy, error) {
	if r == nil {
		return Policy{}, errNoReader
	}
	text, err := io.ReadAll(io.LimitReader(r, limits.MaxPolicyBytes+1))
	if err != nil {
		return Policy{}, err
	}
	if len(text) > limits.MaxPolicyBytes {
		return Policy{}, fmt.Errorf("%w: more than %d bytes", limits.ErrPolicy, limits.MaxPolicyBytes)
	}
	return ParsePolicy(text)
}

func parsePolicy(text []byte) (p Policy, err error) {
	list, err := object(text)
	if err != nil {
		return p, err
	}
	version, mine := PolicyVersion, false
	rest := bytes.NewBufferString("{")
	for _, one := range list {
		ours := true
		switch one.name {
		case "version":
			if err := json.Unmarshal(one.raw, &version); err != nil || string(one.raw) == "null" || version < 1 || version > PolicyVersion {
				return p, fmt.Errorf("field \"version\": %s is not known: this is %d", one.raw, PolicyVersion)
			}
			continue
		case "paths":
			p.Paths, err = parseBlocks(one.raw)
		case "ignore":
			p.Ignore, err = parseExceptions(one.raw)
		default:
			if ours, err = p.member(one); ours {
				break
			}
			if rest.Len() > 1 {
				rest.WriteByte(',')
			}
			key, err := json.Marshal(one.name)
			if err != nil {
				return p, err
			}
			rest.Write(append(append(key, ':'), one.raw...))
		}
		if err != nil {
			return p, fmt.Errorf("field %s: %w", wire.Quote(one.name), err)
		}
		mine = mine || ours
	}
	if version == 1 && mine {
		return p, fmt.Errorf("version 1 has only limits: write version %d", PolicyVersion)
	}
	if version < PolicyVersion {
		p.Version = version
	}
	p.Limits, err = limits.ParsePolicy(append(rest.Bytes(), '}'))
	return p, err
}

// member reads a member that a block may have as well. ours is false if it is not one of
// them.
func (p *Policy) member(one pair) (ours bool, err error) {
	for i := range members {
		if members[i].name == one.name {
			return true, members[i].set(p, one.raw)
		}
	}
	return false, nil
}

func parseBlocks(raw json.RawMessage) (list []Block, err error) {
	err = readArray(raw, func(text json.RawMessage) error {
		b, err := parseBlock(text)
		list = append(list, b)
		return err
	})
	return list, err
}

func parseBlock(text []byte) (b Block, err error) {
	fields, err := object(text)
	if err != nil {
		return b, err
	}
	for _, one := range fields {
		if one.name == "path" {
			if err := json.Unmarshal(one.raw, &b.Path); err != nil {
				return b, errors.New("the path is not text")
			}
			continue
		}
		ours, err := b.Policy.member(one)
		switch {
		case err != nil:
			return b, fmt.Errorf("field %s: %w", wire.Quote(one.name), err)
		case !ours:
			return b, fmt.Errorf("field %s is not one of a path", wire.Quote(one.name))
		}
		b.Set = append(b.Set, one.name)
	}
	if b.Path == "" {
		return b, errors.New("it has no path")
	}
	return b, checkGlob(b.Path)
}
