package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/anamnesis-go/anamnesis/digest"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/attest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// attestFlags compare a model with a signed statement.
type attestFlags struct {
	Attestation string `placeholder:"FILE" help:"Check all files of the model or folder against a statement of amn scan --attest, or a model.sig of Model Signing 1.0."`
	Key         string `placeholder:"FILE" help:"Public key of the signer: Ed25519 or ECDSA, in PEM."`
}

// verifyClaim checks the signature of the statement, then the files.
func (f *attestFlags) verifyClaim(ctx context.Context, s *session, path string) error {
	claim, err := f.open()
	count := 0
	if err == nil {
		var files []attest.File
		if files, err = f.hash(ctx, s, path, claim); err == nil {
			err, count = claim.Check(files), len(files)
		}
	}
	if err, ok := errors.AsType[interrupted](err); ok {
		return err
	}
	s.note(err)
	switch {
	case s.json:
		object(s.out, func(o *jsonObject) { jsonClaim(o, path, claim, count, err) })
		s.out.WriteByte('\n')
	case err == nil:
		s.prose(4, "%s: %s, %s", showPath(path), plural(int64(count), "file"), claimText(claim))
	}
	if err != nil {
		s.printError(path, err)
	}
	return nil
}

// open returns the statement, whose signature it has checked.
func (f *attestFlags) open() (*attest.Claim, error) {
	text, err := readBounded(f.Key, attest.MaxBytes)
	if err != nil {
		return nil, err
	}
	key, err := attest.PublicKey(text)
	if err != nil {
		return nil, usage{"--key " + f.Key + ": " + err.Error()}
	}
	if text, err = readBounded(f.Attestation, attest.MaxBytes); err != nil {
		return nil, err
	}
	if text, err = attest.Open(text, key); err != nil {
		return nil, wire.At("attestation", "", wire.NoOffset, err)
	}
	claim, err := attest.Parse(text)
	if err != nil {
		return nil, wire.At("attestation", "", wire.NoOffset, err)
	}
	return claim, nil
}

func readBounded(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}

// hash returns the digests of all files that the claim covers.
func (f *attestFlags) hash(ctx context.Context, s *session, root string, claim *attest.Claim) ([]attest.File, error) {
	files, paths, size, err := f.listFiles(root, claim)
	if err != nil {
		return nil, err
	}
	b := s.longPolicy().Budget(ctx)
	defer b.Close()
	var read, next atomic.Int64
	done := s.progress("hashing "+showPath(root), func() (int64, int64) { return read.Load(), size })
	defer done()
	workers := max(1, min(s.workers, len(files)))
	errs := make(chan error, workers)
	for range workers {
		go func() { errs <- hashSome(b, files, paths, &next, &read) }()
	}
	for range workers {
		err = errors.Join(err, <-errs)
	}
	return files, err
}

// hashSome hashes files until none is left.
func hashSome(b *limits.Budget, files []attest.File, paths []string, next, read *atomic.Int64) error {
	for {
		i := int(next.Add(1)) - 1
		if i >= len(files) {
			return nil
		}
		sum, _, err := hashFile(b, paths[i], read, new(atomic.Bool))
		if err != nil {
			next.Store(int64(len(files))) // the others end, too
			return err
		}
		files[i].Sum = sum
	}
}

// listFiles returns the files below a folder that the claim covers.
func (f *attestFlags) listFiles(root string, claim *attest.Claim) (files []attest.File, paths []string, size int64, err error) {
	add := func(name, path string, info fs.FileInfo) {
		files, paths, size = append(files, attest.File{Name: name, Sum: digest.Sum{}}), append(paths, path), wire.AddCap(size, info.Size())
	}
	info, err := os.Stat(root)
	if err != nil {
		return nil, nil, 0, err
	}
	switch {
	case info.Mode().IsRegular():
		add(".", root, info)
		return files, paths, size, nil
	case !info.IsDir(): // opening a pipe would wait for a writer
		return nil, nil, 0, wire.ErrUnsupported.Errorf("it is neither a regular file nor a folder")
	}
	top := root + string(filepath.Separator) // a link that is named is followed
	err = filepath.WalkDir(top, func(at string, e fs.DirEntry, err error) error {
		if err != nil || at == top {
			return err
		}
		rel, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		switch {
		case attest.Ignored(name) || ignores(claim, name):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir(), isOneOf(at, []string{f.Attestation}):
			return nil
		}
		mode := e.Type()
		if mode&fs.ModeSymlink != 0 {
			to, why := gate.Follow(root, at)
			if claim.Files != nil && !claim.Links {
				why = "a link, and the signature follows none"
			}
			if why != "" {
				return fmt.Errorf("%w: %s is %s", attest.ErrDiffers, wire.Quote(name), why)
			}
			if mode = to; to.IsDir() {
				return nil
			}
		}
		if !mode.IsRegular() {
			return fmt.Errorf("%w: %s is not a regular file", attest.ErrDiffers, wire.Quote(name))
		}
		info, err := os.Stat(at)
		if err == nil {
			add(name, at, info)
		}
		return err
	})
	return files, paths, size, err
}

// ignores reports whether a signature ignores a path, or a folder that contains it.
func ignores(claim *attest.Claim, name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if slices.Contains(claim.Ignores, name) {
			return true
		}
	}
	return false
}

// claimText describes what was signed.
func claimText(c *attest.Claim) string {
	if c.Files != nil {
		return "signed as they are (Model Signing 1.0), digest " + c.Root.String()
	}
	return fmt.Sprintf("judged on %s under policy %.12s: %s; digest %s", tidy(c.Time, 64), tidy(c.Policy, 64), tidy(strings.Join(c.Properties, ", "), 512), c.Root)
}

// jsonClaim writes the result as cli/schema/attestation.json describes it.
func jsonClaim(o *jsonObject, path string, c *attest.Claim, files int, err error) {
	o.field("schema", "amn.attestation/1")
	o.text("path", path)
	o.field("class", wire.ClassOf(err).String())
	o.field("exit", wire.ClassOf(err).ExitCode())
	if err != nil {
		o.object("error", func(o *jsonObject) { jsonError(o, err) })
	}
	if c == nil {
		return
	}
	o.field("kind", map[bool]string{true: "signature", false: "result"}[c.Files != nil])
	o.text("name", c.Name)
	o.field("digest", c.Root.String())
	o.number("files", int64(files))
	if c.Files == nil {
		o.text("time", c.Time)
		o.text("policy", c.Policy)
		o.field("properties", append([]string{}, c.Properties...))
	}
}
