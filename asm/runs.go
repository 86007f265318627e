package asm

// A run is consecutive codes under one scale, and perhaps a zero point or minimum. The
// last run of a call may be shorter than the others.

// An Op joins a code q with its scale s and its zero point or minimum z.
type Op uint8

// The ways to join. Each operation rounds by itself.
const (
	Scale  Op = iota // q*s
	Shift            // (q-z)*s
	Affine           // q*s + z
	opsN
	bytesTwice = opsN // bytes alone: (q*s)*c
)

func (o Op) String() string { return [...]string{"Scale", "Shift", "Affine"}[o] }

func (o Op) join(q, s, z float32) float32 {
	switch o {
	case Shift:
		return float32(q-z) * s
	case Affine:
		return float32(q*s) + z
	default:
		return q * s
	}
}

// Runs are the numbers that codes are joined with: for each run of codes a scale, and for
// some operations a zero point or minimum.
type Runs struct {
	Scales, Seconds []float32
	Length          int
}

// second returns the zero point or minimum of run r, if the operation has one.
func (r *Runs) second(op Op, run int) float32 {
	if op == Scale {
		return 0
	}
	return r.Seconds[run]
}

// kernelChunk is how many elements the kernels take in one step.
const kernelChunk = 32

// wantFor panics unless each run of codes has its numbers.
func (r *Runs) wantFor(elems int, op Op) {
	want(r.Length > 0, "runs of nothing")
	n := (elems + r.Length - 1) / r.Length
	want(len(r.Scales) >= n && (op == Scale || len(r.Seconds) >= n), "runs without a scale")
}

// eachRun calls kernel for whole chunks of as many runs as possible, and scalar for the
// rest: elements [from, to) of run r. The rest of a run is decoded by a chunk that ends
// with it, if that begins at a multiple of unit; its first numbers are then written twice.
func eachRun(elems, run, chunk, unit int, kernel func(r, runs, chunks, at int), scalar func(r, from, to int)) {
	n, whole := (elems+run-1)/run, elems/run
	if kernel == nil || run < chunk {
		for r := range n {
			scalar(r, r*run, min(elems, (r+1)*run))
		}
		return
	}
	if run%chunk == 0 && whole > 0 {
		kernel(0, whole, run/chunk, 0)
	} else {
		whole = 0
	}
	for r := whole; r < n; r++ {
		from, to := r*run, min(elems, (r+1)*run)
		if chunks := (to - from) / chunk; chunks > 0 {
			kernel(r, 1, chunks, from)
			from += chunks * chunk
			if last := (to - chunk) / unit * unit; from+unit <= to {
				kernel(r, 1, 1, last)
				from = last + chunk
			}
		}
		if from < to {
			scalar(r, from, to)
		}
	}
}
