package gate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
)

// PolicyVersion is that of the JSON which [Policy.MarshalJSON] writes. A text
// without a version is one of [limits.ReadPolicy].
const PolicyVersion = 2

type jsonPolicy struct {
	Version  int             `json:"version"`
	FailOn   string          `json:"fail_on"`
	Unlooked string          `json:"unlooked"`
	Ignore   []jsonException `json:"ignore"`
}

type jsonException struct {
	Rule    string `json:"rule"`
	Path    string `json:"path,omitempty"`
	SHA256  string `json:"sha256,omitempty"`
	Reason  string `json:"reason"`
	Expires string `json:"expires,omitempty"`
}

// MarshalJSON writes every member, as [ParsePolicy] reads them back.
func (p Policy) MarshalJSON() ([]byte, error) {
	limit, err := p.Limits.MarshalJSON()
	if err != nil {
		return nil, err
	}
	more := jsonPolicy{Version: PolicyVersion, FailOn: p.FailOn.String(), Unlooked: "refuse", Ignore: []jsonException{}}
	if p.ReportUnlooked {
		more.Unlooked = "report"
	}
	for _, e := range p.Ignore {
		more.Ignore = append(more.Ignore, jsonException(e))
	}
	text, err := json.MarshalIndent(more, "", "  ")
	if err != nil {
		return nil, err
	}
	// The members of both, in one object.
	head := bytes.TrimSuffix(bytes.TrimRight(text, "}"), []byte("\n"))
	return append(append(head, ",\n"...), bytes.TrimLeft(limit, "{\n")...), nil
}

// ParsePolicy reads a policy: one object, members left out keep their defaults.
// What [limits.ParsePolicy] takes is one, too. Unknown and duplicate members, names
// and rules that nobody knows, and exceptions without a reason are errors.
func ParsePolicy(text []byte) (Policy, error) {
	p, err := parsePolicy(text)
	if err != nil {
		return Policy{}, fmt.Errorf("%w: %w", limits.ErrPolicy, err)
	}
	return p, nil
}

// ReadPolicy is [ParsePolicy] for a reader.
func ReadPolicy(r io.Reader) (Policy, error) {
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
	mine, rest, err := split(text)
	if err != nil {
		return p, err
	}
	if p.Limits, err = limits.ParsePolicy(rest); err != nil {
		return p, err
	}
	for name, raw := range mine {
		if err := p.member(name, raw); err != nil {
			return p, fmt.Errorf("field %q: %w", name, err)
		}
	}
	return p, nil
}

// split parts the members of a gate from those of the limits, which it leaves as
// they are written.
func split(text []byte) (mine map[string]json.RawMessage, rest []byte, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, fmt.Errorf("a policy is one JSON object")
	}
	mine = map[string]json.RawMessage{}
	var out bytes.Buffer
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		name, _ := t.(string)
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, nil, err
		}
		switch name {
		case "version", "fail_on", "unlooked", "ignore":
			if _, twice := mine[name]; twice {
				return nil, nil, fmt.Errorf("field %q stands twice", name)
			}
			mine[name] = raw
		default:
			if out.Len() > 0 {
				out.WriteByte(',')
			}
			key, err := json.Marshal(name)
			if err != nil {
				return nil, nil, err
			}
			out.Write(key)
			out.WriteByte(':')
			out.Write(raw)
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, nil, fmt.Errorf("something follows the object")
	}
	return mine, []byte("{" + out.String() + "}"), nil
}

// member reads one member of a gate.
func (p *Policy) member(name string, raw json.RawMessage) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	switch name {
	case "version":
		var n int
		if err := d.Decode(&n); err != nil || n != PolicyVersion {
			return fmt.Errorf("version %s is not known: this is %d", bytes.TrimSpace(raw), PolicyVersion)
		}
	case "fail_on":
		var s string
		ok := d.Decode(&s) == nil
		if ok {
			p.FailOn, ok = ParseFailOn(s)
		}
		if !ok {
			return fmt.Errorf("%s is none of %s", bytes.TrimSpace(raw), strings.Join(failOn[:], ", "))
		}
	case "unlooked":
		var s string
		if d.Decode(&s) != nil || s != "refuse" && s != "report" {
			return fmt.Errorf("%s is neither refuse nor report", bytes.TrimSpace(raw))
		}
		p.ReportUnlooked = s == "report"
	case "ignore":
		var list []jsonException
		if err := d.Decode(&list); err != nil {
			return err
		}
		for _, e := range list {
			if err := Exception(e).check(); err != nil {
				return err
			}
			p.Ignore = append(p.Ignore, Exception(e))
		}
	}
	return nil
}

// isDay reports a day as ISO 8601 writes it.
func isDay(s string) bool {
	return len(s) == 10 && s[4] == '-' && s[7] == '-' && only(s[:4]+s[5:7]+s[8:], "0123456789")
}

// isDigest reports a SHA-256 in small letters.
func isDigest(s string) bool { return len(s) == 64 && only(s, "0123456789abcdef") }

func only(s, letters string) bool { return strings.Trim(s, letters) == "" }

// check refuses an exception that nobody could mean.
func (e Exception) check() error {
	_, pathErr := path.Match(e.Path, "")
	switch {
	case !knownRule(e.Rule):
		return fmt.Errorf("no rule has the name %q", e.Rule)
	case strings.TrimSpace(e.Reason) == "":
		return fmt.Errorf("rule %q: an exception needs a reason", e.Rule)
	case e.Path == "" && e.SHA256 == "":
		return fmt.Errorf("rule %q: an exception needs a path or a sha256", e.Rule)
	case e.SHA256 == "" && !onlyByName(e.Rule):
		return fmt.Errorf("rule %q: an exception for what is no finding needs a sha256", e.Rule)
	case len(e.Path) > maxGlob:
		return fmt.Errorf("path: a pattern of %d bytes, more than %d", len(e.Path), maxGlob)
	case pathErr != nil:
		return fmt.Errorf("path %q: %w", e.Path, pathErr)
	case e.SHA256 != "" && !isDigest(e.SHA256):
		return fmt.Errorf("sha256 %q is no digest of 64 small hex digits", e.SHA256)
	case e.Expires != "" && !isDay(e.Expires):
		return fmt.Errorf("expires %q is no day such as 2026-12-31", e.Expires)
	}
	return nil
}

// onlyByName reports a pattern of rules that all may be set aside by a name.
func onlyByName(pattern string) bool {
	for _, r := range Rules() {
		if match(pattern, r.ID) && !byName(r.ID) {
			return false
		}
	}
	return true
}

// knownRule reports a rule, or a pattern that means one.
func knownRule(pattern string) bool {
	for _, r := range Rules() {
		if match(pattern, r.ID) {
			return true
		}
	}
	return false
}
