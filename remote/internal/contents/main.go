// Contents prints the files at addresses as JSON, one line for each address: the SHA-256 of each
// file by its name, or why nothing is read. It reads as the program does, for comparison with
// other clients (crosscheck/clients.py). Private addresses are allowed.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/remote"
)

type answer struct {
	Files   map[string]string `json:"files"`
	Refused string            `json:"refused,omitempty"`
}

// contents reads all files at an address.
func contents(address string) (*answer, error) {
	b := limits.Policy{Timeout: 20 * time.Second}.Budget(context.Background())
	defer b.Close()
	o := remote.FromEnv()
	o.AllowPrivate = true
	files, root, err := remote.Files(b, address, o)
	if err != nil {
		return nil, err
	}
	a := &answer{Files: map[string]string{}}
	return a, fs.WalkDir(files, root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		f, err := files.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		sum := sha256.New()
		if _, err := io.Copy(sum, f.(io.Reader)); err != nil {
			return err
		}
		a.Files[name] = hex.EncodeToString(sum.Sum(nil))
		return nil
	})
}

// main reads addresses as lines of JSON strings.
func main() {
	out := json.NewEncoder(os.Stdout)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var address string
		if err := json.Unmarshal(in.Bytes(), &address); err != nil {
			panic(err)
		}
		a, err := contents(address)
		if err != nil {
			a = &answer{Refused: err.Error()}
		}
		if err := out.Encode(a); err != nil {
			panic(err)
		}
	}
}
