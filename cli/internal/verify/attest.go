package verify

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/anamnesis-go/anamnesis/cli/internal/coverage"
	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/digest"
	"github.com/anamnesis-go/anamnesis/gate/attest"
	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// attestFlags compare a model with a signed statement.
type attestFlags struct {
	Attestation string `placeholder:"FILE" help:"Check all files of the model or folder against a statement of amn scan --attest, or a model.sig of Model Signing 1.0."`
	Key         string `placeholder:"FILE" help:"Public key of the signer: Ed25519 or ECDSA, in PEM."`
	ExceptGit   bool   `help:"What belongs to git (.git, .gitattributes, .gitignore, .github) may have changed since a scan attested it, if no text of the folder could name it."`
}

// verifyClaim checks the signature of the statement, then the files.
func (f *attestFlags) verifyClaim(ctx context.Context, s *run.Run, path string) error {
	claim, err := f.open()
	count := 0
	if err == nil {
		count, err = f.check(ctx, s, path, claim)
	}
	if err, ok := errors.AsType[fault.Interrupted](err); ok {
		return err
	}
	s.Count.Note(err)
	switch {
	case s.JSON:
		jsonout.Write(s.Out.Writer, func(o *jsonout.Object) { jsonClaim(o, path, claim, count, err) })
		s.Out.WriteByte('\n')
	case err == nil:
		s.Out.Prose(4, "%s: %s, %s", term.Path(path), term.Plural(int64(count), "file"), claimText(claim))
	}
	if err != nil {
		s.PrintError(path, err)
	}
	return nil
}

// open returns the statement, whose signature it has checked.
func (f *attestFlags) open() (*attest.Claim, error) {
	text, err := disk.ReadBounded(f.Key, attest.MaxBytes)
	if err != nil {
		return nil, err
	}
	key, err := attest.PublicKey(text)
	if err != nil {
		return nil, fault.Usage("--key " + f.Key + ": " + err.Error())
	}
	if text, err = disk.ReadBounded(f.Attestation, attest.MaxBytes); err != nil {
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

// check compares the files with the claim, and makes sure that no loader reaches what the
// claim does not cover. It returns the number of files.
func (f *attestFlags) check(ctx context.Context, s *run.Run, root string, claim *attest.Claim) (int, error) {
	list := func() (*coverage.Coverage, error) {
		return coverage.Of(root, []string{f.Attestation}, func(name string) (string, error) {
			what, ok := claim.LeavesOut(name)
			if f.ExceptGit && what == "" && claim.Files == nil {
				what = attest.Beside(name)
			}
			if !ok && !coverage.IsAt(filepath.Join(root, filepath.FromSlash(name)), []string{f.Attestation}) {
				return "", coverage.NotCovered("the signature leaves out %s (its ignore_paths have %s), which a loader may open: sign it too, or keep it elsewhere", wire.Quote(name), wire.Quote(what))
			}
			return what, nil
		})
	}
	c, err := list()
	if err != nil {
		return 0, err
	}
	if claim.Files != nil && !claim.FollowsLinks {
		if err := c.CheckNoLinks(); err != nil {
			return 0, err
		}
	}
	b := s.Policy.Long().Budget(ctx)
	defer b.Close()
	if err := f.hash(b, s, c); err != nil {
		return 0, err
	}
	switch err := claim.Check(c.Files, c.Links...); {
	case errors.Is(err, attest.ErrGitDiffers):
		return 0, fmt.Errorf("%w. With --except-git that is allowed where no text could name it", err)
	case err != nil:
		return 0, err
	}
	if err := errors.Join(c.CheckLeft(b, claim.Absent(c.Files)), c.CheckAlone(b)); err != nil {
		return 0, err
	}
	now, err := list()
	if err != nil {
		return 0, err
	}
	return len(c.Files), c.CheckSame(now)
}

// hash sets the digests of the files.
func (f *attestFlags) hash(b *limits.Budget, s *run.Run, c *coverage.Coverage) (err error) {
	var read, next atomic.Int64
	done := s.Progress("hashing "+term.Path(c.Root), func() (int64, int64) { return read.Load(), c.Size })
	defer done()
	workers := max(1, min(s.Workers, len(c.Files)))
	errs := make(chan error, workers)
	for range workers {
		go func() { errs <- hashSome(b, c.Files, c.Paths, &next, &read) }()
	}
	for range workers {
		err = errors.Join(err, <-errs)
	}
	return err
}

// hashSome hashes files until none is left.
func hashSome(b *limits.Budget, files []attest.File, paths []string, next, read *atomic.Int64) error {
	for {
		i := int(next.Add(1)) - 1
		if i >= len(files) {
			return nil
		}
		sum, _, err := hashFile(b, paths[i], read)
		if err != nil {
			next.Store(int64(len(files))) // so that the other workers end too
			return err
		}
		files[i].Sum = sum
	}
}

// hashFile hashes one file.
func hashFile(b *limits.Budget, path string, read *atomic.Int64) (digest.Sum, int64, error) {
	f, err := folder.OpenRegular(path)
	if err != nil {
		return digest.Sum{}, 0, err
	}
	defer f.Close()
	account := b.Probe()
	defer account.Close()
	return digest.Reader(account, f, read)
}

// claimText describes what was signed.
func claimText(c *attest.Claim) string {
	if c.Files != nil {
		return "signed as they are (Model Signing 1.0), digest " + c.Root.String()
	}
	return fmt.Sprintf("judged on %s under policy %.12s: %s; digest %s", term.Tidy(c.Time, 64), term.Tidy(c.Policy, 64), term.Tidy(strings.Join(c.Properties, ", "), 512), c.Root)
}

// jsonClaim writes the result as cli/schema/attestation.json describes it.
func jsonClaim(o *jsonout.Object, path string, c *attest.Claim, files int, err error) {
	o.Field("schema", "amn.attestation/1")
	o.Text("path", path)
	o.Field("class", fault.ClassOf(err).String())
	o.Field("exit", fault.ClassOf(err).ExitCode())
	if err != nil {
		o.Object("error", func(o *jsonout.Object) { fault.JSON(o, err) })
	}
	if c == nil {
		return
	}
	o.Field("kind", map[bool]string{true: "signature", false: "result"}[c.Files != nil])
	o.Text("name", c.Name)
	o.Field("digest", c.Root.String())
	o.Number("files", int64(files))
	if c.Files == nil {
		o.Text("time", c.Time)
		o.Text("policy", c.Policy)
		o.Field("properties", append([]string{}, c.Properties...))
	}
}
