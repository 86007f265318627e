package gate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// Schema is the version of a verdict's JSON; within a version members are only added.
const Schema = "amn.verdict/1"

type jsonVerdict struct {
	Schema      string          `json:"schema"`
	Name        exact           `json:"name"`
	NameBase64  []byte          `json:"name_base64,omitempty"`
	Size        int64           `json:"size"`
	SHA256      string          `json:"sha256,omitempty"`
	DirHash     string          `json:"dir_hash,omitempty"`
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
	Files       []jsonFile      `json:"files,omitempty"`
	Contents    []jsonContent   `json:"contents,omitempty"`
	Harmless    string          `json:"harmless,omitempty"`
	Excluded    bool            `json:"excluded,omitempty"`
	Unlooked    string          `json:"unlooked,omitempty"`
	Policy      string          `json:"policy"`
	RulesDigest string          `json:"rules_digest"`
	Version     string          `json:"version,omitempty"`
	Acceptance  Accepted        `json:"acceptance,omitzero"`
}

// An exact is a name as it is, whole, so that two names stay two. Its JSON escapes what is not seen.
type exact string

// exactly returns a name for JSON. One that is not UTF-8 also has its bytes.
func exactly(name string) (exact, []byte) {
	if utf8.ValidString(name) {
		return exact(name), nil
	}
	return exact(wire.Clean(name, 16*len(name))), []byte(name)
}

// MarshalJSON implements [json.Marshaler].
func (e exact) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(string(e))
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case r < utf8.RuneSelf || wire.Clean(string(r), 16) == string(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out, nil
}

// jsonFile is a file of a folder. Its name is exact: [Folder] takes names that are clean.
type jsonFile struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256,omitempty"`
}

func fileOf(f File) jsonFile { return jsonFile(f) }

func jsonFiles(list []File) (out []jsonFile) {
	for _, f := range list {
		out = append(out, fileOf(f))
	}
	return out
}

type jsonContent struct {
	Name       exact  `json:"name"`
	NameBase64 []byte `json:"name_base64,omitempty"`
	Size       int64  `json:"size"`
	Format     string `json:"format,omitempty"`
	Class      string `json:"class"`
	Harmless   string `json:"harmless,omitempty"`
	Unlooked   string `json:"unlooked,omitempty"`
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
	// Loaders are the libraries that a finding is about.
	Loaders []Loader `json:"loaders,omitempty"`
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
	var out bytes.Buffer
	err := v.WriteJSON(&out)
	return out.Bytes(), err
}

// WriteJSON writes what [Verdict.MarshalJSON] returns, and holds no list of it in memory: an
// archive may have millions of contents. If an error is not that of w, nothing was written.
func (v *Verdict) WriteJSON(w io.Writer) error {
	if v == nil {
		v = new(Verdict) // a refusal
	}
	if v.remote != nil {
		_, err := w.Write(v.remote)
		return err
	}
	g := v.gate
	if g == nil { // no gate made it
		g = &Gate{}
	}
	digest, err := g.policyDigest()
	if err != nil {
		return err
	}
	accepted, ok := v.Acceptance()
	o := &objectWriter{w: w}
	o.member("schema", Schema)
	v.writeSubject(o)
	o.member("accepted", v.Accepted())
	o.member("class", v.Class().String())
	o.member("exit", v.Class().ExitCode())
	o.member("status", v.Class().HTTPStatus())
	list(o, "refusals", false, v.Refusals(), reasonOf)
	list(o, "findings", false, v.Findings, func(f tensor.Finding) jsonReason {
		out := reason(f.Code, f.Severity.String(), f.Where, f.Off, f.Text)
		out.Loaders = LoadersOf(f)
		return out
	})
	list(o, "ignored", true, v.Ignored, reasonOf)
	list(o, "expired", true, v.Expired, func(e Exception) jsonException { return jsonException(e) })
	list(o, "allowed_globals", true, v.Allowed, same)
	list(o, "loaders", false, v.Loaders(), same)
	list(o, "opens", false, v.Opens(), same)
	if len(v.Pickles) > 0 {
		taken := v.WeightsOnly()
		o.member("safe", v.Safe().OK)
		o.member("weights_only", Taken(&taken))
	}
	o.member("bodies", v.Bodies())
	o.member("totals", jsonTotals(v.Totals))
	list(o, "files", true, v.listing, fileOf)
	list(o, "contents", true, v.Contents, func(c Content) jsonContent {
		name, bytes := exactly(c.Name)
		return jsonContent{name, bytes, c.Size, c.Format, c.Class.String(), c.Harmless, wire.Text(c.Unlooked, 512)}
	})
	o.optional("harmless", v.Harmless)
	if v.Excluded {
		o.member("excluded", true)
	}
	o.optional("unlooked", wire.Text(v.Unlooked, 512))
	o.member("policy", digest)
	o.member("rules_digest", RulesDigest(g.Version))
	o.optional("version", g.Version)
	if ok {
		o.member("acceptance", accepted)
	}
	return o.end()
}

// writeSubject writes what was judged.
func (v *Verdict) writeSubject(o *objectWriter) {
	name, bytes := exactly(v.Name)
	o.member("name", name)
	if bytes != nil {
		o.member("name_base64", bytes)
	}
	o.member("size", v.Size)
	o.optional("sha256", v.SHA256)
	o.optional("dir_hash", v.dirHash)
	o.optional("promised", wire.Clean(v.Promised, 64))
	o.member("format", v.Format)
}

// An objectWriter writes an object member by member.
type objectWriter struct {
	w   io.Writer
	any bool
	err error
}

func (o *objectWriter) text(s string) {
	if o.err == nil {
		_, o.err = io.WriteString(o.w, s)
	}
}

func (o *objectWriter) value(v any) {
	if o.err != nil {
		return
	}
	text, err := json.Marshal(v)
	if err == nil {
		_, err = o.w.Write(text)
	}
	o.err = err
}

func (o *objectWriter) name(name string) {
	if o.any {
		o.text(`,"` + name + `":`)
	} else {
		o.text(`{"` + name + `":`)
	}
	o.any = true
}

func (o *objectWriter) member(name string, v any) {
	o.name(name)
	o.value(v)
}

// optional writes a text that is not empty.
func (o *objectWriter) optional(name, s string) {
	if s != "" {
		o.member(name, s)
	}
}

func (o *objectWriter) end() error {
	o.text("}")
	return o.err
}

// list writes a list, one element after another.
func list[T, J any](o *objectWriter, name string, optional bool, of []T, to func(T) J) {
	if optional && len(of) == 0 {
		return
	}
	o.name(name)
	o.text("[")
	for i, v := range of {
		if i > 0 {
			o.text(",")
		}
		o.value(to(v))
	}
	o.text("]")
}

func same[T any](v T) T { return v }

// Taken returns a verdict as one word: yes, no, or unsure if the loader may accept the
// file but its values are unknown here.
func Taken(v *vm.Verdict) string {
	switch {
	case v == nil:
	case v.OK:
		return "yes"
	case v.Unsure:
		return "unsure"
	}
	return "no"
}

func reasonOf(r Refusal) jsonReason {
	out := reason(r.Rule, "", r.Where, r.Off, r.Text)
	out.Group = r.Group
	if r.Exception != nil {
		out.Reason, out.Expires = r.Exception.Reason, r.Exception.Expires
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
