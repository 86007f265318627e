// Package worker judges the revisions that a queue gives it.
//
// Each revision is judged as one folder, by the gate that `amn scan` and `amn serve` have, under
// an account of its own below that of the process. The first attempt is made in this process. If
// it came to no end, the content may have ended it: every further attempt is made in a process of
// its own, with bounded memory, and what that one says is believed about the files that this
// process has digested itself.
package worker
