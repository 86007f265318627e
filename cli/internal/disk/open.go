package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// maxKeys bounds a file of keys; the largest vocabularies have a few megabytes.
const maxKeys = 64 << 20

// ReadText returns the content of a file, charged to b.
func ReadText(b *limits.Budget, path string) (string, error) {
	h, err := tensor.OpenFile(Dir(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		return "", err
	}
	defer h.Close()
	if h.Size > maxKeys {
		return "", wire.ErrUnsupported.Errorf("%d bytes, at most %d are read", h.Size, maxKeys)
	}
	c := wire.NewCursor(b, gguf.Format, h, h.Size)
	return c.String(uint64(h.Size))
}

// OpenNamed opens a file that the caller names to be read as a whole: a list, a policy, a key.
// It must be a regular file, a stream that the caller has open already (/dev/stdin, and
// /dev/fd/63, which a shell makes of <(command)), or the null device.
func OpenNamed(path string) (*os.File, error) {
	if path != os.DevNull && !isOpenAlready(path) {
		f, err := folder.OpenRegular(path)
		if err = asUsage(err); errors.Is(err, wire.ErrUsage) {
			err = fault.Usage(err.Error() + ": name a file, or /dev/stdin for a pipe")
		}
		return f, err
	}
	f, err := folder.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, fault.Usage(term.Tidy(path, 4096) + " is a folder, not a file")
	}
	return f, nil
}

// isOpenAlready reports whether a path stands for a file that this process was given open.
func isOpenAlready(path string) bool {
	dir, name := filepath.Split(filepath.Clean(path))
	switch filepath.ToSlash(dir) {
	case "/dev/":
		return name == "stdin"
	case "/dev/fd/", "/proc/self/fd/":
		_, err := strconv.ParseUint(name, 10, 31)
		return err == nil
	}
	return false
}

// asUsage turns the refusal to open a special file into a usage error.
func asUsage(err error) error {
	if wire.ClassOf(err) == wire.Unsupported {
		return fault.Usage(strings.TrimPrefix(err.Error(), wire.ErrUnsupported.Error()+": "))
	}
	return err
}

// ReadBounded reads a file that the caller names, up to one byte more than most.
func ReadBounded(path string, most int64) ([]byte, error) {
	f, err := OpenNamed(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}

// ReadAgain reads a file that a service reads more than once. It must be a regular file: a pipe
// has its content only once.
func ReadAgain(path string) ([]byte, error) {
	f, err := folder.OpenRegular(path)
	if err != nil {
		return nil, asUsage(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxReread+1))
	if err == nil && len(text) > maxReread {
		err = fault.Usage(fmt.Sprintf("%s: more than %d bytes", term.Tidy(path, 4096), maxReread))
	}
	return text, err
}

// maxReread bounds a file that is read again.
const maxReread = 8 << 20

// Dir is a folder as a file system. Unlike os.DirFS it opens names that are not UTF-8.
type Dir string

func (d Dir) Open(name string) (fs.File, error) {
	return folder.Open(filepath.Join(string(d), name))
}

func (d Dir) Stat(name string) (fs.FileInfo, error) {
	return os.Stat(filepath.Join(string(d), name))
}

func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Exists reports whether something is at a path.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
