// Scan says of files whether a host may keep them, and by which rules not.
//
//	go run ./examples/scan testdata/demo/checkpoint.pt
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
)

func main() {
	policy, _ := gate.Profile("server")
	host := limits.Policy{MaxTotalBytes: 1 << 30, Timeout: limits.NoTimeout}.Budget(context.Background())
	defer host.Close()
	for _, path := range os.Args[1:] {
		if err := judge(host, gate.New(policy), policy, path); err != nil {
			log.Fatal(err)
		}
	}
}

func judge(host *limits.Budget, g *gate.Gate, policy gate.Policy, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	b := host.Child(policy.Limits) // this file's: closing it returns what it took
	defer b.Close()
	v, err := g.Check(b, f, info.Size(), gate.Hint{Name: filepath.Base(path)})
	if err != nil {
		return err
	}
	defer v.Close()
	fmt.Printf("%q: %v\n", path, v.Class())
	for _, r := range v.Refusals() {
		fmt.Printf("  %s at %d: %s\n", r.Rule, r.Off, r.Text)
	}
	return nil
}
