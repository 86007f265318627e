package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A policyMember is a member of a policy's JSON that blocks may change.
type policyMember struct {
	name string
	get  func(*Policy) any
	set  func(*Policy, json.RawMessage) error
	copy func(to, from *Policy)
}

// members are in the order in which they are written.
var members = []policyMember{
	listMember("formats", "format", Formats, func(p *Policy) *[]string { return &p.Formats }),
	listMember("dtypes", "type", dtypeNames, func(p *Policy) *[]string { return &p.DTypes }),
	listMember("schemes", "scheme", schemeNames, func(p *Policy) *[]string { return &p.Schemes }),
	enumMember("pickle", pickleModes[:], func(p *Policy) *Pickle { return &p.Pickle }),
	{
		"allow_globals", func(p *Policy) any { return append([]string{}, p.AllowGlobals...) },
		func(p *Policy, raw json.RawMessage) (err error) {
			if err := readStrings(raw, &p.AllowGlobals); err != nil {
				return err
			}
			return checkGlobals(p.AllowGlobals)
		},
		func(to, from *Policy) { to.AllowGlobals = from.AllowGlobals },
	},
	{
		"classes", func(p *Policy) any { return append([]string{}, p.Classes...) },
		func(p *Policy, raw json.RawMessage) error {
			if err := readStrings(raw, &p.Classes); err != nil {
				return err
			}
			return checkClasses(p.Classes)
		},
		func(to, from *Policy) { to.Classes = from.Classes },
	},
	enumMember("fail_on", failOn[:], func(p *Policy) *FailOn { return &p.FailOn }),
	{
		"unlooked", func(p *Policy) any { return unlookedWords[boolInt(p.ReportUnlooked)] },
		func(p *Policy, raw json.RawMessage) error {
			i, err := oneOf(raw, unlookedWords[:])
			p.ReportUnlooked = i == 1
			return err
		},
		func(to, from *Policy) { to.ReportUnlooked = from.ReportUnlooked },
	},
	enumMember("sidecars", sidecarModes[:], func(p *Policy) *Sidecars { return &p.Sidecars }),
	enumMember("code", codeModes[:], func(p *Policy) *Code { return &p.Code }),
	{
		"rules", func(p *Policy) any {
			list := []jsonChange{}
			for _, c := range p.Rules {
				list = append(list, jsonChange(c))
			}
			return list
		},
		func(p *Policy, raw json.RawMessage) (err error) {
			p.Rules, err = parseChanges(raw)
			return err
		},
		func(to, from *Policy) { to.Rules = from.Rules },
	},
	loadersMember,
}

var unlookedWords = [...]string{"refuse", "report"}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// enumMember returns a member whose value is one of words.
func enumMember[T ~uint8](name string, words []string, of func(*Policy) *T) policyMember {
	return policyMember{
		name, func(p *Policy) any { return words[*of(p)] },
		func(p *Policy, raw json.RawMessage) error {
			i, err := oneOf(raw, words)
			*of(p) = T(i)
			return err
		},
		func(to, from *Policy) { *of(to) = *of(from) },
	}
}

func oneOf(raw json.RawMessage, words []string) (int, error) {
	var s string
	err := json.Unmarshal(raw, &s)
	if i := slices.Index(words, s); err == nil && i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("%s is not one of %s", raw, strings.Join(words, ", "))
}

// anything stands for a list that allows all values.
const anything = "*"

// listMember returns a member that lists allowed values.
func listMember(name, one string, known func() []string, of func(*Policy) *[]string) policyMember {
	return policyMember{
		name, func(p *Policy) any {
			if *of(p) == nil {
				return []string{anything}
			}
			return append([]string{}, *of(p)...)
		},
		func(p *Policy, raw json.RawMessage) error {
			var list []string
			if err := readStrings(raw, &list); err != nil {
				return err
			}
			if slices.Equal(list, []string{anything}) {
				*of(p) = nil
				return nil
			}
			for _, s := range list {
				if !slices.Contains(known(), s) {
					return fmt.Errorf("no %s has the name %s (%s)", one, wire.Quote(s), strings.Join(known(), ", "))
				}
			}
			*of(p) = list
			return nil
		},
		func(to, from *Policy) { *of(to) = *of(from) },
	}
}

// readStrings reads a list of distinct strings.
func readStrings(raw json.RawMessage, into *[]string) error {
	if err := json.Unmarshal(raw, into); err != nil || *into == nil {
		return errors.New("expected a list of strings")
	}
	for i, s := range *into {
		if slices.Contains((*into)[:i], s) {
			return fmt.Errorf("%s appears twice", wire.Quote(s))
		}
	}
	return nil
}

func dtypeNames() (names []string) {
	for _, t := range tensor.DTypes() {
		names = append(names, t.String())
	}
	return names
}

type jsonChange struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
}

func parseChanges(raw json.RawMessage) (list []Change, err error) {
	err = readArray(raw, func(text json.RawMessage) error {
		var c Change
		if err := readFields(text, map[string]*string{"rule": &c.Rule, "severity": &c.Severity}); err != nil {
			return err
		}
		list = append(list, c)
		return c.check()
	})
	return list, err
}

// readArray calls one for each element of an array.
func readArray(raw json.RawMessage, one func(json.RawMessage) error) error {
	var texts []json.RawMessage
	if err := json.Unmarshal(raw, &texts); err != nil || texts == nil {
		return errors.New("expected a list")
	}
	for i, text := range texts {
		if err := one(text); err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
	}
	return nil
}

// readFields reads an object of strings, by their exact names.
func readFields(text json.RawMessage, into map[string]*string) error {
	list, err := object(text)
	if err != nil {
		return err
	}
	for _, one := range list {
		to, ok := into[one.name]
		if !ok {
			return fmt.Errorf("unknown field %s", wire.Quote(one.name))
		}
		if err := json.Unmarshal(one.raw, to); err != nil || one.raw[0] != '"' {
			return fmt.Errorf("field %s is not text", wire.Quote(one.name))
		}
	}
	return nil
}

// check rejects a change of a rule that is not a finding. A policy cannot allow a defect of a file.
func (c Change) check() error {
	if _, ok := parseSeverity(c.Severity); !ok && c.Severity != "off" {
		return fmt.Errorf("rule %s: severity %s is not one of off, note, warning, danger", wire.Quote(c.Rule), wire.Quote(c.Severity))
	}
	if !knownRule(c.Rule) {
		return fmt.Errorf("no rule has the name %s", wire.Quote(c.Rule))
	}
	if !slices.ContainsFunc(limits.Findings(), func(code string) bool { return match(c.Rule, code) }) {
		return fmt.Errorf("rule %s is that of a refusal: only findings have a severity that changes (\"ignore\" sets the refusal of one content aside)", wire.Quote(c.Rule))
	}
	return nil
}

type jsonException struct {
	Rule    string `json:"rule"`
	Path    string `json:"path,omitempty"`
	SHA256  string `json:"sha256,omitempty"`
	Reason  string `json:"reason"`
	Expires string `json:"expires,omitempty"`
}

func parseExceptions(raw json.RawMessage) (list []Exception, err error) {
	err = readArray(raw, func(text json.RawMessage) error {
		var e Exception
		if err := readFields(text, map[string]*string{
			"rule": &e.Rule, "path": &e.Path, "sha256": &e.SHA256, "reason": &e.Reason, "expires": &e.Expires,
		}); err != nil {
			return err
		}
		list = append(list, e)
		return e.check()
	})
	return list, err
}

// isDay reports whether s is a date as ISO 8601 writes it.
func isDay(s string) bool {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' || strings.Trim(s[:4]+s[5:7]+s[8:], "0123456789") != "" {
		return false
	}
	month, day := s[5:7], s[8:]
	return "01" <= month && month <= "12" && "01" <= day && day <= "31"
}

// isDigest reports whether s is a SHA-256 in lower-case hex.
func isDigest(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

// check rejects an exception that cannot match anything.
func (e Exception) check() error {
	switch {
	case !knownRule(e.Rule):
		return fmt.Errorf("no rule has the name %s", wire.Quote(e.Rule))
	case strings.TrimSpace(e.Reason) == "":
		return fmt.Errorf("rule %s: an exception needs a reason", wire.Quote(e.Rule))
	case e.Path == "" && e.SHA256 == "":
		return fmt.Errorf("rule %s: an exception needs a path or a sha256", wire.Quote(e.Rule))
	case e.SHA256 == "" && !onlyByName(e.Rule):
		return fmt.Errorf("rule %s: an exception for what is not a finding needs a sha256", wire.Quote(e.Rule))
	case e.SHA256 != "" && !isDigest(e.SHA256):
		return fmt.Errorf("sha256 %s is not a digest of 64 small hex digits", wire.Quote(e.SHA256))
	case e.Expires != "" && !isDay(e.Expires):
		return fmt.Errorf("expires %s is not a day such as 2026-12-31", wire.Quote(e.Expires))
	}
	return checkGlob(e.Path)
}

// checkGlob rejects a malformed pattern of names.
func checkGlob(pattern string) error {
	if len(pattern) > maxGlob {
		return fmt.Errorf("path: a pattern of %d bytes, more than %d", len(pattern), maxGlob)
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("path %s: %w", wire.Quote(pattern), err)
	}
	return nil
}

// onlyByName reports whether all rules that the pattern matches may be suppressed by a
// file name.
func onlyByName(pattern string) bool {
	for _, r := range rulesLike(pattern) {
		if match(pattern, r.ID) && r.Kind != "finding" && r.ID != unlookedRule {
			return false
		}
	}
	return true
}

// knownRule reports whether the pattern matches a rule.
func knownRule(pattern string) bool {
	return slices.ContainsFunc(rulesLike(pattern), func(r Rule) bool { return match(pattern, r.ID) })
}

// rulesLike returns the rules that the pattern may match: those that begin with its letters
// before the first special one. It is all of them for a pattern that begins with "*", and
// at most one for an identifier.
func rulesLike(pattern string) []Rule {
	list := sortedRules()
	plain := pattern[:literalLen(pattern)]
	from, _ := slices.BinarySearchFunc(list, plain, func(r Rule, s string) int { return strings.Compare(r.ID, s) })
	list = list[from:]
	if len(plain) == len(pattern) {
		return list[:min(1, len(list))]
	}
	end := slices.IndexFunc(list, func(r Rule) bool { return !strings.HasPrefix(r.ID, plain) })
	if end < 0 {
		end = len(list)
	}
	return list[:end]
}
