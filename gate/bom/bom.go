// Package bom writes what a gate has seen as a bill of materials of CycloneDX 1.6: a
// component for each file with its SHA-256 and verdict, of a model the architecture
// and licence that it states, and a component for each tensor and chat template with
// type, shape, size and SHA-256; of tokenizer_config.json and other texts beside a
// model one for each chat template.
//
//	w := bom.New(out, "1.2.0")
//	g.Seen = func(b *limits.Budget, m tensor.Model) (err error) {
//		model, err = bom.Describe(b, m, digest.Options{})
//		return err
//	}
//	...
//	err = w.Add("models/a.gguf", verdict, model)
//	...
//	err = w.Close()
//
// # Order
//
// Files come in the order in which they are added, tensors in that of the file. The
// document has no time and its serial number is made of what it says, so that the
// same files have the same document.
//
// # Limits
//
// Each file is written as it comes and nothing of it is kept. A [Model] keeps what
// digest.Tensors charges to the account.
//
// # Not supported
//
// Models that were found by their name in a store have no digest of a file.
package bom

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/digest"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Model is the part of a bill of materials about the inside of a file.
type Model struct {
	Sum                   digest.Sum // of all tensors
	Architecture, License string     // as the file states them, "" if it does not
	Tensors               []digest.Tensor
	Templates             []Template
}

// A Template is a chat template.
type Template struct {
	Key   string
	Bytes int64
	Sum   digest.Sum
}

// templateKey is the prefix of the keys of chat templates in GGUF.
const templateKey = "tokenizer.chat_template"

// Describe reads every tensor of a model.
func Describe(b *limits.Budget, m tensor.Model, o digest.Options) (*Model, error) {
	if m == nil {
		return nil, wire.ErrInternal.Errorf("there is no model")
	}
	list, err := digest.Tensors(b, m, o)
	if err != nil {
		return nil, err
	}
	d := &Model{Tensors: list}
	if d.Sum, err = digest.Model(b, list); err != nil {
		return nil, err
	}
	for key, value := range m.Meta() {
		if err := b.Step(1); err != nil {
			return nil, err
		}
		text, ok := value.(string)
		switch {
		case !ok:
		case key == "general.architecture":
			d.Architecture = text
		case key == "general.license" || key == "license":
			d.License = text
		case key == templateKey || strings.HasPrefix(key, templateKey+"."):
			t := Template{Key: key, Bytes: int64(len(text)), Sum: sha256.Sum256([]byte(text))}
			if d.Templates, err = limits.Append(b, d.Templates, t); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

var (
	errNoWriter  = wire.ErrInternal.Errorf("there is no document, or it was ended")
	errNoVerdict = wire.ErrInternal.Errorf("there is no verdict about the file")
)

// A Writer writes one document.
type Writer struct {
	w     *bufio.Writer
	sum   hash.Hash // of what was written; gives the serial number
	files int
}

// New begins a document of the program with this version.
func New(out io.Writer, version string) *Writer {
	if out == nil {
		return nil
	}
	sum := sha256.New()
	w := &Writer{w: bufio.NewWriter(io.MultiWriter(out, sum)), sum: sum}
	w.w.WriteString(`{"$schema":"http://cyclonedx.org/schema/bom-1.6.schema.json","bomFormat":"CycloneDX","specVersion":"1.6","version":1,"metadata":{"tools":{"components":[`)
	w.put(component{Type: "application", Name: "amn", Version: version})
	w.w.WriteString(`]}},"components":[`)
	return w
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref,omitempty"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	Hashes     []sum      `json:"hashes,omitempty"`
	Licenses   []licensed `json:"licenses,omitempty"`
	Card       *card      `json:"modelCard,omitempty"`
	Data       []data     `json:"data,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type sum struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

type licensed struct {
	License struct {
		Name string `json:"name"`
	} `json:"license"`
}

type card struct {
	Parameters struct {
		Architecture string `json:"modelArchitecture,omitempty"`
	} `json:"modelParameters"`
}

type data struct {
	Type string `json:"type"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Add writes the component of the file at path. m is nil if only the verdict is known.
func (w *Writer) Add(path string, v *gate.Verdict, m *Model) error {
	switch {
	case w == nil || w.w == nil:
		return errNoWriter
	case v == nil:
		return errNoVerdict
	}
	if v.Excluded {
		return w.w.Flush()
	}
	if w.files++; w.files > 1 {
		w.w.WriteString(",")
	}
	w.w.WriteString("\n")
	c := component{Type: "file", Ref: "file-" + strconv.Itoa(w.files), Name: wire.Whole(strings.ReplaceAll(path, `\`, "/"))}
	if v.SHA256 != "" {
		c.Hashes = []sum{{"SHA-256", v.SHA256}}
	}
	c.Properties = properties(v)
	switch {
	case v.Format != "" && m != nil:
	case len(v.Templates) > 0:
		w.open(c)
		w.tensorsAndTemplates(&Model{Templates: templatesOf(v.Templates)})
		w.w.WriteString("]}")
		return w.w.Flush()
	default:
		w.put(c)
		return w.w.Flush()
	}
	c.Type = "machine-learning-model"
	c.Properties = append(c.Properties, property{"amn:tensors:sha256", m.Sum.String()})
	c.Card = new(card)
	c.Card.Parameters.Architecture = wire.Clean(m.Architecture, 256)
	if m.License != "" {
		c.Licenses = make([]licensed, 1)
		c.Licenses[0].License.Name = wire.Clean(m.License, 256)
	}
	w.open(c)
	w.tensorsAndTemplates(m)
	w.w.WriteString("]}")
	return w.w.Flush()
}

// templatesOf lists the templates of a text beside a model.
func templatesOf(list []gate.Template) (out []Template) {
	for _, t := range list {
		key := t.Where
		if key == "" {
			key = "chat_template"
		}
		out = append(out, Template{key, t.Bytes, t.SHA256})
	}
	return out
}

// tensorsAndTemplates writes the components inside a model.
func (w *Writer) tensorsAndTemplates(m *Model) {
	for i, t := range m.Tensors {
		if i > 0 {
			w.w.WriteString(",")
		}
		w.put(component{Type: "data", Name: t.Name, Hashes: []sum{{"SHA-256", t.Sum.String()}}, Data: []data{{"dataset"}}, Properties: []property{
			{"amn:tensor:dtype", t.Type}, {"amn:tensor:shape", shape(t.Shape)}, {"amn:tensor:bytes", strconv.FormatInt(t.Bytes, 10)},
		}})
	}
	for i, t := range m.Templates {
		if i > 0 || len(m.Tensors) > 0 {
			w.w.WriteString(",")
		}
		w.put(component{Type: "data", Name: t.Key, Hashes: []sum{{"SHA-256", t.Sum.String()}}, Data: []data{{"configuration"}}, Properties: []property{
			{"amn:template:bytes", strconv.FormatInt(t.Bytes, 10)},
		}})
	}
}

func shape(dims []int64) string { return strings.ReplaceAll(fmt.Sprint(dims), " ", ",") }

// properties returns the verdict as properties.
func properties(v *gate.Verdict) []property {
	list := []property{{"amn:verdict", v.Class().String()}, {"amn:bytes", strconv.FormatInt(v.Size, 10)}}
	if v.Format != "" {
		list = append(list, property{"amn:format", v.Format}, property{"amn:bodies", v.Bodies()})
	}
	if v.Harmless != "" {
		list = append(list, property{"amn:harmless", v.Harmless})
	}
	var rules []string
	for _, r := range slices.Concat(v.Refusals(), v.Ignored) {
		if !slices.Contains(rules, r.Rule) {
			rules = append(rules, r.Rule)
			list = append(list, property{"amn:rule", r.Rule})
		}
	}
	return list
}

// put writes a component, open one whose end is still to be written.
func (w *Writer) put(c component) { w.w.Write(encoded(c)) }

func (w *Writer) open(c component) {
	text := encoded(c)
	w.w.Write(text[:len(text)-1])
	w.w.WriteString(`,"components":[`)
}

// encoded returns the JSON of c, which can always be encoded.
func encoded(c component) []byte {
	p, err := json.Marshal(c)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return p
}

// Close ends the document.
func (w *Writer) Close() error {
	if w == nil || w.w == nil {
		return errNoWriter
	}
	defer func() { w.w = nil }()
	if err := w.w.Flush(); err != nil {
		return err
	}
	id := w.sum.Sum(nil)[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // a UUID of version 8, RFC 9562
	x := hex.EncodeToString(id)
	w.w.WriteString("\n],\"serialNumber\":\"urn:uuid:" + x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:] + "\"}\n")
	return w.w.Flush()
}
