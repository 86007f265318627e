package vm

import "github.com/anamnesis-go/anamnesis/limits"

// A matcher says whether a global takes its arguments, and whether a value takes a state: by the
// letters of signatures, the patterns of classes and their rules. It changes nothing in the graph.
// An answer costs steps, which the caller settles before it believes the answer: a rule that had
// no memory answers no, and the account knows why.
type matcher struct {
	*account
	g   *Graph
	tmp *limits.Workspace // memory of the run

	backs   map[ref]bool   // what arrays have for their memory
	parts   map[ref]string // arrays that are parts of others, and what they are there
	unbuilt int            // trees of scikit-learn that have no nodes yet
	tree    ref            // the last of them that was made
	stated  uint64         // versions of the form that is being matched
}
