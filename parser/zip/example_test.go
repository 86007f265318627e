package zip_test

import (
	stdzip "archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// Decode refuses an archive with bytes that belong to no member, because readers could differ about
// them.
func Example() {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()

	var file bytes.Buffer
	archive := stdzip.NewWriter(&file)
	if w, err := archive.Create("a.txt"); err != nil {
		log.Fatal(err)
	} else if _, err := io.WriteString(w, "hello"); err != nil {
		log.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		log.Fatal(err)
	}

	a, err := zip.Decode(b, bytes.NewReader(file.Bytes()), int64(file.Len()), zip.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for i, m := range a.Members {
		r, err := a.Open(b, i)
		if err != nil {
			log.Fatal(err)
		}
		defer r.Close()
		text, err := io.ReadAll(io.LimitReader(r, int64(m.Size)))
		fmt.Printf("%s: %s %v\n", m.Name, text, err)
	}

	smuggled := append([]byte("MZ"), file.Bytes()...)
	_, err = zip.Decode(b, bytes.NewReader(smuggled), int64(len(smuggled)), zip.Options{})
	fmt.Println(err)
	// Output:
	// a.txt: hello <nil>
	// zip: at 0x0: not this format: a ZIP archive begins with PK 3 4
}
