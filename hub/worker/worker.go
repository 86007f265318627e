package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/hub/blob"
	"github.com/anamnesis-go/anamnesis/hub/rollout"
	"github.com/anamnesis-go/anamnesis/hub/rules"
	"github.com/anamnesis-go/anamnesis/hub/source"
	"github.com/anamnesis-go/anamnesis/hub/store"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Name is what the folder of a revision is called in its verdict: the same files have the same
// verdict, whatever their repository is called.
const Name = "."

// maxDetail bounds the JSON of a verdict that is stored.
const maxDetail = 16 << 20

// A Worker judges revisions. Its methods may be called by many goroutines.
type Worker struct {
	Store store.Store
	Blobs *blob.Store // of revisions that came as manifests; may be nil
	// Sources opens the files of other revisions.
	Sources source.Sources
	// Gate judges. It digests each file; the day of its exceptions is today's.
	Gate gate.Gate
	// Policies, if set, has the policy of each tenant, which takes the place of the gate's.
	Policies *rollout.Policies
	// Budget is the account of the process.
	Budget *limits.Budget
	// Child judges a revision in another process and returns its verdict's JSON; [InProcess]
	// unless set.
	Child func(ctx context.Context, g *gate.Gate, w store.Work) ([]byte, error)
	// Log is told of each revision; may be nil.
	Log *slog.Logger
	// Now is the clock.
	Now func() time.Time
}

// Work judges the revision of a job, and stores what it found. It is what a [store.Queue] calls.
func (w *Worker) Work(ctx context.Context, j store.Job) error {
	began := time.Now()
	v, err := w.current(ctx, j)
	switch {
	case errors.Is(err, errReplaced):
		w.log("replaced", j)
		return w.Store.Replace(ctx, j, v.by)
	case err == nil:
		if err = w.Store.Finish(ctx, j, v.Judged); err == nil {
			w.log("judged", j, "class", v.Class, "dir_hash", v.DirHash, "policy", v.Policy, "rules", v.Rules, "took", time.Since(began), "how", v.How, "mode", v.Mode, "caller", j.Work.Caller, "request", j.Work.Request)
			return nil
		}
	case ctx.Err() != nil: // of the process, or of the attempt: the queue knows which
	case j.Last:
		w.log("parked", j, "reason", err.Error())
		return w.Store.Park(ctx, j, reason(err))
	}
	w.log("failed", j, "error", err.Error())
	return err
}

// A result is what was found out, or the revision that is there by now.
type result struct {
	store.Judged

	by store.Work
}

// errReplaced means that the files are those of another revision.
var errReplaced = errors.New("the files are those of another revision")

// current judges a revision that is still what its source has, before and after.
func (w *Worker) current(ctx context.Context, j store.Job) (out result, err error) {
	if out.by, err = w.Sources.Now(ctx, w.Budget, j.Work); err != nil {
		return out, err
	}
	if out.by.Revision != j.Work.Revision {
		return out, errReplaced
	}
	if out.Judged, err = w.judge(ctx, j); err != nil {
		return out, err
	}
	if out.by, err = w.Sources.Now(ctx, w.Budget, j.Work); err == nil && out.by.Revision != j.Work.Revision {
		err = errReplaced
	}
	return out, err
}

func (w *Worker) log(what string, j store.Job, more ...any) {
	if w.Log == nil {
		return
	}
	w.Log.Info(what, append([]any{"tenant", j.Work.Tenant, "repo", j.Work.Repo, "revision", j.Work.Revision, "job", j.ID, "attempt", j.Attempt}, more...)...)
}

// reason is an error as an operator reads it.
func reason(err error) string { return wire.Text(err.Error(), 1024) }

// by returns what a tenant is judged by now.
func (w *Worker) by(ctx context.Context, tenant string) (*rollout.Current, error) {
	if w.Policies != nil {
		return w.Policies.Now(ctx, tenant)
	}
	g := w.Gate
	now := time.Now
	if w.Now != nil {
		now = w.Now
	}
	g.Today = now().UTC().Format(time.DateOnly)
	judge, err := g.WithDigest()
	if err != nil {
		return nil, err
	}
	policy, err := g.Policy.Digest()
	return &rollout.Current{Gate: judge, Policy: policy, Mode: store.Enforce, Rules: gate.RulesDigest(g.Version)}, err
}

// judge returns what is known of a revision afterwards.
func (w *Worker) judge(ctx context.Context, j store.Job) (out store.Judged, err error) {
	by, err := w.by(ctx, j.Work.Tenant)
	if err != nil {
		return out, err
	}
	began, how := time.Now(), ""
	if out, how, err = w.judgeBy(ctx, j, by); err != nil {
		return out, err
	}
	out.How, out.Took, out.Mode, out.Generation = how, time.Since(began), by.Mode, by.Generation
	if out.Policy != by.Policy {
		return out, errors.New("worker: the verdict is by another policy than is in force")
	}
	return out, nil
}

func (w *Worker) judgeBy(ctx context.Context, j store.Job, by *rollout.Current) (out store.Judged, how string, err error) {
	g, policy, rules := by.Gate, by.Policy, by.Rules
	if j.Work.Manifest != nil {
		known, ok, err := w.Store.Folder(ctx, gate.DirHash(j.Work.Manifest), policy, rules)
		if err != nil {
			return out, "", err
		}
		if ok && known.Good(policy, rules, g.Today) { // the same files, of another revision: nothing is read
			v, err := g.RemoteFolder(known.Detail, j.Work.Manifest, gate.Hint{Name: Name, Beside: true})
			if err != nil {
				return out, "", err
			}
			defer v.Close()
			out, err = w.judged(v, g)
			out.Computed = true
			return out, "known", err
		}
	}
	if j.Attempt == 1 {
		if known, ok, err := w.again(ctx, g, j.Work); err != nil || ok {
			return known, "evidence", err
		}
	}
	files, closer, err := w.open(ctx, j.Work)
	if err != nil {
		return out, "", err
	}
	defer closer.Close()
	if j.Attempt > 1 && w.Child != nil { // in a process of its own
		out, err = w.elsewhere(ctx, g, j, files)
	} else {
		out, err = w.here(ctx, g, files, j.Work)
	}
	return out, "bytes", err
}

// here judges files in this process, and keeps what was read of them if it can. The digests of a
// manifest are known.
func (w *Worker) here(ctx context.Context, g *gate.Gate, files fs.FS, of store.Work) (out store.Judged, err error) {
	p, plain, err := pin(ctx, files, of.Manifest)
	if err != nil {
		return out, err
	}
	defer p.Close()
	if plain {
		files = &p.folder
	}
	v, err := InProcess(ctx, w.Budget, g, files)
	if err != nil {
		return out, err
	}
	defer v.Close()
	if v.Class() == wire.Internal {
		return out, v.Err // it says nothing about the files: they could not be read
	}
	if err := p.err(); err != nil {
		return out, err
	}
	if out, err = w.judged(v, g); err != nil {
		return out, err
	}
	if !plain { // the gate has digested what it could read
		out.Computed = of.Address != "" && !source.IsAddress(of.Address)
		if out.Domain = w.Sources.Domain(of.Address); !out.Computed { // which ones are claims is not known: all may be
			out.Claimed = max(int64(len(out.Files)), 1)
		}
		return out, nil
	}
	out.Evidence = p.evidence()
	out.Computed, out.Claimed, out.Domain = p.claimed == 0, p.claimed, w.Sources.Domain(of.Address)
	return out, p.unchanged()
}

// open returns the files of a revision.
func (w *Worker) open(ctx context.Context, of store.Work) (fs.FS, io.Closer, error) {
	if of.Manifest == nil {
		return w.Sources.Open(ctx, w.Budget, of.Address)
	}
	if w.Blobs == nil {
		return nil, nil, errors.New("this process has no blobs")
	}
	return w.Blobs.Folder(of.Tenant, of.Manifest, true)
}

// InProcess judges files as one folder, under an account below b.
func InProcess(ctx context.Context, b *limits.Budget, g *gate.Gate, files fs.FS) (*gate.Verdict, error) {
	account := b.ChildContext(ctx, g.Policy.Limits)
	v, err := g.CheckFolder(account, files, gate.Hint{Name: Name, Beside: true})
	if err != nil {
		account.Close()
		return nil, err
	}
	return v, nil
}

// elsewhere asks a child, and believes it about the files that this process has digested.
func (w *Worker) elsewhere(ctx context.Context, g *gate.Gate, j store.Job, files fs.FS) (out store.Judged, err error) {
	claimed := int64(0)
	list := j.Work.Manifest // whose contents were digested when they came
	if list == nil {
		p, plain, err := pin(ctx, files, nil)
		if err != nil {
			return out, err
		}
		defer p.Close()
		if list, claimed = p.list, p.claimed; !plain {
			return out, errors.New("it has what is no plain file, and is not judged in a process of its own")
		}
	}
	text, err := w.Child(ctx, g, j.Work)
	if err != nil {
		return out, fmt.Errorf("judged in a process of its own: %w", err)
	}
	v, err := g.RemoteFolder(text, list, gate.Hint{Name: Name, Beside: true})
	if err != nil {
		return out, err
	}
	defer v.Close()
	if v.Class() == wire.Internal {
		return out, v.Err
	}
	out, err = w.judged(v, g)
	out.Computed, out.Claimed, out.Domain = claimed == 0, claimed, w.Sources.Domain(j.Work.Address)
	return out, err
}

// until reads as long as a context lasts.
type until struct {
	ctx context.Context
	r   io.Reader
}

func (u *until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// Until is the last day on which verdicts of today are good: that on which the first of the
// policy's exceptions ends that are in force, or "".
func Until(p *gate.Policy, today string) (until string) {
	for _, e := range p.Ignore {
		if e.Expires != "" && e.Expires >= today && (until == "" || e.Expires < until) {
			until = e.Expires
		}
	}
	for i := range p.Paths {
		if u := Until(&p.Paths[i].Policy, today); u != "" && (until == "" || u < until) {
			until = u
		}
	}
	return until
}

// judged is a verdict as it is stored. Whether its digests were computed is for the caller to say.
func (w *Worker) judged(v *gate.Verdict, g *gate.Gate) (out store.Judged, err error) {
	out.Until = Until(&g.Policy, g.Today)
	if out.Policy, out.Rules, out.Version, err = v.JudgedBy(); err != nil {
		return out, err
	}
	out.DirHash, out.Class, out.Accepted, out.Files = v.DirHash(), v.Class().String(), v.Accepted(), v.Files()
	var text bytes.Buffer
	if err := v.WriteJSON(&bounded{&text, maxDetail}); err != nil {
		return out, err
	}
	out.Detail = text.Bytes()
	if out.Facts, err = rules.Facts(out.Detail); err != nil {
		return out, err
	}
	return out, sumUp(&out)
}

// sumUp takes from the JSON of a verdict what is asked for by rule and by content. A verdict that
// another process came to has it nowhere else.
func sumUp(out *store.Judged) error {
	type fired struct{ Rule string }
	var in struct {
		Refusals, Findings []fired
		Contents           []struct {
			Name, Format, Class string
			Size                int64
		}
	}
	if err := json.Unmarshal(out.Detail, &in); err != nil {
		return err
	}
	for _, f := range slices.Concat(in.Refusals, in.Findings) {
		out.Fired = append(out.Fired, f.Rule)
	}
	sums := make(map[string]string, len(out.Files))
	for _, f := range out.Files {
		sums[f.Name] = f.SHA256
	}
	for _, c := range in.Contents {
		if sum := sums[c.Name]; sum != "" {
			out.Contents = append(out.Contents, store.Content{SHA256: sum, Name: path.Base(c.Name), Size: c.Size, Format: c.Format, Class: c.Class})
		}
	}
	return nil
}

// bounded fails once more than left bytes are written.
type bounded struct {
	w    io.Writer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, fmt.Errorf("the verdict has more than %d bytes", maxDetail)
	}
	return b.w.Write(p)
}
