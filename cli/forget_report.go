package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
)

// A reportFlag is --report, which may name a file for what was measured: a page, or
// JSON. Nothing else that follows it can have such a name: a model's index ends with
// .index.json.
type reportFlag struct {
	on   bool
	page string
}

// IsBool implements [kong.BoolMapperValue]: the value may be left out.
func (*reportFlag) IsBool() bool { return true }

// Decode implements [kong.MapperValue].
func (r *reportFlag) Decode(ctx *kong.DecodeContext) error {
	text := "true"
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		text = ctx.Scan.Pop().String()
	}
	on, file := text == "true", isPage(text) || isJSON(text)
	if !on && !file {
		return errors.New("give a name that ends with .html or .json")
	}
	if r.on = true; file {
		r.page = text
	}
	return nil
}

func isPage(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".html" || ext == ".htm"
}

func isJSON(name string) bool {
	name = strings.ToLower(name)
	return filepath.Ext(name) == ".json" && !strings.HasSuffix(name, ".index.json")
}

// checkReplace rejects a file that exists, unless force is set.
func checkReplace(path string, force bool) error {
	if path == "" || force {
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return usage{showPath(path) + " exists: --force replaces it"}
	}
	return nil
}

// drawPage writes the file of what was lost.
func (c *conversion) drawPage() error {
	if c.page == "" || c.plan.Quantized == nil {
		return nil
	}
	f, err := createAtomic(c.page)
	if err != nil {
		return err
	}
	defer f.discard()
	if isJSON(c.page) {
		writeWrittenJSON(f.w, c)
	} else {
		writeQuantizedPage(f.w, c)
	}
	return f.commit()
}
