package cli

import (
	"context"
	"path/filepath"
)

// inspectCmd sums a file up.
type inspectCmd struct {
	fileArgs  `embed:""`
	planFlags `embed:""`
	wireFlags `embed:""`

	sandboxFlags `embed:""`

	Verify bool `help:"Read the bodies too: checksums, real lengths, text."`
	Usage  bool `help:"Print what the file took of each limit."`
	HTML   word `name:"html" placeholder:"FILE" help:"Write a page for a browser instead, with the verdict of a scan: one file that asks nothing of a network."`
}

func (inspectCmd) Help() string {
	return `Reads the header and proves that every tensor lies inside the file. No tensor is
read unless --verify or --limits asks for it, but for the few that say how quantized
weights are stored; their size once decoded is given for the type of --to. The exit
code is the class of the worst file: 0 ok, 1 I/O or internal, 2 usage, 3 malformed,
4 truncated, 5 unsupported, 6 limit, 7 forbidden.`
}

func (inspectCmd) examples() []example {
	return []example{
		{"amn inspect model.safetensors", "What is in it, from its header alone."},
		{"amn inspect --verify weights.npz", "The same, and every checksum."},
		{"amn inspect --limits strict --json upload.npz", "A verdict for a program; exit 0 is accepted."},
		{"amn inspect --to f32 tiny.gguf", "What it stores, and its size in full precision."},
		{"cat weights.npz | amn inspect -", "From a pipe."},
		{"amn inspect -r models", "Every model in a folder and below."},
		{"amn inspect --html report.html model.safetensors", "As a page, to look at or to pass on."},
	}
}

// Run implements the command.
func (c *inspectCmd) Run(ctx context.Context, s *session) error {
	needs := readsOf(c.Paths, true)
	if c.HTML != "" {
		needs.Write = append(needs.Write, filepath.Dir(string(c.HTML)))
	}
	if err := c.lock(s, needs); err != nil {
		return err
	}
	if c.HTML != "" {
		return s.writePage(ctx, c)
	}
	if c.Wire {
		return s.dumpFiles(ctx, c.Paths)
	}
	return s.each(ctx, &c.fileArgs, reportOptions{verify: c.Verify, usage: c.Usage, quant: c.options()}, func(r *report) error {
		if s.json {
			return s.printJSON("amn.inspect/1", r, tensorsOf(r))
		}
		return s.printInspect(r)
	})
}
