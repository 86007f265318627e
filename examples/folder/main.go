// Folder walks a folder of models as amn scan does, and prints each verdict as JSON.
//
//	go run ./examples/folder testdata/demo
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/anamnesis-go/anamnesis/gate"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: folder FOLDER")
	}
	policy, _ := gate.Profile("strict")
	b := policy.Limits.Budget(context.Background())
	defer b.Close()
	for v, err := range gate.New(policy).CheckPath(b, os.Args[1]) {
		if err != nil {
			log.Fatal(err)
		}
		text, err := v.MarshalJSON()
		v.Close()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", text)
	}
}
