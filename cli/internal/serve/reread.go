package serve

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
	"time"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/internal/sandbox"
)

// A locked service reads its own files again through a process that it starts before the
// lock. Landlock would allow files by their identity, and a file that was replaced, as
// editors and certbot do, is another one; the folder around it holds more than the service
// needs. The process knows the names from its command line; a message only says when to read.

// Reread reads files whenever a byte comes on standard input.
type Reread struct {
	Files []string `arg:"" help:"Files to read."`

	flags.SandboxFlags `embed:""`
}

func (Reread) Help() string { return "Reads the files of amn serve again." }

func (Reread) Examples() []run.Example { return nil }

// A reading is what a file holds, or why it could not be read.
type reading struct {
	Data  []byte
	Error string
}

// rereadTime bounds the reading of all files.
const rereadTime = 5 * time.Second

// Run implements the command.
func (c *Reread) Run(_ context.Context, s *run.Run) error {
	signal.Ignore(os.Interrupt, syscall.SIGHUP, syscall.SIGTERM) // it ends with the service
	if err := c.Lock(s, sandbox.Needs{Read: []string{"/"}}); err != nil {
		return err
	}
	asked, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended) // the service has ended
		for in := bufio.NewReader(s.In); ; {
			if _, err := in.ReadByte(); err != nil {
				return
			}
			asked <- struct{}{}
		}
	}()
	pending := newPending(c.Files)
	for {
		select {
		case <-ended:
			return nil
		case <-asked:
		}
		answer := make(chan []reading, 1)
		go func() { answer <- pending.readAll() }()
		select {
		case <-ended: // what is being read does not matter any more
			return nil
		case list := <-answer:
			if err := json.NewEncoder(s.Out).Encode(list); err != nil {
				return err
			}
			if err := s.Out.Flush(); err != nil {
				return err
			}
		}
	}
}

// A pendingReads reads files. A file system of a network may keep a reading waiting; it is
// abandoned then, and not begun again before it has ended.
type pendingReads struct {
	files []string
	slow  []chan reading // one per file: of the reading that has not ended, or nil
	read  reader
	wait  time.Duration // for all files
}

func newPending(files []string) *pendingReads {
	return &pendingReads{files, make([]chan reading, len(files)), disk.ReadAgain, rereadTime}
}

// readAll reads all files, or says which of them took too long.
func (p *pendingReads) readAll() []reading {
	list, late := make([]reading, len(p.files)), time.After(p.wait)
	for i, name := range p.files {
		if p.slow[i] != nil {
			select {
			case <-p.slow[i]: // of what the file held then
			default:
				list[i].Error = name + ": an earlier reading of it has not ended"
				continue
			}
		}
		result := make(chan reading, 1)
		p.slow[i] = result
		go func() {
			data, err := p.read(name)
			if err != nil {
				result <- reading{Error: err.Error()}
			} else {
				result <- reading{Data: data}
			}
		}()
		select {
		case list[i] = <-result:
			p.slow[i] = nil
		case <-late:
			list[i].Error = fmt.Sprintf("%s: reading it took more than %v", name, p.wait)
			late = time.After(0)
		}
	}
	return list
}

// A reread is the process that reads.
type reread struct {
	files []string
	in    io.WriteCloser
	pipe  io.Reader
	out   *json.Decoder
	wait  time.Duration // for its answer
	ended error         // why it is not asked any more
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
	return &reread{files: files, in: in, pipe: out, out: json.NewDecoder(out), wait: rereadTime + 2*time.Second}, nil
}

// all asks for what the files hold now. If there is no answer in time, the process is ended.
func (r *reread) all() (reader, error) {
	if r.ended != nil {
		return nil, r.ended
	}
	if f, ok := r.pipe.(*os.File); ok {
		if err := f.SetReadDeadline(time.Now().Add(r.wait)); err != nil {
			return nil, err
		}
	}
	var list []reading
	_, err := r.in.Write([]byte{1})
	if err == nil {
		err = r.out.Decode(&list)
	}
	if err != nil {
		r.close()
		r.ended = fmt.Errorf("the process that reads the files has ended or does not answer: %w; restart the service", err)
		return nil, r.ended
	}
	return func(name string) ([]byte, error) {
		at := slices.Index(r.files, name)
		switch {
		case at < 0 || at >= len(list):
			return nil, fmt.Errorf("%s is not among the files that were named", name)
		case list[at].Error != "":
			return nil, errors.New(list[at].Error)
		}
		return list[at].Data, nil
	}, nil
}

// close ends the process, which sees the end of its input. A locked process may neither send it
// a signal nor wait for it.
func (r *reread) close() { _ = r.in.Close() }
