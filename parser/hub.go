package parser

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// maxRef bounds the name of a revision in a hub's cache: a commit is 40 digits.
const maxRef = 128

// snapshotOf returns the snapshot that models--OWNER--NAME, a folder of the Hugging Face
// hub's cache, stands for: that of refs/main, or else the only one. Any other folder is
// returned as it is.
func snapshotOf(dir string) (string, error) {
	if !strings.HasPrefix(filepath.Base(filepath.Clean(dir)), "models--") {
		return dir, nil
	}
	snapshots := filepath.Join(dir, "snapshots")
	list, err := os.ReadDir(snapshots)
	if err != nil {
		return dir, nil
	}
	rev, err := mainRef(filepath.Join(dir, "refs", "main"))
	switch {
	case err == nil:
	case !os.IsNotExist(err):
		return "", err
	case len(list) == 1:
		rev = list[0].Name()
	default:
		return "", wire.At(detection, "", wire.NoOffset, wire.ErrUnsupported.WithRule("detect.snapshot").Errorf(
			"the cache holds %d snapshots of this model but no refs/main: name one", len(list)))
	}
	return filepath.Join(snapshots, rev), nil
}

// mainRef reads the name of a snapshot, and makes sure that it is the name of a sibling
// folder and nothing else.
func mainRef(path string) (string, error) {
	f, err := openRegular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var text [maxRef + 1]byte
	n, err := io.ReadFull(f, text[:])
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return "", err
	}
	rev := strings.TrimSpace(string(text[:n]))
	if n > maxRef || strings.Trim(rev, "0123456789abcdefABCDEF") != "" || len(rev) < 7 {
		return "", wire.At(detection, "", wire.NoOffset, wire.ErrUnsupported.WithRule("detect.snapshot").Errorf("refs/main of the cache holds %s, which is not a revision", wire.Quote(rev)))
	}
	return rev, nil
}

// openRegular opens a regular file. It is examined before, since opening a device may have
// effects, and again once it is open: another file may have been put in its place.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := checkRegular(info.Mode()); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = checkRegular(info.Mode())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
