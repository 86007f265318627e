package serve

import (
	"errors"
	"io"
	"os"
	"os/exec"

	"github.com/anamnesis-go/anamnesis/gate/host"
)

// everySteps is how many steps a turn of a child has, if it is set; tests set it.
var everySteps int64

// atPoint is called wherever a child reads, writes, or asks for a turn; tests set it.
var atPoint = func(_ string, _ *os.Process) {}

// runByTurns runs a child, which asks for its turns through two pipes of its own. If it is
// killed while it waits, its turn is waited for all the same: then nothing of it is left.
func runByTurns(cmd *exec.Cmd, turns *host.Turn) error {
	cmd.Stdin = &pointReader{cmd, cmd.Stdin}
	cmd.Stdout = &pointWriter{cmd, cmd.Stdout, "write"}
	if turns == nil {
		return cmd.Run()
	}
	asks, asking, err := os.Pipe()
	if err != nil {
		return err
	}
	defer asks.Close()
	granted, grants, err := os.Pipe()
	if err != nil {
		asking.Close()
		return err
	}
	defer grants.Close()
	cmd.ExtraFiles = append(cmd.ExtraFiles, asking, granted)
	err = cmd.Start()
	asking.Close()
	granted.Close()
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- turns.Grant(asks, &pointWriter{cmd, grants, "turn"}) }()
	err = cmd.Wait()
	if granting := <-ended; err == nil && granting != nil {
		return errors.Join(errors.New("it did not ask for a turn as the protocol requires"), granting)
	}
	return err
}

// A pointReader is what a child reads.
type pointReader struct {
	cmd *exec.Cmd
	r   io.Reader
}

func (p *pointReader) Read(to []byte) (int, error) {
	atPoint("read", p.cmd.Process)
	return p.r.Read(to)
}

// A pointWriter is what a child writes to, or what its turns are granted through.
type pointWriter struct {
	cmd   *exec.Cmd
	w     io.Writer
	class string
}

func (p *pointWriter) Write(text []byte) (int, error) {
	atPoint(p.class, p.cmd.Process)
	return p.w.Write(text)
}
