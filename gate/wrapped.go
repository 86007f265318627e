package gate

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/internal/unwrap"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/internal/wrap"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Content is a file that was judged inside an archive or a compressed file.
type Content struct {
	Name     string // with the path to it: "outer.tar.gz!inner/model.bin"
	Size     int64
	Format   string // "" if it is no model
	Harmless string
	Unlooked string
	Class    wire.Class
}

// Wrappers lists the kinds of wrappers that are opened.
func Wrappers() []string { return wrap.Titles() }

// maxInside is how many refusals of contents a verdict lists.
const maxInside = 64

// maxFindings is how many findings of contents a verdict lists. Each content was held
// to the policy by all of its own.
const maxFindings = 1024

// inside marks the refusal of a wrapper for one of its contents.
type inside struct{ error }

func (i *inside) Unwrap() error { return i.error }

// wrapper tells what the file packs its contents in. A file whose name promises a
// model is opened by a loader that does not unpack it.
func (j *judgement) wrapper() *wrap.Kind {
	if promises(j.hint.Name) {
		return nil
	}
	var buf [wrap.HeadLen]byte
	head := buf[:min(j.Size, wrap.HeadLen)]
	if wire.ReadFull(j.r, head, 0) != nil {
		return nil
	}
	return wrap.Sniff(head)
}

// unpack judges each content as if it stood alone, under the account of the file.
func (j *judgement) unpack(k *wrap.Kind) error {
	j.Format, j.Err, j.Verified, j.proven, j.Contents = k.Name, nil, true, true, []Content{}
	if j.layer >= wrap.MaxLayers {
		j.Err = wire.At(k.Name, "", wire.NoOffset, &limits.Error{Axis: limits.Depth, Want: 1})
		return nil
	}
	err := j.twice(k)
	if err == nil {
		err = k.Walk(j.account, j.r, j.Size, func(i wrap.Item) error { return j.content(k, i) })
	}
	switch {
	case errors.Is(err, errEnough): // j.Err says why
	case err != nil:
		if lost := lost(j.account, err); lost != nil {
			return lost
		}
		j.Err = err
	default:
		j.Err = cmp.Or(j.Err, wire.At(k.Name, "", wire.NoOffset, j.served()))
	}
	if j.Err != nil {
		j.Verified = false
	}
	if j.more > 0 {
		j.Findings = slices.Insert(j.Findings, j.mine, tensor.Finding{
			Code: "scan.findings", Severity: tensor.Note, Off: wire.NoOffset, Text: strconv.FormatInt(j.more, 10) + " more findings of contents are not listed",
		})
		j.mine++
	}
	return nil
}

// served finds Python below the folder of a manifest for TorchServe.
func (j *judgement) served() error {
	if slices.ContainsFunc(j.Findings, func(f tensor.Finding) bool { return f.Code == "sidecar.mar-handler" }) {
		return nil // of its manifest, or of an archive in it
	}
	roots := map[string]bool{}
	for _, c := range j.Contents {
		if err := j.account.Step(1); err != nil {
			return err
		}
		if root, ok := strings.CutSuffix(c.Name, sidecar.Manifest); ok {
			if err := j.account.Alloc(int64(len(root))); err != nil {
				return err
			}
			roots[root] = true
		}
	}
	for _, c := range j.Contents {
		if len(roots) == 0 || !strings.EqualFold(path.Ext(c.Name), ".py") {
			continue
		}
		if err := j.account.Step(int64(strings.Count(c.Name, "/") + 1)); err != nil {
			return err
		}
		for at := len(c.Name); at > 0; at = strings.LastIndexAny(c.Name[:at], "/!") {
			if root := c.Name[:at]; roots[root+"/"] || roots[root+"!"] {
				j.Findings = slices.Insert(j.Findings, j.mine, sidecar.Served(c.Name[at+1:]))
				j.mine++
				return nil
			}
		}
	}
	return nil
}

// members judges what lies among the arrays of an archive and is none.
func (j *judgement) members(b *limits.Budget) error {
	if j.Err != nil || !slices.ContainsFunc(j.Findings, func(f tensor.Finding) bool { return f.Code == "npz.member" }) {
		return nil
	}
	if j.layer == 0 {
		j.account.Close()
		j.account = b.Whole(j.Size)
	}
	was := *j.Verdict
	j.mine = len(j.Findings)
	if err := j.unpack(wrap.Sniff([]byte("PK\x03\x04"))); err != nil {
		return err
	}
	j.Format, j.Totals = was.Format, was.Totals
	return nil
}

// twice refuses a wrapper that is something else to another loader.
func (j *judgement) twice(k *wrap.Kind) error {
	var what string
	var off int64
	var err error
	switch k.Name {
	case "zip": // from its beginning to its end
	case "tar": // begins with a name; what its end could be is a content
		var is bool
		if is, err = unwrap.Pickle(j.account, j.r, j.Size); is {
			what = "a pickle"
		}
	default:
		what, off, err = unwrap.Alias(j.r, j.Size, nil)
	}
	switch {
	case err != nil:
		return wire.At(k.Name, "", off, err)
	case what != "":
		return wire.At(k.Name, "", off, wire.ErrUnsupported.By("gate.two-formats").With("%s, but also %s: loaders see different content", k.Title, what))
	}
	return nil
}

// path is what the names of contents begin with.
func (j *judgement) path() string {
	switch {
	case j.outer != "":
		return j.outer
	case j.hint.Beside && j.hint.Name != "":
		return j.hint.Name
	}
	return path.Base(j.hint.Name)
}

// content judges one content.
func (j *judgement) content(k *wrap.Kind, i wrap.Item) error {
	name, next := j.names(k, i)
	if i.R == nil {
		return j.take(j.gate.Unseen(name, i.Why))
	}
	c := &judgement{
		Verdict: j.gate.verdict(name), r: i.R, hint: Hint{Name: name, Beside: true}, layer: j.layer + 1, outer: next,
	}
	c.Size = i.Size
	b := j.account.Child(*j.account.Policy())
	defer b.Close()
	defer c.Close()
	if err := c.judge(b); err != nil {
		return err
	}
	if j.begun != nil && j.begun.missed {
		return errNotThere // nor is what follows
	}
	if err := c.named(b, i.R); err != nil {
		return err
	}
	c.hold()
	return j.take(c.Verdict)
}

// take adds the verdict about a content to that of its wrapper.
func (j *judgement) take(v *Verdict) (err error) {
	add := func(c Content) {
		if err == nil {
			j.Contents, err = limits.Append(j.account, j.Contents, c)
		}
	}
	if len(v.Contents) == 0 || wireOf(v.Err) != nil {
		add(Content{v.Name, v.Size, v.Format, v.Harmless, v.Unlooked, v.Class()})
	}
	for _, c := range v.Contents {
		add(c)
	}
	if err == nil {
		err = j.account.Alloc(int64(len(v.Name)))
	}
	j.Totals = Totals{j.Totals.Tensors + v.Totals.Tensors, wire.AddCap(j.Totals.Elements, v.Totals.Elements), wire.AddCap(j.Totals.Bytes, v.Totals.Bytes)}
	j.Verified = j.Verified && (v.Verified || v.Harmless != "" || v.Format == "" && v.Err == nil)
	j.proven = j.proven && (v.proven || v.Harmless != "" || v.Format == "" && v.Err == nil)
	for _, f := range v.Findings {
		switch {
		case len(j.Findings)-j.mine >= maxFindings:
			j.more++
		case err == nil:
			f.Where = within(v, f.Where)
			j.Findings, err = limits.Append(j.account, j.Findings, f)
		}
	}
	if err != nil {
		return wire.At(j.Format, "", wire.NoOffset, err)
	}
	for _, name := range v.Allowed {
		if len(j.Allowed) < maxInside && !slices.Contains(j.Allowed, name) {
			j.Allowed = append(j.Allowed, name)
		}
	}
	for _, e := range v.Expired {
		if !slices.Contains(j.Expired, e) {
			j.Expired = append(j.Expired, e)
		}
	}
	for _, r := range v.Ignored {
		if len(j.Ignored) < maxInside {
			r.Where = within(v, r.Where)
			j.Ignored = append(j.Ignored, r)
		}
	}
	if v.Err != nil {
		return j.refuse(v)
	}
	return nil
}

// refuse takes the refusals of a content. One that reached a limit ends the walk:
// so would the next.
func (j *judgement) refuse(v *Verdict) error {
	j.unlisted = j.unlisted || v.unlisted
	for _, r := range v.Refusals() {
		if len(j.refusals) == maxInside {
			j.unlisted = true
			break
		}
		r.Where = within(v, r.Where)
		j.refusals = append(j.refusals, r)
	}
	if j.Err == nil || v.Class() > j.Class() {
		j.Err = &inside{placed(v)}
	}
	if v.Class() == wire.Limit {
		return errEnough
	}
	return nil
}

// wireOf is an error of the file itself, and of none of its contents.
func wireOf(err error) error {
	if _, ok := errors.AsType[*inside](err); ok {
		return nil
	}
	return err
}

// within is a place with the name of the content before it; a wrapper's own place
// has it already.
func within(v *Verdict, where string) string {
	name := wire.Quote(v.Name)
	switch {
	case slices.ContainsFunc(v.Contents, func(c Content) bool { return strings.HasPrefix(where, wire.Quote(c.Name)) }):
		return where
	case where == "":
		return name
	}
	return name + ": " + where
}

// placed is why a content is refused, with its name.
func placed(v *Verdict) error {
	e, ok := errors.AsType[*parser.Error](v.Err)
	if !ok || wireOf(v.Err) == nil {
		return v.Err
	}
	at := *e
	at.Where = within(v, e.Where)
	if _, ok := errors.AsType[*severe](v.Err); ok {
		return &severe{&at}
	}
	if _, ok := errors.AsType[*unlooked](v.Err); ok {
		return &unlooked{&at}
	}
	if d, ok := errors.AsType[*disallowed](v.Err); ok {
		return &disallowed{&at, d.rule}
	}
	return &at
}
