// Package simulated is a hub of millions of repositories that do not exist: each is a function of a
// seed and its number, and its files are made when they are asked for. Large files are a structure
// followed by numbers that a formula gives, so that a checkpoint of 4 GB costs its header.
//
// What is known of the real hub is used where it is published: 3.7 % of the repositories have an
// issue (51,700 of 1.41 million, Protect AI, April 2025), a file of safetensors has 1 GB and a GGUF
// 8 GB on average (the hub's own storage team, 2024), and 45 % of the models that people load are
// pickles. The other shares are assumptions, all of them in the table of kinds.
package simulated

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
)

// Owner is the owner of all repositories.
const Owner = "sim"

// A Population says which repositories there are: those of the numbers 0, Every, 2*Every and so on
// below Repos.
type Population struct {
	Seed  uint64
	Repos int
	Every int
}

// A kind is what a repository holds.
type kind int

const (
	noModel kind = iota // a card alone
	safetensorsModel
	torchModel
	bothModel // safetensors and torch's pickle
	adapter
	ggufModel
	onnxModel
	picklesModel // of other libraries
)

// kinds are the shares of a thousand repositories.
var kinds = []struct {
	kind
	of1000 int
}{{noModel, 80}, {safetensorsModel, 340}, {torchModel, 250}, {bothModel, 80}, {adapter, 120}, {ggufModel, 90}, {onnxModel, 20}, {picklesModel, 20}}

// Of a thousand repositories, so many are hostile, and so many hold the weights of another.
const (
	hostileOf1000 = 37
	copiesOf1000  = 250
)

// families is the number of model families: repositories of one have the same tokenizer and shapes.
const families = 400

// A Repo is one repository.
type Repo struct {
	Number  int
	Hostile bool

	kind
	family  int
	weights uint64 // which the weights are: the number of the repository that had them first
}

// Count is how many repositories are listed.
func (p *Population) Count() int { return (p.Repos + p.Every - 1) / p.Every }

// Repo returns a repository by its number.
func (p *Population) Repo(n int) Repo {
	own := p.origin(n)
	r := rand.New(rand.NewPCG(p.Seed, uint64(n)<<1|1))
	if r.IntN(1000) < copiesOf1000 {
		// A few models have most of the copies: the cube of a uniform number.
		at := r.Float64()
		own = p.origin(int(at * at * at * float64(p.Repos)))
	}
	own.Number, own.Hostile = n, r.IntN(1000) < hostileOf1000
	return own
}

// origin is a repository as it would be if it were no copy.
func (p *Population) origin(n int) Repo {
	r := rand.New(rand.NewPCG(p.Seed, uint64(n)<<1))
	out := Repo{Number: n, weights: uint64(n)}
	at := r.Float64()
	out.family = int(at * at * families)
	share := r.IntN(1000)
	for _, k := range kinds {
		if share -= k.of1000; share < 0 {
			out.kind = k.kind
			break
		}
	}
	return out
}

// Name is OWNER/NAME.
func (r Repo) Name() string { return fmt.Sprintf("%s/r%d", Owner, r.Number) }

// Commit is the head of its main branch.
func (r Repo) Commit() string {
	sum := sha1.Sum([]byte(r.Name()))
	return hex.EncodeToString(sum[:])
}
