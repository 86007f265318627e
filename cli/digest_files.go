package cli

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/anamnesis-go/anamnesis/digest"
	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/limits"
)

// fileDigests hashes files while other workers hash the tensors in them: both take the same
// time, and find what the other has read in the system's cache.
type fileDigests struct {
	workers int // that hash files; 0 if the only worker hashes tensors
	stop    atomic.Bool

	b    *limits.Budget
	read *atomic.Int64
	list []fileDigest
	errs []error
	next atomic.Int64
	wg   sync.WaitGroup
}

// hashFiles starts half of the workers, at most one per file.
func hashFiles(b *limits.Budget, list []fileDigest, workers int, read *atomic.Int64) *fileDigests {
	f := &fileDigests{workers: min(len(list), workers/2), b: b, read: read, list: list, errs: make([]error, len(list))}
	for range f.workers {
		f.wg.Go(f.work)
	}
	return f
}

// wait returns the files with their digests, in order, or the error of the first file that
// has one.
func (f *fileDigests) wait() ([]fileDigest, error) {
	if f.workers == 0 {
		f.work()
	}
	f.wg.Wait()
	for _, err := range f.errs {
		if err != nil && err != errStopped {
			return nil, err
		}
	}
	return f.list, nil // incomplete if the caller stopped the workers
}

// work hashes files until none is left.
func (f *fileDigests) work() {
	for !f.stop.Load() {
		i := int(f.next.Add(1)) - 1
		if i >= len(f.list) {
			return
		}
		d := &f.list[i]
		if d.sum, d.size, f.errs[i] = hashFile(f.b, d.path, f.read, &f.stop); f.errs[i] != nil {
			f.stop.Store(true)
		}
	}
}

// hashFile hashes one file, unless stop is set meanwhile.
func hashFile(b *limits.Budget, path string, read *atomic.Int64, stop *atomic.Bool) (digest.Sum, int64, error) {
	f, err := folder.OpenRegular(path)
	if err != nil {
		return digest.Sum{}, 0, err
	}
	defer f.Close()
	account := b.Probe()
	defer account.Close()
	return digest.Reader(account, stoppable{f, stop}, read)
}

// A stoppable is a reader that fails once stop is set.
type stoppable struct {
	io.Reader
	stop *atomic.Bool
}

var errStopped = errors.New("stopped")

func (s stoppable) Read(p []byte) (int, error) {
	if s.stop.Load() {
		return 0, errStopped
	}
	return s.Reader.Read(p)
}
