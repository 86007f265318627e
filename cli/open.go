package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// openNamed opens a file that the caller names to be read as a whole: a list, a policy, a key.
// It must be a regular file, a stream that the caller has open already (/dev/stdin, and
// /dev/fd/63, which a shell makes of <(command)), or the null device.
func openNamed(path string) (*os.File, error) {
	if path != os.DevNull && !isOpenAlready(path) {
		f, err := folder.OpenRegular(path)
		if err = asUsage(err); errors.Is(err, wire.ErrUsage) {
			err = usage{err.Error() + ": name a file, or /dev/stdin for a pipe"}
		}
		return f, err
	}
	f, err := folder.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, usage{term.Tidy(path, 4096) + " is a folder, not a file"}
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

// asUsage makes a refusal to open what is no regular file a wrong usage.
func asUsage(err error) error {
	if wire.ClassOf(err) == wire.Unsupported {
		return usage{strings.TrimPrefix(err.Error(), wire.ErrUnsupported.Error()+": ")}
	}
	return err
}

// readBounded reads a file that the caller names, up to one byte more than most.
func readBounded(path string, most int64) ([]byte, error) {
	f, err := openNamed(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}

// readAgain reads a file that a service reads more than once, so that only a regular file will
// do.
func readAgain(path string) ([]byte, error) {
	f, err := folder.OpenRegular(path)
	if err != nil {
		return nil, asUsage(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxReread+1))
	if err == nil && len(text) > maxReread {
		err = usage{fmt.Sprintf("%s: more than %d bytes", term.Tidy(path, 4096), maxReread)}
	}
	return text, err
}
