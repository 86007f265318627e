package gate

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Content is a file that was judged inside an archive or a compressed file.
type Content struct {
	Name     string // with the path to it: "outer.tar.gz!inner/model.bin"
	Size     int64
	Format   string // "" if it is not a model
	Harmless string
	Unlooked string
	Class    wire.Class
}

// Wrappers lists the kinds of wrappers that are opened.
func Wrappers() []string { return unpack.Titles() }

// maxInside bounds how many refusals of contents a verdict lists.
const maxInside = 64

// maxFindings bounds how many findings of contents a verdict lists. The policy is applied
// to each content with all of its findings.
const maxFindings = 1024

// inside marks the refusal of a wrapper for one of its contents.
type inside struct{ error }

func (i *inside) Unwrap() error { return i.error }

// sniffWrapper returns the kind of wrapper that the file is, or nil. If the name promises
// a model, it is nil too: the loader of such a file does not unpack it.
func (j *judgement) sniffWrapper() *unpack.Kind {
	if promises(j.hint.Name) {
		return nil
	}
	var buf [pth.SniffLen]byte
	head := buf[:min(j.Size, pth.SniffLen)]
	if wire.ReadFull(j.r, head, 0) != nil {
		return nil
	}
	return unpack.Named(parser.IdentifyBeginning(head, 0, "").Packing)
}

// unpack judges each content as a file of its own, under the account of the wrapper.
func (j *judgement) unpack(k *unpack.Kind) error {
	j.Format, j.Err, j.Verified, j.summed, j.Contents = k.Name, nil, true, true, []Content{}
	if j.layer >= unpack.MaxLayers {
		j.Err = wire.At(k.Name, "", wire.NoOffset, &limits.Error{Axis: limits.Depth, Want: 1})
		return nil
	}
	defer j.leave()
	err := j.checkTwoFormats(k)
	if err == nil {
		err = k.Walk(j.account, j.r, j.Size, func(i unpack.Item) error { return j.judgeContent(k, i) })
	}
	switch {
	case errors.Is(err, errEnough): // j.Err says why
	case err != nil:
		if lost := contextError(j.account, err); lost != nil {
			return lost
		}
		j.Err = err
	default:
		if err := j.judgeIndexes(k); err != nil {
			return err
		}
		j.Err = cmp.Or(j.Err, wire.At(k.Name, "", wire.NoOffset, j.checkTorchServe()))
	}
	if j.Err != nil {
		j.Verified = false
	}
	if j.unlistedFindings > 0 {
		j.Findings = slices.Insert(j.Findings, j.ownCount, tensor.Finding{
			Code: "scan.findings", Severity: tensor.Note, Off: wire.NoOffset, Text: strconv.FormatInt(j.unlistedFindings, 10) + " more findings of contents are not listed",
		})
		j.ownCount++
	}
	return nil
}

// checkTorchServe adds a finding if there is Python below the folder of a manifest for
// TorchServe.
func (j *judgement) checkTorchServe() error {
	if slices.ContainsFunc(j.Findings, func(f tensor.Finding) bool { return f.Code == "sidecar.mar-handler" }) {
		return nil // from its manifest, or from an archive in it
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
				j.Findings = slices.Insert(j.Findings, j.ownCount, sidecar.Served(c.Name[at+1:]))
				j.ownCount++
				return nil
			}
		}
	}
	return nil
}

// judgeMembers judges the members of an npz archive that are not arrays.
func (j *judgement) judgeMembers(b *limits.Budget) error {
	if j.Err != nil || !slices.ContainsFunc(j.Findings, func(f tensor.Finding) bool { return f.Code == "npz.member" }) {
		return nil
	}
	if j.layer == 0 {
		j.account.Close()
		j.account = b.Whole(j.Size)
	}
	was := *j.draft
	j.ownCount = len(j.Findings)
	if err := j.unpack(unpack.Named(parser.IdentifyBeginning([]byte("PK\x03\x04"), 0, "").Packing)); err != nil {
		return err
	}
	j.Format, j.Totals = was.Format, was.Totals
	return nil
}

// checkTwoFormats refuses a wrapper that another loader takes for something else.
func (j *judgement) checkTwoFormats(k *unpack.Kind) error {
	var what string
	var off int64
	var err error
	switch k.Name {
	case "zip": // it is an archive from beginning to end
	case "tar": // it begins with a name; its end is a content
		var is bool
		if is, err = polyglot.Pickle(j.account, j.r, j.Size); is {
			what = "a pickle"
		}
	default:
		what, off, err = polyglot.Alias(j.r, j.Size, nil)
	}
	switch {
	case err != nil:
		return wire.At(k.Name, "", off, err)
	case what != "":
		return wire.At(k.Name, "", off, wire.ErrUnsupported.WithRule("gate.two-formats").Errorf("%s, but also %s: loaders see different content", k.Title, what))
	}
	return nil
}

// contentPrefix returns the prefix of the names of contents.
func (j *judgement) contentPrefix() string {
	switch {
	case j.outer != "":
		return j.outer
	case j.hint.Beside && j.hint.Name != "":
		return j.hint.Name
	}
	return path.Base(j.hint.Name)
}

// judgeContent judges one content.
func (j *judgement) judgeContent(k *unpack.Kind, i unpack.Item) error {
	name, next := j.contentNames(k, i)
	if !k.Stream && i.R != nil && isIndex(i.Name) {
		return j.keepIndex(i, name)
	}
	if i.R == nil {
		return j.addContent(j.gate.unseen(name, i.Why))
	}
	j.startsAt(i.R)
	c := &judgement{
		draft: j.gate.draft(name), r: i.R, hint: Hint{Name: name, Beside: true}, layer: j.layer + 1, outer: next,
	}
	j.lookAround(c, k, i)
	c.Size = i.Size
	b := j.account.Child(*j.account.Policy())
	defer b.Close()
	defer c.Close()
	if err := c.judge(b); err != nil {
		return err
	}
	if j.begun != nil && j.begun.missed {
		return errNotThere // nor has anything after it
	}
	if err := c.checkDigestName(b, i.R); err != nil {
		return err
	}
	c.applyPolicy()
	return j.addContent(c.draft)
}

// addContent adds the verdict about a content to that of its wrapper.
func (j *judgement) addContent(v *draft) (err error) {
	add := func(c Content) {
		if err == nil {
			j.Contents, err = limits.Append(j.account, j.Contents, c)
		}
	}
	if len(v.Contents) == 0 || ownError(v.Err) != nil {
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
	j.summed = j.summed && (v.summed || v.Harmless != "" || v.Format == "" && v.Err == nil)
	for _, f := range v.Findings {
		switch {
		case len(j.Findings)-j.ownCount >= maxFindings:
			j.unlistedFindings++
		case err == nil:
			f.Where = inContent(v, f.Where)
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
			r.Where = inContent(v, r.Where)
			j.Ignored = append(j.Ignored, r)
		}
	}
	if v.Err != nil {
		return j.addRefusals(v)
	}
	return nil
}

// addRefusals adds the refusals of a content. One that reached a limit ends the walk,
// since the next content would reach it as well.
func (j *judgement) addRefusals(v *draft) error {
	j.unlistedRefusals = j.unlistedRefusals || v.unlistedRefusals
	for _, r := range v.Refusals() {
		if len(j.refusals) == maxInside {
			j.unlistedRefusals = true
			break
		}
		r.Where = inContent(v, r.Where)
		j.refusals = append(j.refusals, r)
	}
	if j.Err == nil || v.Class() > j.Class() {
		j.Err = &inside{withName(v)}
	}
	if v.Class() == wire.Limit {
		return errEnough
	}
	return nil
}

// ownError returns err if it is about the file itself, and nil if it is about a content.
func ownError(err error) error {
	if _, ok := errors.AsType[*inside](err); ok {
		return nil
	}
	return err
}

// inContent puts the name of the content before a place. The places of a nested wrapper
// already begin with it.
func inContent(v *draft, where string) string {
	name := wire.Quote(v.Name)
	switch {
	case slices.ContainsFunc(v.Contents, func(c Content) bool { return strings.HasPrefix(where, wire.Quote(c.Name)) }):
		return where
	case where == "":
		return name
	}
	return name + ": " + where
}

// withName returns the error for which a content is refused, with its name.
func withName(v *draft) error {
	e, ok := errors.AsType[*parser.Error](v.Err)
	if !ok || ownError(v.Err) == nil {
		return v.Err
	}
	at := *e
	at.Where = inContent(v, e.Where)
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
