package host_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/gate/host"
)

// Uploads of every format by 16 goroutines at once, some left before they are judged: each is
// judged as it is alone, and the host holds nothing at the end. Run with -race.
func TestManyGoroutinesLeaveNoCharge(t *testing.T) {
	h := newHost(t, host.Options{Slots: 4, Queue: 64, TenantQueue: 64})
	type file struct {
		data     []byte
		accepted bool
	}
	var files []file
	judge := func(tenant string, data []byte, size int64) (bool, error) {
		u, err := h.Begin(tenant)
		if err != nil {
			return false, err
		}
		defer u.Close()
		if err := u.Spool(io.MultiReader(bytes.NewReader(data)), size); err != nil {
			return false, err
		}
		if _, err := u.Judge(t.Context()); err != nil {
			return false, err
		}
		_, ok := u.Acceptance()
		return ok, nil
	}
	for _, format := range corpus.Formats() {
		for _, s := range corpus.Valid(format) {
			ok, err := judge("alone", s.Data, int64(len(s.Data)))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file{s.Data, ok})
		}
	}
	if l := h.Load(); l != (host.Load{}) {
		t.Fatalf("after one at a time: %+v", l)
	}
	var group sync.WaitGroup
	var judged atomic.Int64
	for worker := range 16 {
		group.Go(func() {
			tenant := fmt.Sprint(worker % 5)
			for i := worker % 3; i < len(files); i += 3 {
				f := files[i]
				if (i+worker)%7 == 0 { // comes in part, and is left
					if u, err := h.Begin(tenant); err == nil {
						if err := u.Spool(bytes.NewReader(f.data[:len(f.data)/2]), int64(len(f.data))+1); err == nil {
							t.Error("half a file is spooled")
						}
						u.Close()
					}
					continue
				}
				size := int64(len(f.data))
				if i%2 == 0 {
					size = -1
				}
				ok, err := judge(tenant, f.data, size)
				if _, busy := errors.AsType[*host.Busy](err); busy {
					continue
				}
				if err != nil || ok != f.accepted {
					t.Errorf("file %d: accepted %v, alone %v: %v", i, ok, f.accepted, err)
				}
				judged.Add(1)
			}
		})
	}
	group.Wait()
	if l := h.Load(); l != (host.Load{}) {
		t.Errorf("at the end: %+v", l)
	}
	if judged.Load() < int64(len(files)) {
		t.Errorf("%d judgements of %d files", judged.Load(), len(files))
	}
}
