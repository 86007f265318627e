package sidecar

import (
	"bufio"
	"io"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// yaml looks through a YAML text by lines. One that is longer than the buffer is
// looked at in pieces that overlap.
func (r *reader) yaml() error {
	tail := ""
	for {
		if err := r.steps.Step(); err != nil {
			return err
		}
		if err := r.b.Step(bufLen / 64); err != nil {
			return err
		}
		p, err := r.in.ReadSlice('\n')
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return err
		}
		at := r.off - int64(len(tail))
		if err := r.line(tail+string(p), at); err != nil {
			return err
		}
		r.off += int64(len(p))
		if tail = ""; err == bufio.ErrBufferFull {
			tail = string(p[len(p)-maxText:])
		}
		if err == io.EOF {
			return nil
		}
	}
}

// hidden are ways to write an underscore in a quoted name.
var hidden = []string{`\x5f`, `\u005f`, `\U0000005f`, `\x5F`, `\u005F`, `\U0000005F`}

// line looks at one line.
func (r *reader) line(line string, at int64) error {
	trimmed := strings.TrimSpace(line)
	if strings.HasPrefix(trimmed, "#") {
		return nil
	}
	for _, h := range hidden {
		if strings.Contains(line, h) {
			return r.report("sidecar.target", tensor.Danger, "", at, "an underscore is written as "+h+": a name such as _target_ is hidden")
		}
	}
	if strings.Contains(line, "!!python") || strings.Contains(line, "yaml.org,2002:python") || strings.Contains(line, "!!%") || strings.HasPrefix(trimmed, "%TAG") {
		if err := r.report("sidecar.yaml-tag", tensor.Danger, "", at, "a tag lets YAML construct a Python object: "+wire.Quote(trimmed)); err != nil {
			return err
		}
	}
	for rest, off := line, at; ; {
		i := strings.Index(rest, "_target_")
		if i < 0 {
			break
		}
		value := rest[i+len("_target_"):]
		off += int64(i)
		rest = value
		value = strings.TrimLeft(strings.TrimLeft(value, `"'`), " \t")
		if v, ok := strings.CutPrefix(value, ":"); ok {
			v = strings.Trim(strings.TrimSpace(v), `"'`)
			if end := strings.IndexAny(v, ",} \t#\"'"); end >= 0 {
				v = v[:end]
			}
			if err := r.target(v, off); err != nil {
				return err
			}
		}
		off += int64(len("_target_"))
	}
	return nil
}
