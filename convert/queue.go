package convert

import (
	"slices"
	"sync"
)

// A queue is who writes which file. The system lets one writer into a file and
// keeps the others waiting on their processors, so they do not come: a worker
// whose file is being written leaves its range to the one that writes it, and
// goes on with a spare buffer.
type queue struct {
	mu    sync.Mutex
	moved *sync.Cond // a turn has ended, or a buffer came back
	spare []buffer   // one for two workers
	files []writing
}

// A writing is whose turn it is to write a file.
type writing struct {
	taken bool
	left  []piece // to be written by who has taken it; no more than there are spares
}

// A piece is a range of a file, and the place that its failure has.
type piece struct {
	p    []byte
	off  int64
	room buffer // that p is of
	job  *job
	unit int64
}

// join is true where the piece was left to another, and room is a spare buffer
// then; else it is the caller's turn.
func (q *queue) join(file int, x piece, room *buffer) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for t := &q.files[file]; ; q.moved.Wait() {
		if !t.taken {
			t.taken = true
			return false
		}
		if n := len(q.spare); n > 0 {
			t.left = append(t.left, x)
			*room, q.spare = q.spare[n-1], q.spare[:n-1]
			return true
		}
	}
}

// next gives what was left to who has the turn, and ends the turn where there
// is nothing.
func (q *queue) next(file int) (x piece, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := &q.files[file]
	if len(t.left) == 0 {
		t.taken = false
		q.moved.Broadcast()
		return piece{}, false
	}
	x = t.left[0]
	t.left = slices.Delete(t.left, 0, 1)
	return x, true
}

// back takes a buffer that is written.
func (q *queue) back(room buffer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spare = append(q.spare, room)
	q.moved.Broadcast()
}

// addSpare takes the memory of a spare buffer.
func (s *stream) addSpare() error {
	var room buffer
	if err := room.grow(s, s.tile); err != nil {
		return err
	}
	s.queue.back(room)
	return nil
}
