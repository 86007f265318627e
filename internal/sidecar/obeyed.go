package sidecar

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// obeyed judges the keys of YAML that libraries obey without asking anybody.
func (l *lines) obeyed(most int) error {
	if err := l.names(l.plain, most, "trust_remote_code", func(k *key) error {
		switch strings.ToLower(behind(k.rest)) {
		case "false", "no", "off", "n", "0", "null", "~":
			return nil
		}
		return l.trusts(k.at)
	}); err != nil {
		return err
	}
	if l.file == "infer_cfg.yml" || l.file == "infer_cfg.yaml" {
		if err := l.names(l.plain, most, "type", func(k *key) error {
			if text, ok := k.text(); ok && text != "" && strings.Trim(text, "\"'") != "" && (strings.Contains(text, ".") || !isNames(strings.Trim(text, "\"'"))) {
				return l.once(codeExpression, tensor.Danger, "type", k.at, "PaddleDetection evaluates "+wire.Quote(text))
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return l.names(l.plain, most, "remote_code", func(k *key) error {
		if behind(k.rest) == "" {
			return nil
		}
		return l.once(codeImport, tensor.Danger, "remote_code", k.at, "FunASR imports "+wire.Quote(behind(k.rest))+" if trust_remote_code is set beside it")
	})
}
