package cli

import (
	"errors"
	"io"
	"os"
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

	b    *limits.Budget
	read *atomic.Int64
	list []fileDigest
	errs []error
	next atomic.Int64
	wg   sync.WaitGroup
}

// hashFiles starts half of the workers, one for each file at most.
func hashFiles(b *limits.Budget, list []fileDigest, workers int, read *atomic.Int64) *fileDigests {
	f := &fileDigests{workers: min(len(list), workers/2), b: b, read: read, list: list, errs: make([]error, len(list))}
	for range f.workers {
		f.wg.Go(f.work)
	}
	return f
}

// wait gives the digests in the order of the files, or the first error in it that
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
		if i >= len(f.list) {
			return
		}
		d := &f.list[i]
		if d.sum, d.size, f.errs[i] = hashFile(f.b, d.path, f.read, &f.stop); f.errs[i] != nil {
			f.stop.Store(true)
		}
	}
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
