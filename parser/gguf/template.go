package gguf

import (
	"fmt"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jinja"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// The keys of chat templates: the model's own, and named ones after a dot.
const templateKey = "tokenizer.chat_template"

// MaxTemplate is how long an honest chat template may be before a finding says
// so: the longest seen in a published model has 30 KiB.
const MaxTemplate = 256 << 10

// templates looks through the chat templates for what reaches outside them.
// Servers render these, some without a sandbox (CVE-2024-34359).
func (d *decoder) templates() error {
	for i := range d.out.pairs {
		p := &d.out.pairs[i]
		if p.kind != KindString || p.key != templateKey && !strings.HasPrefix(p.key, templateKey+".") {
			continue
		}
		if err := d.template(i, p); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) template(i int, p *pair) error {
	where := place("key", i, p.key)
	text := p.body.End() - int64(len(p.str))
	if len(p.str) > MaxTemplate {
		if err := d.out.Found.Add(d.b, Format, tensor.Finding{
			Code: "gguf.template-size", Severity: tensor.Warning, Where: where, Off: p.body.Off,
			Text: fmt.Sprintf("the chat template has %d bytes", len(p.str)),
		}); err != nil {
			return err
		}
	}
	if err := d.b.Step(int64(len(p.str))); err != nil {
		return d.c.FailAt(where, p.body.Off, err)
	}
	for _, issue := range jinja.Check(p.str) {
		if err := d.out.Found.Add(d.b, Format, tensor.Finding{
			Code: "gguf.template-" + issue.Code, Severity: severityOf(issue.Code), Where: where, Off: text + int64(issue.Off),
			Text: "chat template: " + issue.Text,
		}); err != nil {
			return err
		}
	}
	return nil
}

// severityOf is danger for what no template does for good reason.
func severityOf(code string) tensor.Severity {
	switch code {
	case jinja.CodeMethod, jinja.CodeSyntax, jinja.CodeGlobal:
		return tensor.Warning
	default:
		return tensor.Danger
	}
}
