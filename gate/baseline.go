package gate

import (
	"encoding/json"
	"errors"
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

// ReadBaseline reads a baseline as exceptions for a [Policy]. They need [Gate.Digest].
func ReadBaseline(r io.Reader) ([]Exception, error) {
	if r == nil {
		return nil, errNoReader
	}
	var doc struct {
		Schema string  `json:"schema"`
		Files  []Known `json:"files"`
	}
	d := json.NewDecoder(io.LimitReader(r, maxBaseline))
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("no baseline: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("no baseline: something follows the object")
	}
	if doc.Schema != BaselineSchema && doc.Schema != firstBaseline {
		return nil, fmt.Errorf("no baseline: its schema is %q, not %q", doc.Schema, BaselineSchema)
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
