package page

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Schema is the version of a report; within it members are only added.
const Schema = "amn.page/1"

// Lengths at which texts of a file are cut for the page.
const (
	maxName     = 1024
	maxValue    = 4096
	maxTemplate = 1 << 20
)

// A Report is what the page shows of one file or model.
type Report struct {
	Schema  string  `json:"schema"`
	Name    string  `json:"name"`
	Size    int64   `json:"size"`
	Format  string  `json:"format"`
	Verdict Verdict `json:"verdict"`
	// Receipt is a signed statement about the verdict, if a service signs them.
	Receipt   json.RawMessage `json:"receipt,omitempty"`
	Totals    Totals          `json:"totals"`
	Metadata  []Pair          `json:"metadata"`
	Templates []Template      `json:"templates"`
	Globals   []Global        `json:"globals"`
	Programs  []Program       `json:"programs,omitempty"` // of the pickles
	// Files are those of a folder or an archive, as they were judged.
	Files []File `json:"files,omitempty"`
	// Config has the numbers and words of config.json, those of text_config with it.
	Config []Pair `json:"config,omitempty"`
	// Weights are the quantized weights that several tensors hold.
	Weights []Weight `json:"weights,omitempty"`
	Types   []string `json:"types"`   // of tensors, in no order
	Tensors []Tensor `json:"tensors"` // in the order of the file
}

// Totals sum up the tensors of the model.
type Totals = struct {
	Tensors  int64 `json:"tensors"`
	Elements int64 `json:"elements"`
	Bytes    int64 `json:"bytes"`
}

// A Verdict is the gate's verdict; Judged is false if there is none. Accepted is true only
// if a gate accepted the file, Readable only of a model that was read and not judged.
type Verdict struct {
	Judged      bool      `json:"judged"`
	Accepted    bool      `json:"accepted"`
	Readable    bool      `json:"readable,omitempty"`
	Class       string    `json:"class"`
	Bodies      string    `json:"bodies"`
	Safe        *bool     `json:"safe,omitempty"`
	WeightsOnly string    `json:"weights_only,omitempty"`
	Loaders     []string  `json:"loaders"`
	Findings    []Finding `json:"findings"`
}

// A Finding is a refusal, or what a reader should know.
type Finding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"` // refusal, danger, warning or note
	Where    string `json:"where,omitempty"`
	Offset   *int64 `json:"offset,omitempty"`
	Text     string `json:"text"`
	// Bytes are those of the file from From on, with the one at Offset among them.
	Bytes []byte `json:"bytes,omitempty"`
	From  int64  `json:"from,omitempty"`
}

// A Pair is an entry of the metadata; Length is that of a list, whose values are not
// shown.
type Pair struct {
	Key    string `json:"key"`
	Value  any    `json:"value,omitempty"`
	Length *int64 `json:"length,omitempty"`
}

// A Template is a chat template.
type Template struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// A Global is what a pickle names.
type Global struct {
	Pickle string `json:"pickle"`
	Name   string `json:"name"`
	Status string `json:"status"`
	Offset int64  `json:"offset"`
	Uses   int64  `json:"uses"`
}

// A File is one of several that were judged together. Its name has the archives that it lies
// in, as in "outer.zip!inner.json".
type File struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	// Kind is a format of models, or says what else the file is; "" if nothing is known of it.
	Kind  string `json:"kind"`
	Class string `json:"class"`
}

// A Tensor is written as a list, because a model has many: its name, the index of its
// type, its shape, its bytes, its offset, and the index of its file.
type Tensor struct {
	Name   string
	Type   int
	Shape  []int64
	Bytes  int64
	Offset int64
	Part   int32
}

// MarshalJSON writes the list.
func (t Tensor) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{t.Name, t.Type, append([]int64{}, t.Shape...), t.Bytes, t.Offset, t.Part}) // [] for a scalar, not null
}

var errNoReport = wire.ErrInternal.Errorf("there is no report")

// WriteJSON writes the report and a newline. The tensors, of which there may be millions,
// are encoded one by one.
func (r *Report) WriteJSON(w io.Writer) error {
	if r == nil {
		return errNoReport
	}
	rest := *r
	rest.Tensors = []Tensor{} // the last member
	text, err := json.Marshal(&rest)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 32<<10)
	out.Write(bytes.TrimSuffix(text, []byte("]}")))
	for i := range r.Tensors {
		if i > 0 {
			out.WriteByte(',')
		}
		one, err := r.Tensors[i].MarshalJSON()
		if err != nil {
			return err
		}
		out.Write(one)
	}
	out.WriteString("]}\n")
	return out.Flush()
}

// New returns the report about a file. m is nil if it was refused, v if it was not
// judged.
func New(b *limits.Budget, name string, size int64, m tensor.Model, v *gate.Verdict) (*Report, error) {
	r := &Report{
		Schema: Schema, Name: wire.Text(name, maxName), Size: size, Metadata: []Pair{}, Templates: []Template{},
		Globals: []Global{}, Types: []string{}, Tensors: []Tensor{},
		Verdict: Verdict{Class: wire.Internal.String(), Bodies: "not read", Loaders: []string{}, Findings: []Finding{}},
	}
	switch {
	case v != nil:
		r.judged(v)
		if err := r.files(b, v.Contents); err != nil {
			return nil, err
		}
	case m != nil:
		r.Verdict.Readable, r.Verdict.Class = true, wire.OK.String()
	}
	if m == nil {
		return r, nil
	}
	r.Format = m.Format()
	if v == nil {
		r.findings(m.Findings())
	}
	if err := r.list(b, m); err != nil {
		return nil, err
	}
	if err := r.meta(b, m); err != nil {
		return nil, err
	}
	if err := r.config(b, m); err != nil {
		return nil, err
	}
	return r, r.weights(b, m)
}

// Refused returns the report about a file that could not be opened.
func Refused(name string, size int64, err error) *Report {
	if err == nil {
		err = errNoReport
	}
	r, _ := New(nil, name, size, nil, nil)
	off := int64(-1)
	r.Verdict.Class = wire.ClassOf(err).String()
	r.add(r.Verdict.Class, "refusal", "", off, wire.Message(err))
	return r
}

func (r *Report) add(rule, severity, where string, off int64, text string) {
	f := Finding{Rule: rule, Severity: severity, Where: wire.Text(where, 256), Text: wire.Text(text, wire.MaxMessage)}
	if off >= 0 {
		f.Offset = &off
	}
	r.Verdict.Findings = append(r.Verdict.Findings, f)
}

func (r *Report) findings(list []tensor.Finding) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b tensor.Finding) int { return -cmp.Compare(a.Severity, b.Severity) })
	for _, f := range list {
		r.add(f.Code, f.Severity.String(), f.Where, f.Off, f.Text)
	}
}

// judged adds the verdict.
func (r *Report) judged(v *gate.Verdict) {
	r.Format = v.Format
	r.Verdict.Judged, r.Verdict.Accepted, r.Verdict.Class, r.Verdict.Bodies = true, v.Accepted(), v.Class().String(), v.Bodies()
	r.Verdict.Loaders = append(r.Verdict.Loaders, v.Loaders()...)
	for _, f := range v.Refusals() {
		r.add(f.Rule, "refusal", f.Where, f.Off, f.Text)
	}
	r.findings(v.Findings)
	if len(v.Pickles) == 0 {
		return
	}
	safe, taken := v.Safe().OK, v.WeightsOnly()
	r.Verdict.Safe, r.Verdict.WeightsOnly = &safe, gate.Taken(&taken)
	for _, p := range v.Pickles {
		for _, g := range p.Report.Graph.Globals() {
			name := wire.Text(g.Module, maxName) + "." + wire.Text(g.Name, maxName)
			r.Globals = append(r.Globals, Global{Pickle: wire.Text(p.Name, 256), Name: name, Status: g.Status.String(), Offset: g.Off, Uses: int64(g.Uses)})
		}
	}
}

// files lists what a folder or an archive holds.
func (r *Report) files(b *limits.Budget, contents []gate.Content) error {
	if len(contents) == 0 {
		return nil
	}
	if err := b.Items(int64(len(contents))); err != nil {
		return err
	}
	list, err := limits.Make[File](b, len(contents))
	if err != nil {
		return err
	}
	for i, c := range contents {
		list[i] = File{wire.Text(c.Name, maxName), c.Size, wire.Text(cmp.Or(c.Format, c.Harmless, c.Unlooked), 256), c.Class.String()}
	}
	r.Files = list
	return nil
}

// list adds the tensors.
func (r *Report) list(b *limits.Budget, m tensor.Model) error {
	if err := b.Items(int64(m.Len())); err != nil {
		return err
	}
	types := map[string]int{}
	for i := range m.Tensors() {
		kind, ok := types[i.TypeName()]
		if !ok {
			kind = len(r.Types)
			types[i.TypeName()] = kind
			r.Types = append(r.Types, wire.Text(i.TypeName(), 64))
		}
		t := Tensor{Name: wire.Text(i.Name, maxName), Type: kind, Shape: i.Shape, Bytes: i.Bytes(), Offset: i.Span.Off, Part: i.Part}
		var err error
		if r.Tensors, err = limits.Append(b, r.Tensors, t); err != nil {
			return err
		}
		r.Totals.Tensors++
		r.Totals.Elements += i.Elements()
		r.Totals.Bytes += t.Bytes
	}
	return nil
}

// templateKey is the prefix of the keys of chat templates in GGUF.
const templateKey = "tokenizer.chat_template"

// meta adds the metadata.
func (r *Report) meta(b *limits.Budget, m tensor.Model) error {
	for key, value := range m.Meta() {
		if err := b.Items(1); err != nil {
			return err
		}
		p := Pair{Key: wire.Text(key, maxName)}
		switch v := value.(type) {
		case string:
			if key == templateKey || strings.HasPrefix(key, templateKey+".") {
				r.Templates = append(r.Templates, Template{p.Key, lines(v)})
				continue
			}
			p.Value = wire.Text(v, maxValue)
		case []any:
			n := int64(len(v))
			p.Length = &n
		case interface{ Len() int64 }:
			n := v.Len()
			p.Length = &n
		default:
			p.Value = number(value)
		}
		r.Metadata = append(r.Metadata, p)
	}
	return nil
}

// lines cleans a text of several lines for display.
func lines(text string) string {
	text = text[:min(len(text), maxTemplate)]
	var out strings.Builder
	for line := range strings.Lines(text) {
		end := ""
		if strings.HasSuffix(line, "\n") {
			line, end = line[:len(line)-1], "\n"
		}
		out.WriteString(wire.Text(strings.ReplaceAll(line, "\t", "    "), len(line)*8+16) + end)
	}
	return out.String()
}
