package write

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/report"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/gguf/edit"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
)

// Edit changes metadata and names, and no tensor data.
type Edit struct {
	partFlags `embed:""`

	Set     []string `placeholder:"KEY=VALUE" help:"Set a key of the metadata: a text in safetensors; in GGUF with the type that llama.cpp expects, or a given one: KEY:u32=VALUE. Repeatable."`
	Delete  []string `placeholder:"KEY" help:"Delete a key of the metadata, which must exist. Repeatable."`
	Rename  []string `placeholder:"FROM=TO" help:"Rename tensors. Each * in FROM matches any text, as short as possible, and the * in TO stand for the same texts in order. The first matching pattern is used; --dry-run prints both names. Repeatable."`
	InPlace bool     `help:"Replace the file itself once the new one is complete."`
}

func (Edit) Help() string {
	return `Writes a safetensors file or folder, or a GGUF file, with changed metadata or renamed tensors.
The data of tensors is copied byte for byte, so their digests (amn hash) stay the same. A
safetensors file gets the order of the reference writer. A GGUF file becomes version 3, little
endian, with the default alignment. With --in-place, too, the path always holds either the whole
old file or the whole new one.`
}

func (Edit) Examples() []run.Example {
	return []run.Example{
		{Command: "amn edit --set general.name=mine --in-place tiny.gguf", What: "Another name."},
		{Command: "amn edit --set llama.context_length:u32=64 --delete tokenizer.ggml.pre -o other.gguf tiny.gguf", What: "A number, and a key less."},
		{Command: "amn edit --rename 'layers.*=blocks.*' --dry-run model.safetensors", What: "What would be renamed?"},
	}
}

// Validate checks the flags.
func (c *Edit) Validate() error {
	switch {
	case c.Path == "": // which kong reports
		return nil
	case len(c.Set)+len(c.Delete)+len(c.Rename) == 0:
		return errors.New("nothing to change: give --set, --delete or --rename")
	case c.InPlace && c.Output != "":
		return errors.New("-o and --in-place cannot be combined")
	}
	names := nameFlags{Rename: c.Rename}
	if _, _, err := names.names(); err != nil {
		return err
	}
	return c.writeFlags("").Validate()
}

// edit returns the changes of metadata that the flags ask for.
func (c *Edit) edit(b *limits.Budget, format string) (*convert.Edit, error) {
	e := &convert.Edit{}
	for _, pair := range c.Set {
		key, value, ok := strings.Cut(pair, "=")
		set := convert.Entry{Key: key, Value: value}
		if format == gguf.Format {
			typed, err := edit.Pair(b, pair)
			if err != nil {
				return nil, fmt.Errorf("--set: %w", err)
			}
			set = convert.Entry(typed)
		} else if !ok {
			return nil, fault.Usage("--set: " + wire.Quote(pair) + " is not KEY=VALUE")
		}
		e.Set = append(e.Set, set)
	}
	e.Delete = append(e.Delete, c.Delete...)
	return e, e.Check(format)
}

// Run implements the command.
func (c *Edit) Run(ctx context.Context, s *run.Run) error {
	flags := c.writeFlags("")
	if c.InPlace && c.Path == "-" {
		return fault.Usage("--in-place: standard input cannot be replaced")
	}
	if c.InPlace {
		flags.Output, flags.Force = flags.Path, true
	}
	return convertModel(ctx, s, &conversion{
		schema: "amn.convert/1", verb: "editing", flags: flags, opts: convert.Options{AsIs: true, InPlace: c.InPlace},
		prepare: c.prepare,
		target: func(w *conversionState) string {
			switch {
			case w.folder:
				return derivedPath(w.path, "-edited", "")
			case w.model.Format() == gguf.Format:
				return derivedPath(w.path, "-edited", ".gguf")
			default:
				return derivedPath(w.path, "-edited", ".safetensors")
			}
		},
	})
}

func (c *Edit) prepare(b *limits.Budget, o *conversion) error {
	parts, several := o.model.(interface{ FileNames() []string })
	several = several && len(parts.FileNames()) > 1
	switch format := o.model.Format(); {
	case format != gguf.Format && format != safetensors.Format:
		return fault.Usage("only GGUF and safetensors can be edited; amn convert writes them")
	case format == gguf.Format && several:
		return fault.Usage("the model has several files: make one file of them with amn join")
	case format == gguf.Format:
		o.opts.Sink = convert.GGUF{RawNames: true}
	case c.InPlace && (several || !o.opts.Alone):
		return fault.Usage("--in-place edits one file, not a folder: name the file, or write another folder with -o")
	}
	e, err := c.edit(b, o.model.Format())
	if err != nil {
		return err
	}
	if len(c.Set)+len(c.Delete) > 0 {
		o.edited = e
		o.opts.Meta = func(meta []convert.Entry) ([]convert.Entry, error) { return e.Apply(b, meta) }
	}
	files := partSizes(o.model)
	names := nameFlags{Rename: c.Rename}
	if err := names.apply(b, o); err != nil {
		return err
	}
	if o.names != nil && !changesNames(o.names) {
		return fault.Usage("--rename: no tensor has such a name")
	}
	keepFileSizes(o, files)
	return nil
}

// changesNames reports whether a tensor gets another name.
func changesNames(m *convert.Renamed) bool {
	for from, to := range m.Renames() {
		if from != to {
			return true
		}
	}
	return false
}

// printEdited prints the changed keys.
func printEdited(s *run.Run, e *convert.Edit) {
	if e == nil {
		return
	}
	for _, set := range e.Set {
		s.Out.Fact("", "Set", term.Name(set.Key)+" "+report.KindText(set.Value)+" "+report.ElementText(set.Value, wire.MaxQuoted))
	}
	for _, key := range e.Delete {
		s.Out.Fact("", "Deleted", term.Name(key))
	}
}

func jsonEdited(o *jsonout.Object, e *convert.Edit) {
	if e == nil {
		return
	}
	keys := make([]string, 0, len(e.Set))
	for _, set := range e.Set {
		keys = append(keys, set.Key)
	}
	jsonNames(o, "set", keys)
	jsonNames(o, "deleted", e.Delete)
}

// jsonNames writes a list of names.
func jsonNames(o *jsonout.Object, field string, list []string) {
	o.List(field, func(add func(func(*jsonout.Object))) {
		for _, name := range list {
			add(func(o *jsonout.Object) { o.Text("name", name) })
		}
	})
}
