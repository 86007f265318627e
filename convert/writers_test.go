package convert_test

import (
	"bytes"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
)

// narrow is a file that is slow and counts who is in it; its call number bad
// fails, or panics.
type narrow struct {
	converttest.Memory
	inside, most, calls, bad atomic.Int32
	panics                   bool
}

var errBad = errors.New("the disk is bad")

func (a *narrow) WriteAt(p []byte, off int64) (int, error) {
	n := a.inside.Add(1)
	defer a.inside.Add(-1)
	a.most.Store(max(a.most.Load(), n))
	if a.calls.Add(1) == a.bad.Load() {
		if a.panics {
			panic(errBad)
		}
		return 0, errBad
	}
	time.Sleep(20 * time.Microsecond)
	return a.Memory.WriteAt(p, off)
}

// At most two workers write to a file at a time, and a failed write ends all, including those that
// wait.
func TestAFileHasTwoWritersAtATime(t *testing.T) {
	m, b := converttest.Open(t, "../testdata/demo/llama-fp8")
	want := converttest.Run(t, b, m, convert.Options{Threads: 1})
	for _, panics := range []bool{false, true} {
		calls := int32(1)
		for bad := int32(0); bad <= calls; bad++ {
			p, err := convert.NewPlan(b, m, convert.Options{Threads: 4, Tile: 64})
			if err != nil {
				t.Fatal(err)
			}
			out := &narrow{Memory: *converttest.NewMemory(p.Size), panics: panics}
			out.bad.Store(bad)
			_, err = p.Stream(out)
			switch {
			case out.most.Load() > 2:
				t.Fatalf("%d workers wrote at once", out.most.Load())
			case bad == 0 && err != nil:
				t.Fatal(err)
			case bad == 0 && !bytes.Equal(out.Bytes, want):
				t.Fatal("four workers wrote other bytes than one")
			case bad > 1 && (err == nil || !panics && !errors.Is(err, errBad) || !strings.Contains(err.Error(), errBad.Error())):
				t.Fatalf("write %d of %d failed, and the stream says %v", bad, calls, err)
			}
			if bad == 0 {
				calls = min(out.calls.Load(), 60)
				bad++ // the first write is the head's, outside of all workers
			}
		}
	}
}
