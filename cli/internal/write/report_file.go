package write

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
)

// A ReportFlag is --report. Its value is optional: a file for the measurements, a page or JSON. A
// word that follows --report is its value if it has such an extension. A model's index, which ends
// with .index.json, is not.
type ReportFlag struct {
	on   bool
	page string
}

// Set sets the flag: to "true", or to the name of a file.
func (r *ReportFlag) Set(text string) error {
	on, file := text == "true", IsReport(text)
	if !on && !file {
		return errors.New("give a name that ends with .html or .json")
	}
	if r.on = true; file {
		r.page = text
	}
	return nil
}

// IsReport reports whether a word that follows --report is its file.
func IsReport(word string) bool { return isPage(word) || isJSON(word) }

func isPage(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".html" || ext == ".htm"
}

func isJSON(name string) bool {
	name = strings.ToLower(name)
	return filepath.Ext(name) == ".json" && !strings.HasSuffix(name, ".index.json")
}

// openReport begins the file of --report, nil for none, which must not be an input.
func openReport(path string, force bool, inputs ...string) (*disk.Atomic, error) {
	if path == "" {
		return nil, nil
	}
	o := disk.Output{Flag: "--report", Path: path, Kind: "page"}
	if isJSON(path) {
		o.Kind = "json"
	}
	if err := disk.Check([]disk.Output{o}, inputs, nil, force); err != nil {
		return nil, err
	}
	return disk.Create(o, force, disk.GuardOf(inputs))
}

// drawPage writes the file of --report.
func (c *conversion) drawPage(f *disk.Atomic) error {
	if f == nil || c.plan.Quantized == nil {
		return nil
	}
	if isJSON(c.page) {
		writeWrittenJSON(f.W, c)
	} else {
		writeQuantizedPage(f.W, c)
	}
	return f.Commit()
}
