package asm

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
)

// A Level is an instruction set that kernels are written for.
type Level uint8

// The levels, worst first. Each processor has Generic.
const (
	Generic Level = iota
	avx2          // with F16C, FMA, POPCNT, BMI1 and BMI2
	avx512        // F, BW, VL, DQ and VBMI
	neon
	levels
)

var levelNames = [levels]string{"generic", "avx2", "avx512", "neon"}

func (l Level) String() string { return levelNames[l] }

// Features is a set of levels.
type Features uint8

// Features returns the level and those that it builds on.
func (l Level) Features() Features {
	f := Features(0).with(l)
	for below := avx2; below < l && l != neon; below++ {
		f = f.with(below)
	}
	return f
}

// has reports whether a level is in the set.
func (f Features) has(l Level) bool { return l == Generic || f>>l&1 == 1 }

// with adds a level.
func (f Features) with(l Level) Features { return f | 1<<l }

// allLevels returns every level.
func allLevels() []Level { return []Level{Generic, avx2, avx512, neon} }

// variable is the environment variable that forces a level, with those that it builds on.
const variable = "AMN_CPU"

// Forced reads the variable. It returns the processor's features, or those of the level
// that it names, and an error for an unknown level or one without kernels on this
// processor or in this build.
func Forced() (Features, error) {
	name := os.Getenv(variable)
	if name == "" {
		return features(), nil
	}
	at := slices.Index(levelNames[:], name)
	switch {
	case at < 0:
		return 0, fmt.Errorf("%s=%s is not one of %s", variable, name, strings.Join(levelNames[:], ", "))
	case !slices.Contains(Machine(), Level(at)):
		return 0, fmt.Errorf("%s=%s: not on this processor, or not in this build", variable, name)
	}
	return Level(at).Features() & features(), nil
}

// Best returns the table of this machine, or of the level that the variable names. If the
// variable is invalid, it returns the scalar functions, and the command refuses to run.
func Best() *Ops { return best() }

var best = sync.OnceValue(func() *Ops {
	f, err := Forced()
	if err != nil {
		f = 0
	}
	o := For(f)
	return &o
})

// Machine returns the levels that this machine and this build have.
func Machine() []Level {
	out := []Level{Generic}
	for _, l := range allLevels()[1:] {
		if o := For(Features(0).with(l)); features().has(l) && o.level == l {
			out = append(out, l)
		}
	}
	return out
}
