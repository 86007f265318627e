package sidecar

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/internal/jinja"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// CodeTemplate is the prefix of codes of findings in chat templates, followed by a code
// of package jinja or "size".
const CodeTemplate = "template."

// jinja searches a text that is one template.
func (r *reader) jinja() error {
	if r.t.Size > maxTemplate {
		return longTemplate(r.t.Size)
	}
	return r.whole(func(text string) error { return r.template("", text, 0, true) })
}

// whole calls visit with all of a text of at most maxTemplate.
func (r *reader) whole(visit func(text string) error) error {
	p, err := limits.Make[byte](r.b, int(r.t.Size))
	if err != nil {
		return err
	}
	defer r.b.Drop(r.t.Size)
	if err := wire.ReadInPieces(r.b, r.t.R, p, 0); err != nil {
		return err
	}
	return visit(string(p))
}

func longTemplate(n int64) error {
	return wire.ErrUnsupported.WithRule("sidecar.template-size").Errorf("a chat template of %d bytes, more than %d", n, maxTemplate)
}

// template searches one template. If plain is set its bytes are those of the file, else
// those of a string with escapes at off.
func (r *reader) template(where, text string, off int64, plain bool) error {
	size := int64(len(text))
	if err := r.b.Step(size); err != nil {
		return err
	}
	if err := r.b.Hold(2 * size); err != nil { // for it and the texts in it, escapes resolved
		return err
	}
	defer r.b.Drop(2 * size)
	if r.t.Template != nil {
		r.t.Template(where, text)
	}
	if len(text) > largeTemplate {
		if err := r.report(CodeTemplate+"size", tensor.Warning, where, off, fmt.Sprintf("the chat template has %d bytes, more than any real one", size)); err != nil {
			return err
		}
	}
	issues, err := jinja.Check(r.b, text)
	if err != nil {
		return err
	}
	for _, i := range issues {
		at := off
		if plain {
			at += int64(i.Off)
		}
		text := fmt.Sprintf("line %d of the chat template: %s", i.Line, i.Text)
		if err := r.report(CodeTemplate+i.Code, tensor.Danger, where, at, text); err != nil {
			return err
		}
	}
	return nil
}
