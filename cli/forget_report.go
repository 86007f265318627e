package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
)

// A reportFlag is --report, which may name a page: --report=FILE.html.
type reportFlag struct {
	on   bool
	page word
}

// IsBool implements kong.BoolMapperValue.
func (reportFlag) IsBool() bool { return true }

// Decode implements kong.MapperValue.
func (r *reportFlag) Decode(ctx *kong.DecodeContext) error {
	r.on = true
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		return nil
	}
	name, _ := ctx.Scan.Pop().Value.(string)
	if ext := strings.ToLower(filepath.Ext(name)); ext != ".html" && ext != ".htm" {
		return errors.New("--report=FILE: give a name that ends with .html")
	}
	r.page = word(name)
	return nil
}

// admitPage refuses to replace a page that is there, before anything is written.
func (c *conversion) admitPage() error { return admitPage(c.page, c.flags.Force) }

func admitPage(path string, force bool) error {
	if path == "" || force {
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return usage{showPath(path) + " is there: --force replaces it"}
	}
	return nil
}

// drawPage writes the page of what was lost.
func (c *conversion) drawPage() error {
	if c.page == "" || c.plan.Quantized == nil {
		return nil
	}
	m, err := newManifest(c.page)
	if err != nil {
		return err
	}
	defer m.close()
	writeQuantizedPage(m.w, c)
	return m.done()
}
