package cli

import "bufio"

// toPipe makes standard output the target: the model is all that is written there, and
// what is said of it goes to standard error.
func (s *session) toPipe(c *conversion) error {
	switch {
	case s.columns > 0:
		return usage{"-o -: standard output is a terminal, which shows no model: write to a pipe or a file (./- for one of that name)"}
	case isPipeline(c.path) || c.inFolder || c.flags.MaxShardSize != "":
		return usage{"-o -: a folder cannot be written to standard output: name one"}
	case c.page == "-":
		return usage{"-o -: the page and the model do not both go to standard output"}
	}
	if err := s.out.Flush(); err != nil {
		return err
	}
	c.pipe, c.whole, s.out = s.to, true, bufio.NewWriter(s.err)
	return nil
}
