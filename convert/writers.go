package convert

import "sync"

// writers is how many workers may write to a file. The system admits one at a time; the
// second one is ready when the first is done. More would only keep processors waiting.
const writers = 2

// A writerLimit bounds the workers that write to a file.
type writerLimit struct {
	mu     sync.Mutex
	left   *sync.Cond // signals that a worker left a file
	inside []int8     // number of workers in each file
}

func (g *writerLimit) enter(file int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.inside[file] == writers {
		g.left.Wait()
	}
	g.inside[file]++
}

func (g *writerLimit) leave(file int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside[file]--
	g.left.Broadcast()
}
