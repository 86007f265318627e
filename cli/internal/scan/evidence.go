package scan

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/anamnesis-go/anamnesis/cli/internal/coverage"
	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/judging"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/digest"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/attest"
	"github.com/anamnesis-go/anamnesis/gate/bom"
	"github.com/anamnesis-go/anamnesis/internal/output"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// evidenceFlags choose the documents that a scan writes for others.
type evidenceFlags struct {
	BOM    string `name:"bom" placeholder:"FILE" help:"Also write a bill of materials (CycloneDX 1.6): each file, tensor and chat template with its SHA-256."`
	Attest string `placeholder:"FILE" help:"If the whole folder or file is accepted, write a signed statement of it (in-toto in a DSSE envelope), which amn verify --attestation reads."`
	Key    string `placeholder:"FILE" help:"Private key for --attest: Ed25519 or ECDSA, in PEM."`
}

// check rejects flags that cannot be combined.
func (f *evidenceFlags) check(paths []string, p *judging.PipelineFlags) error {
	switch {
	case (f.Attest == "") != (f.Key == ""):
		return errors.New("--attest and --key need each other")
	case f.Attest != "" && (len(paths) != 1 || paths[0] == "-" || len(p.Exclude) > 0):
		return errors.New("--attest covers all of one folder or file: name one, and exclude nothing")
	}
	return nil
}

// outputs lists the files that are written.
func (f *evidenceFlags) outputs() (list []disk.Output) {
	for _, o := range []disk.Output{{Flag: "--bom", Path: f.BOM, Kind: "bom"}, {Flag: "--attest", Path: f.Attest, Kind: "attest"}} {
		if o.Path != "" {
			list = append(list, o)
		}
	}
	return list
}

// folders returns the folders of the outputs.
func (e *evidence) folders() []string { return append(e.out.Folders(), e.claim.Folders()...) }

// evidence collects the documents of a scan.
type evidence struct {
	flags *evidenceFlags
	s     *run.Run
	gate  *gate.Gate

	bom  *bom.Writer
	out  *disk.Atomic
	seen *bom.Model // the content of the current file

	claim             *disk.Atomic // the statement
	key               crypto.Signer
	root              string
	before            *coverage.Coverage // of the root, before anything was judged
	uncovered         error              // why it cannot be covered
	sums              map[string]digest.Sum
	refused           bool
	missing           string // a file without a digest
	missingProperties map[string]bool
}

// open begins the documents, and asks the gate for what they need.
func (e *evidence) open(g *gate.Gate, paths []string, force bool) (err error) {
	e.gate, e.missingProperties = g, map[string]bool{}
	if e.flags.BOM != "" {
		if e.out, err = disk.Create(disk.Output{Flag: "--bom", Path: e.flags.BOM, Kind: "bom"}, force, disk.GuardOf(paths)); err != nil {
			return err
		}
		e.bom, g.Digest = bom.New(e.out.W, e.s.Build().Version), true
		g.Seen = func(b *limits.Budget, m tensor.Model) (err error) {
			e.seen, err = bom.Describe(b, m, digest.Options{Workers: e.s.Workers})
			return err
		}
	}
	if e.flags.Attest == "" {
		return nil
	}
	text, err := disk.ReadBounded(e.flags.Key, attest.MaxBytes)
	if err != nil {
		return err
	}
	if e.key, err = attest.PrivateKey(text); err != nil {
		return fault.Usage("--key " + e.flags.Key + ": " + err.Error())
	}
	e.root, g.Digest, e.sums = paths[0], true, map[string]digest.Sum{}
	if e.claim, err = disk.Create(disk.Output{Flag: "--attest", Path: e.flags.Attest, Kind: "attest"}, force, disk.GuardOf(paths)); err != nil {
		return err
	}
	if _, err := os.Stat(e.root); err == nil {
		e.before, e.uncovered = e.cover()
	}
	return nil // otherwise it is an address or a name, or the scan reports what is wrong
}

// cover lists what the statement covers.
func (e *evidence) cover() (*coverage.Coverage, error) {
	var own []string
	for _, o := range e.flags.outputs() {
		dir, name := filepath.Split(o.Path)
		own = append(own, o.Path, filepath.Join(dir, output.Partial(name)), filepath.Join(dir, output.Mark(name)))
	}
	return coverage.Of(e.root, own, func(name string) (string, error) {
		if name == attest.SignatureName {
			return name, nil
		}
		return "", nil
	})
}

// add records one file.
func (e *evidence) add(rep *scanReport) error {
	if e.key != nil {
		e.attest(rep)
	}
	seen := e.seen
	e.seen = nil
	if e.bom == nil {
		return nil
	}
	return e.bom.Add(rep.path, rep.Verdict, seen)
}

// attest records the digest of one file, and which properties do not hold.
func (e *evidence) attest(rep *scanReport) {
	name := rep.Name
	if rep.path == e.root {
		name = "."
	}
	switch {
	case rep.Err != nil:
		e.refused = true
	case name == attest.SignatureName || e.written(rep.path):
		return
	case rep.SHA256 == "" && rep.Harmless != "": // a link to a folder, whose files are walked elsewhere
		return
	case rep.SHA256 == "":
		e.missing = rep.path
	}
	e.missingProperties[attest.Read] = e.missingProperties[attest.Read] || rep.Format != "" && rep.Bodies() == "not read"
	e.missingProperties[attest.Verified] = e.missingProperties[attest.Verified] || rep.Format != "" && rep.Bodies() != "verified"
	e.missingProperties[attest.LookedAt] = e.missingProperties[attest.LookedAt] || rep.Unlooked != ""
	e.missingProperties[attest.AsIs] = e.missingProperties[attest.AsIs] || len(rep.Ignored) > 0
	if sum, ok := digest.ParseSum(rep.SHA256); ok {
		e.sums[name] = sum
	}
}

// written reports whether this run writes the file itself.
func (e *evidence) written(path string) bool {
	return coverage.IsAt(path, []string{e.flags.Attest, e.flags.BOM})
}

// close completes the documents. Nothing is attested if a file was refused.
func (e *evidence) close() error {
	if e.bom != nil {
		if err := errors.Join(e.bom.Close(), e.out.Commit()); err != nil {
			return err
		}
	}
	switch {
	case e.key == nil:
		return nil
	case e.refused || len(e.sums) == 0:
		e.s.PrintError("", errors.New("nothing was attested, because a file was refused or none was found"))
		return nil
	case e.missing != "":
		return fault.Usage("--attest: nothing was attested, because " + term.Path(e.missing) + " has no digest")
	}
	files, links, err := e.covered()
	switch {
	case errors.Is(err, attest.ErrUncovered):
		return fault.Usage("--attest: nothing was attested: " + err.Error())
	case err != nil:
		return fmt.Errorf("--attest: nothing was attested: %w", err)
	}
	policy, err := e.gate.Policy.Digest()
	if err != nil {
		return err
	}
	whole, err := filepath.Abs(e.root)
	if err != nil {
		return err
	}
	r := attest.Result{Name: filepath.Base(whole), Files: files, Links: links, Policy: policy, Version: e.s.Build().Version, Time: time.Now()}
	for _, p := range []string{attest.Accepted, attest.Read, attest.Verified, attest.LookedAt, attest.AsIs} {
		if !e.missingProperties[p] {
			r.Properties = append(r.Properties, p)
		}
	}
	text, err := r.Statement()
	if err != nil {
		return err
	}
	if text, err = attest.Sign(text, e.key); err != nil {
		return err
	}
	if _, err := e.claim.W.Write(text); err != nil {
		return err
	}
	return e.claim.Commit()
}

// covered returns the files that were judged, if they are all that a loader of the root
// reaches, and are still what they were.
func (e *evidence) covered() (files []attest.File, links []attest.Link, err error) {
	if e.uncovered != nil {
		return nil, nil, e.uncovered
	}
	if e.before == nil { // a listing that the gate has read whole: nothing is beside it
		for name, sum := range e.sums {
			files = append(files, attest.File{Name: name, Sum: sum})
		}
		return files, nil, nil
	}
	b := e.s.Policy.Long().Budget(context.Background())
	defer b.Close()
	now, err := e.cover()
	if err == nil {
		err = e.before.CheckSame(now)
	}
	if err == nil {
		err = errors.Join(now.CheckLeft(b, nil), now.CheckAlone(b))
	}
	if err != nil {
		return nil, nil, err
	}
	for i := range now.Files {
		f := &now.Files[i]
		sum, ok := e.sums[f.Name]
		if !ok {
			return nil, nil, coverage.NotCovered("%s was not judged", wire.Quote(f.Name))
		}
		f.Sum = sum
	}
	if len(e.sums) != len(now.Files) {
		return nil, nil, coverage.NotCovered("%s were judged, and the folder has %d", term.Plural(int64(len(e.sums)), "file"), len(now.Files))
	}
	return now.Files, now.Links, nil
}

// abandon discards what an error has left incomplete.
func (e *evidence) abandon() {
	e.out.Discard()
	e.claim.Discard()
}
