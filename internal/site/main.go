// Site writes the documents of this repository as pages that any static host serves, or
// a browser opens from a folder:
//
//	go run ./internal/site OUT
//
// A page is one file that makes no request. Its style and its script are inside and allowed by
// their digests; without the script a page lacks only the search and the buttons that copy.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: site OUT")
		os.Exit(2)
	}
	s, err := load(".")
	if err == nil {
		err = s.write(os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	fmt.Printf("%d pages in %s\n", len(s.pages), os.Args[1])
}
