package gate

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// BaselineSchema is the version of a baseline's JSON.
const BaselineSchema = "amn.baseline/2"

// firstBaseline is the version before the rules of since: a file that it knows is excused for
// them too.
const firstBaseline = "amn.baseline/1"

// maxBaseline bounds the text of a baseline.
const maxBaseline = 64 << 20

// A Known file is an entry of a baseline. It is identified by its content: the same file
// under another name is known, another file under the same name is not.
type Known struct {
	Path   string   `json:"path"`
	SHA256 string   `json:"sha256"`
	Rules  []string `json:"rules"`
}

// Known returns the entry of the file for a baseline. There is none for a file that was
// accepted, for refusals that no exception can suppress (limits, unreadable files), and for
// a file without a digest, such as a broken link.
func (v *Verdict) Known() (Known, bool) {
	if v == nil {
		return Known{}, false
	}
	k := Known{Path: wire.Whole(v.Name), SHA256: v.SHA256}
	for _, r := range slices.Concat(v.Refusals(), v.Ignored) {
		switch {
		case r.Class == wire.Internal || r.Class == wire.Limit, v.SHA256 == "":
			return Known{}, false
		case !slices.Contains(k.Rules, r.Rule):
			k.Rules = append(k.Rules, r.Rule)
		}
	}
	return k, len(k.Rules) > 0
}

// A baseline is the text of one, read by its exact names, each of them once: encoding/json takes
// names of other cases and the last of two, and other readers do not.
type baseline struct {
	Schema string
	Files  []Known
}

func parseBaseline(text []byte) (doc baseline, err error) {
	list, err := object(text)
	if err != nil {
		return doc, err
	}
	for _, one := range list {
		switch one.name {
		case "schema":
			err = plainText(one, &doc.Schema)
		case "files":
			err = readArray(one.raw, func(raw json.RawMessage) error {
				k, err := parseKnown(raw)
				doc.Files = append(doc.Files, k)
				return err
			})
		default:
			err = fmt.Errorf("unknown field %s", wire.Quote(one.name))
		}
		if err != nil {
			return doc, err
		}
	}
	if doc.Schema != BaselineSchema && doc.Schema != firstBaseline {
		return doc, fmt.Errorf("its schema is %s, not %q", wire.Quote(doc.Schema), BaselineSchema)
	}
	return doc, nil
}

func parseKnown(text json.RawMessage) (k Known, err error) {
	list, err := object(text)
	if err != nil {
		return k, err
	}
	for _, one := range list {
		switch one.name {
		case "path":
			err = plainText(one, &k.Path)
		case "sha256":
			err = plainText(one, &k.SHA256)
		case "rules":
			err = readArray(one.raw, func(raw json.RawMessage) error {
				var rule string
				err := plainText(pair{"rules", raw}, &rule)
				k.Rules = append(k.Rules, rule)
				return err
			})
		default:
			err = fmt.Errorf("unknown field %s", wire.Quote(one.name))
		}
		if err != nil {
			return k, err
		}
	}
	return k, nil
}

// plainText reads a member that is text.
func plainText(one pair, to *string) error {
	if len(one.raw) == 0 || one.raw[0] != '"' {
		return fmt.Errorf("field %s is not text", wire.Quote(one.name))
	}
	return json.Unmarshal(one.raw, to)
}

// ReadBaseline reads a baseline as exceptions for a [Policy]. They need [Gate.Digest].
func ReadBaseline(r io.Reader) ([]Exception, error) {
	if r == nil {
		return nil, errNoReader
	}
	text, err := io.ReadAll(io.LimitReader(r, maxBaseline+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxBaseline {
		return nil, fmt.Errorf("no baseline: more than %d bytes", maxBaseline)
	}
	doc, err := parseBaseline(text)
	if err != nil {
		return nil, fmt.Errorf("no baseline: %w", err)
	}
	var list []Exception
	for _, f := range doc.Files {
		if doc.Schema == firstBaseline {
			f.Rules = append(f.Rules, newerRules()...)
		}
		for _, rule := range f.Rules {
			e := Exception{Rule: rule, SHA256: f.SHA256, Reason: "baseline"}
			if err := e.check(); err != nil {
				return nil, fmt.Errorf("baseline: %s: %w", wire.Quote(f.Path), err)
			}
			list = append(list, e)
		}
	}
	return list, nil
}
