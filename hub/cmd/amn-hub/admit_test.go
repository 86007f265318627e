package main

import (
	"context"
	"testing"

	"github.com/anamnesis-go/anamnesis/hub/store"
)

// shared is the queue of a fleet: so many processes take from it, and so much is in it.
type shared struct {
	store.Engine

	processes, admitted int64
}

func (s *shared) Processes(context.Context) (int64, error) { return s.processes, nil }
func (s *shared) Admitted(context.Context) (int64, error)  { return s.admitted, nil }

func (s *shared) Admit(_ context.Context, room int) (int, error) {
	s.admitted += int64(max(room, 0))
	return room, nil
}

// The queue is filled for the workers of all processes, whichever of them fills it.
func TestTheQueueIsFilledForAllProcesses(t *testing.T) {
	const workers = 2
	for _, processes := range []int64{1, 2, 10, 100} {
		db := &shared{processes: processes}
		r := &running{db: db}
		for range 3 {
			if _, err := r.admit(t.Context(), workers); err != nil {
				t.Fatal(err)
			}
		}
		if want := ahead * workers * processes; db.admitted != want {
			t.Errorf("%d processes of %d workers: %d revisions are queued, want %d", processes, workers, db.admitted, want)
		}
	}
}
