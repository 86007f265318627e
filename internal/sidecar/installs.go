package sidecar

import (
	"bytes"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// installs judges a list of what is installed: MLflow and BentoML
// have put it into a command of a shell.
func (r *reader) installs() error {
	return r.small(func(p []byte) error {
		for line := range bytes.Lines(p) {
			line, _, _ := bytes.Cut(line, []byte("#"))
			text := strings.TrimSpace(string(line))
			marker := strings.IndexByte(text, ';') // a condition of a requirement, as pip writes it
			if marker > 0 && r.file != "python_env.yaml" && isCondition(text[marker+1:]) {
				text = text[:marker]
			}
			if strings.Contains(text, "index-url") || isElsewhere(text, strings.HasSuffix(r.file, ".txt")) {
				if err := r.report(codeHandler, tensor.Danger, "", 0, "pip takes packages from elsewhere because of "+wire.Quote(text)); err != nil {
					return err
				}
			}
			if strings.ContainsAny(text, shellMarks) {
				if err := r.reportCase(shellOf[r.file], codeHandler, "", 0, "what installs this gave "+wire.Quote(text)+" to a shell, in some versions"); err != nil {
					return err
				}
			}
			if key, value := pair(text); strings.HasPrefix(r.file, "bento") && readsBeyond(key, value) {
				if err := r.report(codeHandler, tensor.Danger, key, 0, "BentoML before 1.4.34 puts the file "+wire.Quote(value)+" of the machine that builds into what it builds"); err != nil {
					return err
				}
			}
			for _, key := range [...]string{"setup_script", "dockerfile_template", "system_packages", "base_image"} {
				if strings.HasPrefix(r.file, "bento") && strings.Contains(text, key) && !strings.HasSuffix(text, "null") && !strings.HasSuffix(text, "[]") {
					if err := r.reportCase(imageOf[key], codeHandler, key, 0, "BentoML builds an image by "+wire.Quote(text)+", some versions in a shell"); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

// readsBeyond reports whether a member of what BentoML builds is a file outside of its folder.
func readsBeyond(key, value string) bool {
	switch key {
	case "description":
		return strings.HasPrefix(value, "file:")
	case "environment_yml", "requirements_txt":
		return leadsOut(value)
	}
	return false
}

// shellOf and imageOf are the cases of findings about what goes to a shell in some versions of a library
// alone, by the text or its key.
var (
	shellOf = map[string]string{"python_env.yaml": "mlflow-shell"}
	imageOf = map[string]string{"system_packages": "bentoml-packages", "base_image": "bentoml-image"}
)

// pipOptions are the options of a list for pip that lead nowhere else.
var pipOptions = setOf("hash pre prefer-binary require-hashes no-binary only-binary r requirement c constraint")

// isElsewhere reports whether a line of a list makes pip take packages from where it would not
// by itself: by an option, which may be shortened, or by an address.
func isElsewhere(text string, list bool) bool {
	low := strings.ToLower(text)
	if !list { // of YAML, in which a requirement is an element
		low = strings.Trim(strings.TrimLeft(strings.TrimPrefix(low, "- "), " \t"), "\"'")
	}
	for _, by := range [...]string{"git+", "hg+", "svn+", "bzr+", "@http", "@ http", "@file", "@ file", "file:/"} {
		if strings.Contains(low, by) {
			return true
		}
	}
	if strings.Contains(low, "://") && (list || strings.Contains(low, "@")) || strings.HasSuffix(text, `\`) && !strings.Contains(text, "==") {
		return true
	}
	if len(low) < 2 || low[0] != '-' || !list && low[1] == ' ' || !list && strings.HasPrefix(low, "---") {
		return false
	}
	option, value, _ := strings.Cut(low, " ")
	if by, of, ok := strings.Cut(option, "="); ok {
		option, value = by, of
	}
	name := strings.TrimPrefix(strings.TrimPrefix(option, "-"), "-")
	long := len(option) == len(name)+2
	return !pipOptions()[name] || long != (len(name) > 1) || leadsOut(strings.TrimSpace(value))
}

// isCondition reports whether a text is a condition such as python_version < "3.9".
func isCondition(text string) bool {
	text = strings.TrimSpace(text)
	for _, name := range [...]string{"python_version", "python_full_version", "sys_platform", "platform_system", "platform_machine", "extra", "os_name", "implementation_name"} {
		if strings.HasPrefix(text, name) {
			return !strings.ContainsAny(text, ";|&`$()")
		}
	}
	return false
}
