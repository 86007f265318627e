package write

import (
	"bufio"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
)

// toPipe makes standard output the target. Everything else that is printed goes to standard
// error.
func toPipe(s *run.Run, c *conversion) error {
	switch {
	case s.Out.Columns > 0:
		return fault.Usage("-o -: standard output is a terminal: write to a pipe or a file (./- is a file of that name)")
	case run.IsPipeline(c.path) || c.inFolder || c.flags.MaxShardSize != "":
		return fault.Usage("-o -: a folder cannot be written to standard output: name one")
	case c.page == "-":
		return fault.Usage("-o -: the page and the model cannot both go to standard output")
	}
	if err := s.Out.Flush(); err != nil {
		return err
	}
	c.pipe, c.whole, s.Out.Writer = s.To, true, bufio.NewWriter(s.Err)
	return nil
}
