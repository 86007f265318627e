package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/anamnesis-go/anamnesis/digest"
	"github.com/anamnesis-go/anamnesis/limits"
)

// fileDigests hashes files while other workers hash the tensors that are in them: both
// take as long, and what one has read is in the system's cache for the other.
type fileDigests struct {
	workers int // of files; 0 where the only worker is that of the tensors
	stop    atomic.Bool

	b     *limits.Budget
	read  *atomic.Int64
	paths []string
	list  []fileDigest
	errs  []error
	next  atomic.Int64
	wg    sync.WaitGroup
}

// hashFiles starts half of the workers, one for each file at most.
func hashFiles(b *limits.Budget, paths []string, workers int, read *atomic.Int64) *fileDigests {
	f := &fileDigests{workers: min(len(paths), workers/2), b: b, read: read, paths: paths}
	f.list, f.errs = make([]fileDigest, len(paths)), make([]error, len(paths))
	for range f.workers {
		f.wg.Go(f.work)
	}
	return f
}

// wait gives the digests in the order of the paths, or the first error in it that
// stopped the others.
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
	return f.list, nil // unless the caller stopped them
}

// work takes files until there are none.
func (f *fileDigests) work() {
	for !f.stop.Load() {
		i := int(f.next.Add(1)) - 1
		if i >= len(f.paths) {
			return
		}
		if f.list[i], f.errs[i] = f.one(f.paths[i]); f.errs[i] != nil {
			f.stop.Store(true)
		}
	}
}

func (f *fileDigests) one(path string) (d fileDigest, err error) {
	d.name = filepath.Base(path)
	d.sum, d.size, err = hashFile(f.b, path, f.read, &f.stop)
	return d, err
}

// hashFile hashes one file, as long as nobody stops it.
func hashFile(b *limits.Budget, path string, read *atomic.Int64, stop *atomic.Bool) (digest.Sum, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return digest.Sum{}, 0, err
	}
	defer f.Close()
	account := b.Probe()
	defer account.Close()
	return digest.Reader(account, stoppable{f, stop}, read)
}

// A stoppable ends once nobody wants what is read of it.
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
