package simulated_test

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/hub/internal/simulated"
)

// TestAPopulationIsAFunction: a repository is the same whenever it is asked for, in every sample.
func TestAPopulationIsAFunction(t *testing.T) {
	all, some := simulated.Population{Seed: 1, Repos: 5_000_000, Every: 1}, simulated.Population{Seed: 1, Repos: 5_000_000, Every: 100}
	other := simulated.Population{Seed: 2, Repos: 5_000_000, Every: 1}
	different, hostile := 0, 0
	for n := 0; n < 5_000_000; n += 1000 {
		a, b := all.Repo(n), some.Repo(n)
		if a != b {
			t.Fatalf("repository %d is %v and %v", n, a, b)
		}
		if c := other.Repo(n); a != c {
			different++
		}
		if a.Hostile {
			hostile++
		}
	}
	if different < 4900 {
		t.Errorf("only %d of 5000 repositories differ under another seed", different)
	}
	if hostile < 140 || hostile > 230 { // 185 of 5,000 are expected, with a deviation of 13
		t.Errorf("%d of 5000 repositories are hostile", hostile)
	}
}

// TestStatedDigests: files that are read whole have the digest that the listing states.
func TestStatedDigests(t *testing.T) {
	p := simulated.Population{Seed: 3, Repos: 100_000, Every: 1}
	whole := 0
	for n := range 60 {
		for _, f := range p.Repo(n).Files() {
			if f.Size() > 8<<20 {
				continue
			}
			data, err := io.ReadAll(io.NewSectionReader(&f, 0, f.Size()))
			if err != nil || int64(len(data)) != f.Size() {
				t.Fatalf("%s: %d bytes, %v", f.Name, len(data), err)
			}
			sum := sha256.Sum256(data)
			object := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(data)), data...))
			if d := f.Digest(); d == hex.EncodeToString(sum[:]) || d == hex.EncodeToString(object[:]) {
				whole++
			} else if f.Name != "adapter_model.safetensors" {
				t.Errorf("repository %d: %s does not have its digest", n, f.Name)
			}
		}
	}
	if whole < 200 {
		t.Errorf("only %d files were compared", whole)
	}
}
