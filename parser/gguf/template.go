package gguf

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jinja"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// templateKey is part of the key of a chat template: tokenizer.chat_template, followed by a dot and
// a name for additional ones. A program that looks under another key that has it finds one too.
const templateKey = "chat_template"

// isTemplateKey reports whether a key has templateKey in it, in any case.
func isTemplateKey(key string) bool {
	for i := range len(key) - len(templateKey) + 1 {
		if strings.EqualFold(key[i:i+len(templateKey)], templateKey) {
			return true
		}
	}
	return false
}

// maxTemplate is the length above which a chat template is a finding. The longest of 71
// published ones has 17 KB.
const maxTemplate = 256 << 10

// CodeTemplate is the prefix of codes of findings in chat templates, followed by a code
// of package jinja or "size".
const CodeTemplate = "gguf.template-"

// checkTemplates searches chat templates for access to Python objects. Servers render
// templates, some without a sandbox (CVE-2024-34359).
func (d *decoder) checkTemplates() error {
	for i := range d.out.pairs {
		p := &d.out.pairs[i]
		if p.kind != KindString || !isTemplateKey(p.key) {
			continue
		}
		if err := d.checkTemplate(place("key", i, p.key), p); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) checkTemplate(where string, p *pair) error {
	text := p.body.End() - int64(len(p.str))
	size := int64(len(p.str))
	err := d.b.Step(size)
	if err == nil {
		err = d.b.Alloc(size) // for the texts in it, escapes resolved
	}
	if err != nil {
		return d.c.FailAt(where, text, err)
	}
	defer d.b.Drop(size)
	if len(p.str) > maxTemplate {
		if err := d.addFinding(CodeTemplate+"size", tensor.Warning, where, text,
			"the chat template has %d bytes, more than any real one", len(p.str)); err != nil {
			return err
		}
	}
	issues, err := jinja.Check(d.b, p.str)
	if err != nil {
		return d.c.FailAt(where, text, err)
	}
	for _, issue := range issues {
		if err := d.addFinding(CodeTemplate+issue.Code, tensor.Danger, where, text+int64(issue.Off),
			"line %d of the chat template: %s", issue.Line, issue.Text); err != nil {
			return err
		}
	}
	return nil
}
