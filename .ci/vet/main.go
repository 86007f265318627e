// Vet is go vet over the source of everything that is imported. go vet itself reads compiled
// packages, and for a system on which nothing runs here it would compile all of them.
//
//	GOOS=windows vet ./...
package main

import (
	"golang.org/x/tools/go/analysis/multichecker"
	"golang.org/x/tools/go/analysis/suite/vet"
)

func main() { multichecker.Main(vet.Suite...) }
