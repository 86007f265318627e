package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/internal/sandbox"
	"github.com/anamnesis-go/anamnesis/internal/spool"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// JudgeOne judges one file, or one folder. amn serve --isolate starts a process with it for each file.
type JudgeOne struct {
	flags.SandboxFlags `embed:""`
}

func (JudgeOne) Help() string { return "Judges one file that amn serve passes on." }

func (JudgeOne) Examples() []run.Example { return nil }

// A judgeRequest is the first line of a child's standard input. Without a descriptor, the
// file follows. A folder has its files one after another in the descriptor.
type judgeRequest struct {
	Name, Promised string
	Beside, Field  bool
	Size           int64
	Policy         gate.Policy
	Today, Version string
	Descriptor     bool // the file is open as descriptor 3
	Turns          int  // the first of two descriptors, through which it asks for its turns and gets them; or 0
	Every          int64
	Files          []judgeFile
}

// A judgeFile is a file of a folder. It has no digest: the child computes it.
type judgeFile struct {
	Name      string
	Off, Size int64
}

// maxJudgeRequest bounds the length of the line.
const maxJudgeRequest = 8 << 20

// Run implements the command.
func (c *JudgeOne) Run(ctx context.Context, s *run.Run) error {
	in := bufio.NewReaderSize(s.In, maxJudgeRequest)
	line, err := in.ReadSlice('\n')
	if err != nil {
		return fault.Usage("this is for amn serve --isolate")
	}
	var h judgeRequest
	var text json.RawMessage
	if err := json.Unmarshal(line, &struct {
		*judgeRequest

		Policy *json.RawMessage
	}{&h, &text}); err != nil {
		return fault.Usage("this is for amn serve --isolate")
	}
	if h.Policy, err = gate.ParsePolicy(text); err != nil {
		return err
	}
	var r io.ReaderAt
	if err := sandbox.Limit(2*h.Policy.Limits.Filled().MaxTotalBytes+childMemory, h.Policy.Limits.Filled().Timeout); err != nil {
		return err
	}
	if err := c.Lock(s, sandbox.Needs{}); err != nil {
		return err
	}
	if h.Descriptor { // else 3 may be any descriptor of this process, which a finalizer would close
		r = os.NewFile(3, "upload")
	} else {
		data, err := io.ReadAll(io.LimitReader(in, h.Size))
		if err != nil || int64(len(data)) != h.Size {
			return wire.ErrInternal.Errorf("the file did not arrive completely")
		}
		r = bytes.NewReader(data)
	}
	g := gate.Gate{Policy: h.Policy, Today: h.Today, Version: h.Version, Digest: true}
	allowed := g.Policy.Limits
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	asking := h.asking(end)
	if asking != nil {
		allowed.Timeout, r = limits.NoTimeout, asking.Reader(r) // its parent counts the time, that of its turns
	}
	b := allowed.Budget(ctx)
	defer b.Close()
	if asking != nil {
		b.Meter(asking.Pay)
	}
	v, err := h.judge(&g, b, r)
	if err != nil {
		return err
	}
	defer v.Close()
	out := bufio.NewWriter(s.Out)
	if err := v.WriteJSON(out); err != nil {
		return err
	}
	return out.Flush()
}

// asking returns what asks for the turns of the judgement, or nil.
func (h *judgeRequest) asking(end func(error)) *host.Asking {
	if h.Turns == 0 {
		return nil
	}
	a := host.Ask(os.NewFile(uintptr(h.Turns), "asks"), os.NewFile(uintptr(h.Turns+1), "turns"), end)
	if h.Every > 0 {
		a.Every(h.Every)
	}
	return a
}

// judge judges the file, or the folder.
func (h *judgeRequest) judge(g *gate.Gate, b *limits.Budget, r io.ReaderAt) (*gate.Verdict, error) {
	hint := gate.Hint{Name: h.Name, Promised: h.Promised, Beside: h.Beside, Field: h.Field}
	if len(h.Files) == 0 {
		return check(g, b, r, h.Size, hint)
	}
	var f gate.Folder
	for _, one := range h.Files {
		if err := f.Add(gate.File{Name: one.Name, Size: one.Size}, io.NewSectionReader(r, one.Off, one.Size)); err != nil {
			return nil, err
		}
	}
	return g.CheckFolder(b, &f, hint)
}

// check judges the file in a child; tests replace it.
var check = (*gate.Gate).Check

// childMemory is the memory of a child besides the budget of its file.
const childMemory = 256 << 20

// Children are the processes that judge for a service, each a file, with this --sandbox.
type Children struct{ Sandbox string }

// JudgeInChild judges a file in a child process, whose crash affects only this file. The
// child is not told the digest: it must judge the bytes that the parent has digested.
func (f *Children) JudgeInChild(ctx context.Context, g *gate.Gate, r io.ReaderAt, size int64, h gate.Hint) (*gate.Verdict, error) {
	text, v, err := f.askChild(ctx, g, r, judgeRequest{Size: size}, h)
	if text == nil {
		return v, err
	}
	return g.Remote(text, size, h)
}

// JudgeFolderInChild judges a folder in a child process.
func (f *Children) JudgeFolderInChild(ctx context.Context, g *gate.Gate, spool io.ReaderAt, files []host.File, h gate.Hint) (*gate.Verdict, error) {
	var over judgeRequest
	known := make([]gate.File, 0, len(files))
	for _, one := range files {
		over.Files = append(over.Files, judgeFile{one.Name, one.Off, one.Size})
		over.Size += one.Size
		known = append(known, one.File)
	}
	text, v, err := f.askChild(ctx, g, spool, over, h)
	if text == nil {
		return v, err
	}
	return g.RemoteFolder(text, known, h)
}

// askChild returns what a child process answers. If it returns no text, the verdict and the
// error are those about the file.
func (f *Children) askChild(ctx context.Context, g *gate.Gate, r io.ReaderAt, over judgeRequest, h gate.Hint) ([]byte, *gate.Verdict, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	over.Name, over.Promised, over.Beside, over.Field, over.Policy, over.Today, over.Version = h.Name, h.Promised, h.Beside, h.Field, g.Policy, g.Today, g.Version
	cmd := exec.CommandContext(ctx, program, "judge-one", "--quiet", "--sandbox", f.Sandbox)
	cmd.Env = []string{"GOMAXPROCS=1", "GOTRACEBACK=none"}
	open, _ := r.(*os.File)
	if spooled, ok := r.(*spool.File); ok {
		open = spooled.File
	}
	if open != nil {
		read, err := spool.ReadOnly(open) // a child that is taken over cannot change what its parent reads
		if err != nil {
			return nil, nil, err
		}
		if read != open {
			defer read.Close()
		}
		cmd.ExtraFiles, over.Descriptor = []*os.File{read}, true
	}
	turns := host.TurnOf(ctx)
	if turns != nil {
		over.Turns, over.Every = 3+len(cmd.ExtraFiles), everySteps
	}
	line, err := json.Marshal(over)
	if err != nil {
		return nil, nil, err
	}
	if len(line) >= maxJudgeRequest {
		return nil, nil, fmt.Errorf("the policy and the file names have %d bytes as JSON, more than the %d that a child process accepts", len(line), maxJudgeRequest)
	}
	cmd.Stdin = bytes.NewReader(append(line, '\n'))
	if !over.Descriptor {
		cmd.Stdin = io.MultiReader(cmd.Stdin, io.NewSectionReader(r, 0, over.Size))
	}
	var out, errs boundedBuffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := runByTurns(cmd, turns); err != nil {
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, limits.ErrLimit): // the deadline passed here before the child noticed
			return nil, g.Failed(h.Name, cause), nil
		case cause != nil:
			return nil, nil, cause
		}
		return nil, nil, fmt.Errorf("the process that judged it died: %w: %s", err, term.Tidy(errs.String(), 512))
	}
	return append([]byte{}, out.Bytes()...), nil, nil // not nil, even if it is empty
}

// A boundedBuffer is a buffer that fails a write beyond maxVerdict, which ends the child.
type boundedBuffer struct{ bytes.Buffer }

// maxVerdict bounds the output of a child.
const maxVerdict = 16 << 20

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxVerdict {
		return 0, io.ErrShortWrite
	}
	return b.Buffer.Write(p)
}
