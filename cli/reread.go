package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"

	"github.com/anamnesis-go/anamnesis/internal/sandbox"
)

// A locked service reads its own files again through a process that it starts before the
// lock. Landlock would allow files by their identity, and a file that was replaced, as
// editors and certbot do, is another one; the folder around it holds more than the service
// needs. The process knows the names from its command line and is told nothing but when.

// rereadCmd reads files whenever a byte comes on standard input.
type rereadCmd struct {
	Files []string `arg:"" help:"Files to read."`

	sandboxFlags `embed:""`
}

func (rereadCmd) Help() string { return "Reads the files of amn serve again." }

func (rereadCmd) examples() []example { return nil }

// A reading is what a file holds, or why it could not be read.
type reading struct {
	Data  []byte
	Error string
}

// maxReread bounds one file.
const maxReread = 8 << 20

// Run implements the command.
func (c *rereadCmd) Run(_ context.Context, s *session) error {
	signal.Ignore(os.Interrupt, syscall.SIGHUP, syscall.SIGTERM) // it ends with the service
	if err := c.lock(s, sandbox.Needs{Read: []string{"/"}}); err != nil {
		return err
	}
	for in := bufio.NewReader(s.in); ; {
		if _, err := in.ReadByte(); err != nil {
			return nil
		}
		list := make([]reading, len(c.Files))
		for i, name := range c.Files {
			data, err := readBounded(name, maxReread)
			switch {
			case err != nil:
				list[i].Error = err.Error()
			case len(data) > maxReread:
				list[i].Error = fmt.Sprintf("%s: more than %d bytes", name, maxReread)
			default:
				list[i].Data = data
			}
		}
		if err := json.NewEncoder(s.out).Encode(list); err != nil {
			return err
		}
		if err := s.out.Flush(); err != nil {
			return err
		}
	}
}

// A reread is the process that reads.
type reread struct {
	files []string
	in    io.WriteCloser
	out   *json.Decoder
}

func newReread(files []string, lock string) (*reread, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, append([]string{"reread", "--quiet", "--sandbox", lock, "--"}, files...)...)
	cmd.Env = []string{"GOMAXPROCS=1", "GOTRACEBACK=none"}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &reread{files, in, json.NewDecoder(out)}, nil
}

// file returns what one of the files holds now.
func (r *reread) file(name string) ([]byte, error) {
	if _, err := r.in.Write([]byte{1}); err != nil {
		return nil, fmt.Errorf("the process that reads %s has ended: %w", name, err)
	}
	var list []reading
	if err := r.out.Decode(&list); err != nil {
		return nil, fmt.Errorf("the process that reads %s has ended: %w", name, err)
	}
	at := slices.Index(r.files, name)
	switch {
	case at < 0 || at >= len(list):
		return nil, fmt.Errorf("%s is not among the files that were named", name)
	case list[at].Error != "":
		return nil, errors.New(list[at].Error)
	}
	return list[at].Data, nil
}

// close ends the process. A locked process may not wait for it.
func (r *reread) close() { _ = r.in.Close() }
