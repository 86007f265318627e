package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/vm"
)

// Schema is the version of a verdict's JSON; within a version members are only added.
const Schema = "amn.verdict/1"

type jsonVerdict struct {
	Schema      string          `json:"schema"`
	Name        string          `json:"name"`
	Size        int64           `json:"size"`
	SHA256      string          `json:"sha256,omitempty"`
	Promised    string          `json:"promised,omitempty"`
	Format      string          `json:"format"`
	Accepted    bool            `json:"accepted"`
	Class       string          `json:"class"`
	Exit        int             `json:"exit"`
	Status      int             `json:"status"`
	Refusals    []jsonReason    `json:"refusals"`
	Findings    []jsonReason    `json:"findings"`
	Ignored     []jsonReason    `json:"ignored,omitempty"`
	Expired     []jsonException `json:"expired,omitempty"`
	Allowed     []string        `json:"allowed_globals,omitempty"`
	Loaders     []string        `json:"loaders"`
	Opens       []Opening       `json:"opens"`
	Safe        *bool           `json:"safe,omitempty"`
	WeightsOnly string          `json:"weights_only,omitempty"` // yes, no or unsure
	Bodies      string          `json:"bodies"`
	Totals      jsonTotals      `json:"totals"`
	Contents    []jsonContent   `json:"contents,omitempty"`
	Harmless    string          `json:"harmless,omitempty"`
	Excluded    bool            `json:"excluded,omitempty"`
	Unlooked    string          `json:"unlooked,omitempty"`
	Policy      string          `json:"policy"`
	RulesDigest string          `json:"rules_digest"`
	Version     string          `json:"version,omitempty"`
	Acceptance  Accepted        `json:"acceptance,omitzero"`
}

type jsonContent struct {
	Name     string `json:"name"`
	Size     int64  `json:"size"`
	Format   string `json:"format,omitempty"`
	Class    string `json:"class"`
	Harmless string `json:"harmless,omitempty"`
	Unlooked string `json:"unlooked,omitempty"`
}

type jsonReason struct {
	Rule     string `json:"rule"`
	Group    string `json:"group,omitempty"`
	Severity string `json:"severity"`
	Advice   string `json:"advice,omitempty"`
	Page     string `json:"page,omitempty"`
	Where    string `json:"where,omitempty"`
	Offset   *int64 `json:"offset,omitempty"`
	Text     string `json:"text"`
	// Members of refusals that were set aside.
	Reason  string `json:"reason,omitempty"`
	Expires string `json:"expires,omitempty"`
}

type jsonTotals struct {
	Tensors  int64 `json:"tensors"`
	Elements int64 `json:"elements"`
	Bytes    int64 `json:"bytes"`
}

// MarshalJSON writes the verdict as one object, the same on every machine.
func (v *Verdict) MarshalJSON() ([]byte, error) {
	if v.remote != nil {
		return v.remote, nil
	}
	g := v.gate
	if g == nil { // no gate made it
		g = &Gate{}
	}
	digest, err := g.policyDigest()
	if err != nil {
		return nil, err
	}
	accepted, _ := v.Acceptance()
	out := jsonVerdict{
		Schema: Schema, Name: wire.Clean(v.Name, 1024), Size: v.Size, SHA256: v.SHA256, Promised: wire.Clean(v.Promised, 64), Format: v.Format,
		Accepted: v.Accepted(), Class: v.Class().String(), Exit: v.Class().ExitCode(), Status: v.Class().HTTPStatus(),
		Refusals: reasons(v.Refusals()), Findings: []jsonReason{}, Loaders: append([]string{}, v.Loaders()...), Opens: append([]Opening{}, v.Opens()...), Bodies: v.Bodies(),
		Totals: jsonTotals(v.Totals), Harmless: v.Harmless, Excluded: v.Excluded, Unlooked: wire.Text(v.Unlooked, 512), Policy: digest, RulesDigest: RulesDigest(g.Version), Version: g.Version,
		Acceptance: accepted,
	}
	if len(v.Ignored) > 0 {
		out.Ignored = reasons(v.Ignored)
	}
	for _, c := range v.Contents {
		out.Contents = append(out.Contents, jsonContent{wire.Clean(c.Name, 1024), c.Size, c.Format, c.Class.String(), c.Harmless, wire.Text(c.Unlooked, 512)})
	}
	for _, e := range v.Expired {
		out.Expired = append(out.Expired, jsonException(e))
	}
	out.Allowed = v.Allowed
	for _, f := range v.Findings {
		out.Findings = append(out.Findings, reason(f.Code, f.Severity.String(), f.Where, f.Off, f.Text))
	}
	if len(v.Pickles) > 0 {
		safe, taken := v.Safe().OK, v.WeightsOnly()
		out.Safe, out.WeightsOnly = &safe, Taken(&taken)
	}
	return json.Marshal(out)
}

// Taken returns a verdict as one word: yes, no, or unsure if the loader may accept the
// file but its values are unknown here.
func Taken(v *vm.Verdict) string {
	switch {
	case v.OK:
		return "yes"
	case v.Unsure:
		return "unsure"
	}
	return "no"
}

func reasons(list []Refusal) []jsonReason {
	out := []jsonReason{}
	for _, r := range list {
		one := reason(r.Rule, "", r.Where, r.Off, r.Text)
		one.Group = r.Group
		if r.Exception != nil {
			one.Reason, one.Expires = r.Exception.Reason, r.Exception.Expires
		}
		out = append(out, one)
	}
	return out
}

func reason(rule, severity, where string, off int64, text string) jsonReason {
	out := jsonReason{Rule: rule, Severity: severity, Where: wire.Text(where, 256), Text: wire.Text(text, wire.MaxMessage)}
	if off >= 0 {
		out.Offset = &off
	}
	if r, ok := RuleOf(rule); ok {
		if severity == "" {
			out.Severity = r.Severity.String()
		}
		out.Advice, out.Page = r.Advice, r.Page()
	}
	return out
}

// Digest is the SHA-256 of the policy's JSON, in hex. The JSON states every member, so a
// policy that leaves a default out has the digest of one that states it.
func (p Policy) Digest() (string, error) {
	text, err := p.MarshalJSON()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
