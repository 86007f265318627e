package write

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/output"
	"github.com/anamnesis-go/anamnesis/internal/stamp"
)

// resumeFlag is the flag of commands that write a model.
type resumeFlag struct {
	Resume bool `help:"Keep what is written if the run is interrupted. The same command then continues, after it has verified what was kept."`
}

// NotInOutput are flags that change no byte of an output. They may differ when a run is resumed.
var NotInOutput = []string{"output", "force", "dry-run", "threads", "memory", "no-sync", "resume"}

// jobOf describes the inputs on which the output of a command depends: all of its flags except
// those of NotInOutput, and the stamps of files that flags name.
func jobOf(command string, given []run.Flag) (map[string]string, error) {
	job := map[string]string{"command": command}
	for _, f := range given {
		if slices.Contains(NotInOutput, f.Name) {
			continue
		}
		job["--"+f.Name] = f.Value
		if !f.Names {
			continue
		}
		if err := stampInputs(job, "file of --"+f.Name, f.Value); err != nil {
			return nil, err
		}
	}
	return job, nil
}

// maxStamped bounds the files of one input.
const maxStamped = 10_000

// stampInputs adds the stamps of a file, and of the configuration beside it, or of the files in
// a folder.
func stampInputs(job map[string]string, what, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // an address, or a name in a store: its open files have stamps
	}
	dir, some := path, func(name string) bool { return !strings.HasPrefix(name, ".") }
	if !info.IsDir() {
		job[what+" "+filepath.Base(path)] = stamp.Of(info)
		dir = filepath.Dir(path)
		if _, err := os.Stat(filepath.Join(dir, "config.json")); err != nil {
			return nil
		}
		some = func(name string) bool { return filepath.Ext(name) == ".json" && !strings.HasPrefix(name, ".") }
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(list) > maxStamped {
		return fault.Usage(fmt.Sprintf("--resume: %s has more than %d files: leave --resume out, or move files that are not of the model into a folder below", term.Path(dir), maxStamped))
	}
	for _, e := range list {
		if e.IsDir() || !some(e.Name()) {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil && info.Mode().IsRegular() {
			job[what+" "+e.Name()] = stamp.Of(info)
		}
	}
	return nil
}

// resumeOf returns how the conversion is resumed, nil if it is not.
func resumeOf(s *run.Run, c *conversion) (*convert.Resume, error) {
	switch {
	case !c.flags.Resume:
		return nil, nil
	case c.pipe != nil:
		return nil, fault.Usage("--resume: what went to standard output cannot be read again: name a file with -o")
	case c.path == "-":
		return nil, fault.Usage("--resume: standard input cannot be read again: name a file")
	case c.opts.InPlace:
		return nil, fault.Usage("--resume and --in-place cannot be combined: leave one out")
	case c.report || c.page != "":
		return nil, fault.Usage("--report measures while it writes, so it cannot be combined with --resume; amn quantize --compare measures and writes nothing")
	}
	job, err := jobOf(s.Command, s.Given())
	if err != nil {
		return nil, err
	}
	inputs := []string{c.path}
	if c.merged != nil {
		inputs = append(inputs, c.merged.sources...)
	}
	for i, path := range inputs {
		if err := stampInputs(job, fmt.Sprintf("file of input %d:", i+1), path); err != nil {
			return nil, err
		}
	}
	if job["program"], err = programText(s.Build()); err != nil {
		return nil, err
	}
	for _, q := range s.Policy.Limits.Quirks {
		job["quirks"] += q + " "
	}
	key, err := journalKey(!c.flags.DryRun)
	if err != nil {
		return nil, err
	}
	return &convert.Resume{Key: key, Job: job, Found: func(r *convert.Resumed) { printFound(s, c, r) }}, nil
}

// printFound prints how much is left to do.
func printFound(s *run.Run, c *conversion, r *convert.Resumed) {
	if s.Quiet || s.JSON {
		return
	}
	if r.Anew != "" {
		fmt.Fprintf(s.Err, "amn: starting over: %s\n", r.Anew)
		return
	}
	fmt.Fprintf(s.Err, "amn: resuming: %s of %s are written, %s left\n", term.Bytes(r.Kept), term.Bytes(c.plan.Size), term.Bytes(c.plan.Size-r.Kept))
}

// begunText describes what a run would continue with.
func begunText(r *convert.Resumed, size int64) string {
	if r.Anew != "" {
		return "nothing: " + r.Anew
	}
	return fmt.Sprintf("%s of an earlier run, to be verified first; %s left to write", term.Bytes(r.Kept), term.Bytes(size-r.Kept))
}

// resumedText describes what a conversion continued with.
func resumedText(r *convert.Resumed) string {
	if r.Anew != "" {
		return "nothing: " + r.Anew
	}
	text := term.Bytes(r.Kept) + " of an earlier run, verified"
	if r.Again > 0 {
		text += "; " + term.Bytes(r.Again) + " of it did not match, and were written again"
	}
	return text
}

// printResumed prints what the conversion continued with, or would continue with.
func printResumed(s *run.Run, c *conversion) {
	switch {
	case c.begun != nil:
		s.Out.Fact("", "Would resume", begunText(c.begun, c.plan.Size))
	case c.result != nil && c.result.Resumed != nil:
		s.Out.Fact("", "Resumed", resumedText(c.result.Resumed))
	}
}

func jsonResumed(o *jsonout.Object, r *convert.Resumed) {
	if r == nil {
		return
	}
	o.Object("resumed", func(o *jsonout.Object) {
		o.Number("kept", r.Kept)
		o.Number("again", r.Again)
		if r.Anew != "" {
			o.Text("anew", r.Anew)
		}
	})
}

// jsonUnfinished writes what a failed or interrupted run has kept.
func jsonUnfinished(o *jsonout.Object, err error) {
	u, ok := errors.AsType[*convert.Unfinished](err)
	if !ok {
		return
	}
	o.Object("unfinished", func(o *jsonout.Object) {
		o.Text("path", u.Path)
		o.Number("kept", u.Kept)
		o.Number("bytes", u.Size)
	})
}

// printInterrupted prints what is kept of an interrupted conversion.
func printInterrupted(s *run.Run, c *conversion) {
	if s.Quiet || c.plan == nil {
		return
	}
	if u, ok := errors.AsType[*convert.Unfinished](c.err); ok {
		fmt.Fprintf(s.Err, "amn: interrupted: %s\n", fault.UnfinishedText(u))
	} else if !c.flags.Resume && c.result == nil && c.pipe == nil {
		fmt.Fprintf(s.Err, "amn: interrupted: nothing is kept; with --resume an interrupted run can be continued\n")
	}
}

// programText identifies the program: a release by its version, anything else by its content.
func programText(b run.Build) (string, error) {
	if b.Commit != "" && !b.Modified && b.Version != "(devel)" {
		return b.Version + " " + b.Commit, nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := folder.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return b.Version + " " + hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// stateVariable names the folder that the key of journals is in.
const stateVariable = "AMN_STATE"

// journalKey returns the key that seals journals, and creates it for the first one. It belongs to
// this user, so that a downloaded folder cannot contain a valid journal. A run that writes nothing
// does not keep it.
func journalKey(keep bool) ([]byte, error) {
	dir := os.Getenv(stateVariable)
	if dir == "" {
		base, err := os.UserConfigDir()
		if err != nil {
			return nil, fault.Usage("--resume: there is no folder for the key that seals journals: set HOME, or " + stateVariable + " to a folder of yours")
		}
		dir = filepath.Join(base, "amn")
	}
	path := filepath.Join(dir, "journal.key")
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	fresh := make([]byte, 32)
	rand.Read(fresh) // it never fails
	if !keep {
		return fresh, nil
	}
	if err := output.MkdirAll(dir); err != nil {
		return nil, err
	}
	made := output.WriteFile(path, fresh, output.Options{Private: true})
	key, err = readKey(path) // another run may have been first
	if err != nil {
		return nil, errors.Join(made, err)
	}
	return key, nil
}

func readKey(path string) ([]byte, error) {
	f, err := folder.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !output.OnlyOurs(info) {
		return nil, fault.Usage(fmt.Sprintf("--resume: %s, which seals journals, belongs to another user or has another name: remove it, and the next run makes another, or set %s to a folder of yours", term.Path(path), stateVariable))
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fault.Usage(fmt.Sprintf("--resume: others may read or write %s, which seals journals: chmod 600 %[1]s", term.Path(path)))
	}
	key := make([]byte, 32)
	if _, err := io.ReadFull(f, key); err != nil {
		return nil, fault.Usage(fmt.Sprintf("--resume: %s is not a key: remove it, and the next run makes another", term.Path(path)))
	}
	return key, nil
}
