package disk

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"slices"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/output"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// An Atomic is a file that is written under a temporary name, which Commit replaces by its own.
// All methods accept a nil file, to which nothing is written.
type Atomic struct {
	f    *output.File
	W    *bufio.Writer
	Path string
}

// Create begins an output. The caller calls Commit once everything is written, and
// Discard in any case. guard lists folders that may be a stranger's.
func Create(o Output, force bool, guard []string) (*Atomic, error) {
	if o.Path == "-" {
		return nil, fault.Usage(o.Flag + " -: " + o.stdout())
	}
	f, err := output.Create(o.Path, output.Options{Force: force, Guard: guard, Hold: true, Ours: func(_ string, head []byte) bool { return o.wrote(head) }})
	if err != nil {
		return nil, o.refused(err)
	}
	return &Atomic{f: f, W: bufio.NewWriter(f), Path: o.Path}, nil
}

// Commit gives the file its name.
func (a *Atomic) Commit() error {
	if a == nil {
		return nil
	}
	if err := a.W.Flush(); err != nil {
		return err
	}
	return Output{Path: a.Path}.refused(a.f.Commit())
}

// Discard removes the temporary file, unless it was committed.
func (a *Atomic) Discard() {
	if a != nil {
		a.f.Discard()
	}
}

// Folders returns the folder of the file.
func (a *Atomic) Folders() []string {
	if a == nil {
		return nil
	}
	return []string{a.f.Place().Folder()}
}

// refused turns a refusal of the output into a usage error that names the flag.
func (o Output) refused(err error) error {
	r, ok := errors.AsType[*output.Refusal](err)
	switch {
	case !ok:
		return err
	case r.Forceable:
		r.Why += "; --force replaces it"
	case r.Path == "/dev/stdout":
		r.Why = o.stdout()
	}
	if o.Flag != "" {
		return fault.Usage(fmt.Sprintf("%s %s: %s", o.Flag, term.Path(r.Path), r.Why))
	}
	return fault.Usage(fmt.Sprintf("target %s: %s", wire.Quote(r.Path), r.Why))
}

// stdout returns what to do instead of writing to standard output.
func (o Output) stdout() string {
	switch {
	case o.Kind == "json":
		return "--json prints it to standard output; here, name a file"
	case o.Kind == "manifest":
		return "--json prints it to standard output; here, name a file"
	case o.format():
		return "--format " + o.Kind + " prints it to standard output; here, name a file"
	}
	return "it is not written to standard output: name a file"
}

// format reports whether --format prints this kind of output.
func (o Output) format() bool {
	return slices.Contains([]string{"sarif", "junit", "html", "markdown", "github", "gitlab"}, o.Kind)
}

// beginnings are the first bytes of each kind of output; --force replaces a file only if it
// begins like this, or is empty.
var beginnings = map[string][]string{
	"json":     {`{"schema":"amn.`},
	"sarif":    {`{"$schema":"https://json.schemastore.org/sarif-2.1.0.json"`},
	"junit":    {xml.Header + `<testsuites name="gate">`},
	"html":     {"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"generator\" content=\"amn\"><title>What a scan found</title>"},
	"markdown": {"| file | verdict | rule | what |\n"},
	"github":   {"::error file=", "::warning file=", "::notice file="},
	"gitlab":   {"[\n{\"description\":", "[\n]"},
	"baseline": {`{"schema":"amn.baseline/`},
	"bom":      {`{"$schema":"http://cyclonedx.org/schema/bom-1.`},
	"attest":   {`{"payloadType":"application/vnd.in-toto+json"`},
	"manifest": {`{"schema":"amn.digest/`},
}

// pageMarks are in the head of every page.
var pageMarks = []string{"<title>anamnesis</title>", `<meta name="generator" content="amn">`}

// wrote reports whether a file that begins with head could be an earlier output of this kind.
func (o Output) wrote(head []byte) bool {
	if o.Kind == "page" {
		return bytes.HasPrefix(head, []byte("<!DOCTYPE html>")) &&
			slices.ContainsFunc(pageMarks, func(mark string) bool { return bytes.Contains(head, []byte(mark)) })
	}
	return slices.ContainsFunc(beginnings[o.Kind], func(b string) bool { return bytes.HasPrefix(head, []byte(b)) })
}
