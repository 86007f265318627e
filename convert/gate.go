package convert

import "sync"

// writers is how many workers are let into a file: the system takes one at a
// time, and lets the next one in without a loss where that one is waiting on a
// processor. More would wait on theirs for nothing.
const writers = 2

// A gate lets workers into files.
type gate struct {
	mu     sync.Mutex
	left   *sync.Cond // somebody left a file
	inside []int8     // of each file
}

func (g *gate) enter(file int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.inside[file] == writers {
		g.left.Wait()
	}
	g.inside[file]++
}

func (g *gate) leave(file int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside[file]--
	g.left.Broadcast()
}
