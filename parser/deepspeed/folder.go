package deepspeed

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Latest is the name of the file that names the folder of the last checkpoint.
const Latest = "latest"

// maxTag is more than the path of a file may have.
const maxTag = 4096

// The endings of the files of a checkpoint. DeepSpeed takes every file of these for one.
const (
	optimEnd  = "_optim_states.pt"
	moduleEnd = "_model_states.pt"
)

// IsPart reports whether a name is that of a file of a checkpoint.
func IsPart(name string) bool {
	return strings.HasSuffix(name, optimEnd) || strings.HasSuffix(name, moduleEnd)
}

// IsOptimizer reports whether a name is that of a file with parts of the float32 weights.
func IsOptimizer(name string) bool { return strings.HasSuffix(name, optimEnd) }

// Tag returns the text of a file called latest that could be the path of a folder, without the
// spaces around it, which DeepSpeed drops. It is "" for anything else.
func Tag(r io.ReaderAt, size int64) (string, error) {
	if size > maxTag {
		return "", nil
	}
	var room [maxTag]byte
	text := room[:size]
	if err := wire.ReadFull(r, text, 0); err != nil {
		return "", err
	}
	if slices.Contains(text, 0) {
		return "", nil // no path has one
	}
	return strings.TrimSpace(string(text)), nil
}

// Escapes reports whether DeepSpeed, which joins a tag to the path of the folder, would leave it, on
// any system.
func Escapes(tag string) bool {
	tag = strings.ReplaceAll(tag, `\`, "/")
	return strings.HasPrefix(tag, "/") || len(tag) > 2 && tag[1:3] == ":/" || slices.Contains(strings.Split(tag, "/"), "..")
}

// folder finds the folder, and which files it has.
func (d *decoder) folder() error {
	if d.out.index != "" {
		if err := d.readLatest(); err != nil {
			return wire.At(Format, "file "+wire.Quote(Latest), wire.NoOffset, err)
		}
	}
	list, err := tensor.List(d.fsys, d.dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return errFolder.Errorf("no folder %s beside latest", wire.Quote(d.below))
	}
	if err != nil {
		return err
	}
	prefix := "" // of the names of the optimizer's files
	for _, name := range list {
		if err := d.steps.Step(); err != nil {
			return err
		}
		if !IsPart(name) {
			continue
		}
		if strings.HasSuffix(name, optimEnd) {
			if prefix, _, _ = strings.Cut(name, "zero_pp_rank_"); prefix != "" && prefix != "bf16_" {
				return fail("file "+wire.Quote(name), errNames.Errorf("%s", unknownName))
			}
			d.optim, err = limits.Append(d.b, d.optim, name)
		} else {
			d.module, err = limits.Append(d.b, d.module, name)
		}
		if err == nil {
			err = d.hold(fileCost + int64(len(name)))
		}
		if err != nil {
			return err
		}
	}
	return d.ranks(prefix)
}

const unknownName = "not a file of a process without model parallelism, whose weights are zero_pp_rank_N_mp_rank_00_optim_states.pt, and whose module is mp_rank_00_model_states.pt or zero_pp_rank_N_mp_rank_00_model_states.pt"

// readLatest reads the name of the folder.
func (d *decoder) readLatest() error {
	h, err := tensor.OpenFile(d.fsys, path.Join(d.dir, Latest))
	if errors.Is(err, fs.ErrNotExist) {
		return errFolder.Errorf("no file of that name")
	}
	if err != nil {
		return err
	}
	defer h.Close()
	tag, err := Tag(h, h.Size)
	switch {
	case err != nil:
		return err
	case Escapes(tag):
		return errLatest.Errorf("%s leads out of its folder", wire.Quote(tag))
	case tag == "" || tag == "." || strings.Contains(tag, "/") || !fs.ValidPath(tag):
		return errFolder.Errorf("%s is not the name of a folder beside it", wire.Quote(tag))
	}
	d.below, d.dir = tag, path.Join(d.dir, tag)
	return nil
}

// ranks sorts the files by process. Each is there once.
func (d *decoder) ranks(prefix string) error {
	switch {
	case len(d.optim) == 0:
		return errRank.Errorf("no file *%s in the folder", optimEnd)
	case len(d.module) == 0:
		return errRank.Errorf("no file *%s in the folder", moduleEnd)
	}
	if err := d.inOrder(d.optim, prefix+"zero_pp_rank_", "_mp_rank_00"+optimEnd); err != nil {
		return err
	}
	if len(d.module) == 1 && d.module[0] == "mp_rank_00"+moduleEnd {
		return nil
	}
	return d.inOrder(d.module, "zero_pp_rank_", "_mp_rank_00"+moduleEnd)
}

// inOrder sorts names by the number in them, which goes from 0 on.
func (d *decoder) inOrder(names []string, before, after string) error {
	for _, name := range names {
		number, ok := strings.CutPrefix(name, before)
		if ok {
			number, ok = strings.CutSuffix(number, after)
		}
		n, err := strconv.ParseUint(number, 10, 31)
		if !ok || err != nil || strconv.FormatUint(n, 10) != number {
			return fail("file "+wire.Quote(name), errNames.Errorf("%s", unknownName))
		}
	}
	if err := limits.Sort(d.b, names, wire.Natural); err != nil {
		return err
	}
	for i, name := range names {
		if want := before + strconv.Itoa(i) + after; name != want {
			return errRank.Errorf("process %d has no file %s", i, wire.Quote(want))
		}
	}
	return nil
}

// Names reports whether a file called latest names a folder with files of a checkpoint, or a path that
// leaves its own.
func Names(fsys fs.FS, name string) bool {
	h, err := tensor.OpenFile(fsys, name)
	if err != nil {
		return false
	}
	defer h.Close()
	tag, err := Tag(h, h.Size)
	if err != nil || tag == "" {
		return false
	}
	if Escapes(tag) {
		return true
	}
	dir := path.Join(path.Dir(name), tag)
	if dir == path.Dir(name) || !fs.ValidPath(dir) {
		return false
	}
	list, err := tensor.List(fsys, dir)
	return err == nil && slices.ContainsFunc(list, IsPart)
}
