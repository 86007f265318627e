package cli

import (
	"bufio"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
)

// toPipe makes standard output the target. Everything else that is printed goes to standard
// error.
func (s *session) toPipe(c *conversion) error {
	switch {
	case s.out.Columns > 0:
		return fault.Usage("-o -: standard output is a terminal: write to a pipe or a file (./- is a file of that name)")
	case isPipeline(c.path) || c.inFolder || c.flags.MaxShardSize != "":
		return fault.Usage("-o -: a folder cannot be written to standard output: name one")
	case c.page == "-":
		return fault.Usage("-o -: the page and the model cannot both go to standard output")
	}
	if err := s.out.Flush(); err != nil {
		return err
	}
	c.pipe, c.whole, s.out.Writer = s.to, true, bufio.NewWriter(s.err)
	return nil
}
