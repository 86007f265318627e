package gate

import (
	"encoding/json"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Remote makes a verdict from the JSON of another process, which [Verdict.MarshalJSON]
// returns unchanged. It has no pickles; their globals appear only in the texts of refusals.
func Remote(text []byte) (*Verdict, error) {
	var in jsonVerdict
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, wire.ErrInternal.Errorf("no verdict: %s", wire.Text(err.Error(), 256))
	}
	class := wire.OK
	for class < wire.Differs && class.String() != in.Class {
		class++
	}
	if in.Schema != Schema || class == wire.Differs || in.Accepted != (class == wire.OK) || in.Accepted != (len(in.Refusals) == 0) {
		return nil, wire.ErrInternal.Errorf("no verdict that this program comes to")
	}
	v := &Verdict{
		Name: in.Name, Size: in.Size, SHA256: in.SHA256, Promised: in.Promised, Format: in.Format, Harmless: in.Harmless, Excluded: in.Excluded,
		Unlooked: in.Unlooked, Verified: in.Bodies == "verified", Totals: Totals(in.Totals), gate: &Gate{}, remote: text, openings: in.Opens,
	}
	for _, r := range in.Refusals {
		one := Refusal{Rule: r.Rule, Group: r.Group, Class: class, Where: r.Where, Off: wire.NoOffset, Text: r.Text}
		if r.Offset != nil {
			one.Off = *r.Offset
		}
		v.refusals = append(v.refusals, one)
	}
	if class != wire.OK {
		v.Err = &inside{elsewhere{class, in.Refusals[0].Text}}
	}
	return v, nil
}

// elsewhere is a refusal by another process.
type elsewhere struct {
	class wire.Class
	text  string
}

func (e elsewhere) Error() string     { return e.text }
func (e elsewhere) Class() wire.Class { return e.class }
