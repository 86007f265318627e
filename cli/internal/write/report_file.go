package write

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
)

// A ReportFlag is --report, which may name a file for what was measured: a page, or
// JSON. Nothing else that follows it can have such a name: a model's index ends with
// .index.json.
type ReportFlag struct {
	on   bool
	page string
}

// IsBool implements [kong.BoolMapperValue]: the value may be left out.
func (*ReportFlag) IsBool() bool { return true }

// Decode implements [kong.MapperValue].
func (r *ReportFlag) Decode(ctx *kong.DecodeContext) error {
	text := "true"
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		text = ctx.Scan.Pop().String()
	}
	on, file := text == "true", IsPage(text) || IsJSON(text)
	if !on && !file {
		return errors.New("give a name that ends with .html or .json")
	}
	if r.on = true; file {
		r.page = text
	}
	return nil
}

func IsPage(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".html" || ext == ".htm"
}

func IsJSON(name string) bool {
	name = strings.ToLower(name)
	return filepath.Ext(name) == ".json" && !strings.HasSuffix(name, ".index.json")
}

// openReport begins the file of --report, nil for none, which must not be an input.
func openReport(path string, force bool, inputs ...string) (*disk.Atomic, error) {
	if path == "" {
		return nil, nil
	}
	o := disk.Output{Flag: "--report", Path: path, Kind: "page"}
	if IsJSON(path) {
		o.Kind = "json"
	}
	if err := disk.Check([]disk.Output{o}, inputs, nil, force); err != nil {
		return nil, err
	}
	return disk.Create(o, force, disk.GuardOf(inputs))
}

// drawPage writes the file of what was lost.
func (c *conversion) drawPage(f *disk.Atomic) error {
	if f == nil || c.plan.Quantized == nil {
		return nil
	}
	if IsJSON(c.page) {
		writeWrittenJSON(f.W, c)
	} else {
		writeQuantizedPage(f.W, c)
	}
	return f.Commit()
}
