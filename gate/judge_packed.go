package gate

import (
	"cmp"
	"errors"
	"io"
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
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
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

// An unpacking judges the contents of a wrapper.
type unpacking struct {
	o       *opened
	k       *unpack.Kind
	begun   *prefixReader // of a wrapper that is still arriving, or nil
	indexes []indexed     // the indices among its contents
	files   *unpack.Files // its contents, if one was judged by others
	noFiles error         // why they cannot be listed

	kinds  map[string]sidecar.Folder // of its folders, once a content asked for them
	models map[string][]string       // the ONNX models of its folders, and
	data   map[string][]string       // the files in which those store data
	held   int64                     // what these hold
	out    report                    // so far
}

// newUnpacking returns an unpacking that has met no content.
func newUnpacking(o *opened, k *unpack.Kind) *unpacking {
	return &unpacking{o: o, k: k, out: report{format: k.Name, verified: true, summed: true, contents: []Content{}}}
}

// judgePacked judges each content of a wrapper like a separate file, under the account of the
// wrapper.
func judgePacked(b *limits.Budget, o *opened) (report, error) {
	k := unpack.Named(o.as.Kind)
	if err := o.s.policy.allowsFormat(packed(o.id.Named, k)); err != nil {
		return report{format: k.Name, err: err}, nil
	}
	u := newUnpacking(o, k)
	if err := u.judge(); err != nil || u.out.err != nil {
		return u.out, err
	}
	u.out.err = o.readsPacked(b)
	return u.out, nil
}

// readsPacked returns why the model is not read that an archive is for its library, such as
// Keras' own: each of its members may be harmless, and another one missing.
func (o *opened) readsPacked(b *limits.Budget) error {
	if !o.id.IsPackedModel() {
		return nil
	}
	held := b.Child(*b.Policy())
	defer held.Close()
	m, err := o.id.Open(held, o.r)
	if wire.RuleOf(err) == "keras.deflated" {
		return nil // Keras reads them too, and they were judged as a content
	} else if err != nil {
		return err
	}
	return m.Close()
}

// judge goes through the contents.
func (u *unpacking) judge() error {
	if u.o.s.layer >= unpack.MaxLayers {
		u.out.err = wire.At(u.k.Name, "", wire.NoOffset, &limits.Error{Axis: limits.Depth, Want: 1})
		return nil
	}
	defer u.leave()
	err := u.checkTwoFormats()
	if err == nil {
		err = u.k.WalkListed(u.o.account, u.o.r, u.o.s.size, u.directory(), u.judgeContent)
	}
	switch {
	case errors.Is(err, errEnough): // u.out.err says why
	case err != nil:
		if lost := contextError(u.o.account, err); lost != nil {
			return lost
		}
		u.out.err = err
	default:
		if err := u.judgeIndexes(); err != nil {
			return err
		}
		u.out.err = cmp.Or(u.out.err, wire.At(u.k.Name, "", wire.NoOffset, u.checkTorchServe()))
	}
	if u.out.err != nil {
		u.out.verified = false
	}
	if n := u.out.unlistedFindings; n > 0 {
		u.addOwn(tensor.Finding{
			Code: "scan.findings", Severity: tensor.Note, Off: wire.NoOffset, Text: strconv.FormatInt(n, 10) + " more findings of contents are not listed",
		})
	}
	return nil
}

// directory is that of a ZIP archive, which its identity read.
func (u *unpacking) directory() *zip.Listing {
	if u.k.Name != "zip" || u.o.id == nil {
		return nil
	}
	return u.o.id.Directory()
}

// addOwn adds a finding of the wrapper itself, before those of its contents.
func (u *unpacking) addOwn(f tensor.Finding) {
	u.out.findings = slices.Insert(u.out.findings, u.out.ownCount, f)
	u.out.ownCount++
}

// checkTorchServe adds a finding if there is Python below the folder of a manifest for
// TorchServe, whatever was found in the manifest: a policy may lower that, by its own name.
func (u *unpacking) checkTorchServe() error {
	account := u.o.account
	roots := map[string]bool{}
	for _, c := range u.out.contents {
		if err := account.Step(1); err != nil {
			return err
		}
		if root, ok := sidecar.ManifestOf(c.Name); ok {
			if err := account.Alloc(int64(len(root))); err != nil {
				return err
			}
			roots[root] = true
		}
	}
	for _, c := range u.out.contents {
		if len(roots) == 0 || !strings.EqualFold(path.Ext(c.Name), ".py") {
			continue
		}
		if err := account.Step(int64(strings.Count(c.Name, "/") + 1)); err != nil {
			return err
		}
		for at := len(c.Name); at > 0; at = strings.LastIndexAny(c.Name[:at], "/!") {
			if root := c.Name[:at]; roots[root+"/"] || roots[root+"!"] {
				u.addOwn(sidecar.Served(c.Name[at+1:]))
				return nil
			}
		}
	}
	return nil
}

// checkTwoFormats refuses a wrapper that another loader takes for something else.
func (u *unpacking) checkTwoFormats() error {
	var what string
	var off int64
	var err error
	switch u.k.Name {
	case "zip": // it is an archive from beginning to end
	case "tar": // it begins with a name; its end is a content
		var is bool
		if is, err = polyglot.Pickle(u.o.account, u.o.r, u.o.s.size); is {
			what = "a pickle"
		}
	default:
		what, off, err = u.o.id.Archive()
	}
	switch {
	case err != nil:
		return wire.At(u.k.Name, "", off, err)
	case what != "":
		return wire.At(u.k.Name, "", off, wire.ErrUnsupported.WithRule("gate.two-formats").Errorf("%s, but also %s: loaders see different content", u.k.Title, what))
	}
	return nil
}

// contentNames returns the name of a content, and the prefix for the names of contents
// inside it.
func (u *unpacking) contentNames(i unpack.Item) (name, next string) {
	outer := u.o.s.contentPrefix()
	if u.k.Stream {
		return outer + "!" + u.k.Inner(path.Base(strings.ReplaceAll(u.o.s.hint.Name, "!", "/"))), outer
	}
	return outer + "!" + i.Name, outer + "!" + i.Name
}

// contentPrefix returns the prefix of the names of contents.
func (s *subject) contentPrefix() string {
	switch {
	case s.outer != "":
		return s.outer
	case s.hint.Beside && s.hint.Name != "":
		return s.hint.Name
	}
	return path.Base(s.hint.Name)
}

// content returns what is judged of one content.
func (u *unpacking) content(r io.ReaderAt, size int64, name, next string) *subject {
	s := u.o.s.gate.subject(r, size, Hint{Name: name, Beside: true})
	s.layer, s.outer = u.o.s.layer+1, next
	return s
}

// judgeContent judges one content.
func (u *unpacking) judgeContent(i unpack.Item) error {
	name, next := u.contentNames(i)
	if !u.k.Stream && i.R != nil && u.describes(i) {
		return u.keepIndex(i, name)
	}
	if i.R == nil {
		return u.add(u.o.s.gate.unseen(name, i.Why))
	}
	if at := startsAt(u.o.r, i.R); at > 0 {
		u.out.starts = append(u.out.starts, at)
	}
	c := u.content(i.R, i.Size, name, next)
	u.lookAround(c, i)
	b := u.o.account.Child(*u.o.account.Policy())
	defer b.Close()
	said, err := c.report(b)
	if err != nil {
		return err
	}
	v := c.draft(said)
	defer v.Close()
	if u.begun != nil && u.begun.missed {
		return errNotThere // nor has anything after it
	}
	if err := v.checkDigestName(b, i.R); err != nil {
		return err
	}
	v.applyPolicy()
	return u.add(v)
}

// add adds the policy's decision about a content to the report of its wrapper.
func (u *unpacking) add(v *draft) (err error) {
	add := func(c Content) {
		if err == nil {
			u.out.contents, err = limits.Append(u.o.account, u.out.contents, c)
		}
	}
	if len(v.Contents) == 0 || ownError(v.Err) != nil {
		add(Content{v.Name, v.Size, v.Format, v.Harmless, v.Unlooked, v.Class()})
	}
	for _, c := range v.Contents {
		add(c)
	}
	if err == nil {
		err = u.o.account.Alloc(int64(len(v.Name)))
	}
	u.out.totals = Totals{u.out.totals.Tensors + v.Totals.Tensors, wire.AddCap(u.out.totals.Elements, v.Totals.Elements), wire.AddCap(u.out.totals.Bytes, v.Totals.Bytes)}
	u.out.verified = u.out.verified && (v.Verified || v.Harmless != "" || v.Format == "" && v.Err == nil)
	u.out.summed = u.out.summed && (v.summed || v.Harmless != "" || v.Format == "" && v.Err == nil)
	for _, f := range v.Findings {
		switch {
		case len(u.out.findings)-u.out.ownCount >= maxFindings:
			u.out.unlistedFindings++
		case err == nil:
			f.Where = inContent(v, f.Where)
			u.out.findings, err = limits.Append(u.o.account, u.out.findings, f)
		}
	}
	if err != nil {
		return wire.At(u.out.format, "", wire.NoOffset, err)
	}
	for _, name := range v.Allowed {
		if len(u.out.allowed) < maxInside && !slices.Contains(u.out.allowed, name) {
			u.out.allowed = append(u.out.allowed, name)
		}
	}
	for _, e := range v.Expired {
		if !slices.Contains(u.out.expired, e) {
			u.out.expired = append(u.out.expired, e)
		}
	}
	for _, r := range v.Ignored {
		if len(u.out.ignored) < maxInside {
			r.Where = inContent(v, r.Where)
			u.out.ignored = append(u.out.ignored, r)
		}
	}
	if v.Err != nil {
		return u.addRefusals(v)
	}
	return nil
}

// addRefusals adds the refusals of a content. One that reached a limit ends the walk,
// since the next content would reach it as well.
func (u *unpacking) addRefusals(v *draft) error {
	u.out.unlistedRefusals = u.out.unlistedRefusals || v.unlistedRefusals
	for _, r := range v.Refusals() {
		if len(u.out.refusals) == maxInside {
			u.out.unlistedRefusals = true
			break
		}
		r.Where = inContent(v, r.Where)
		u.out.refusals = append(u.out.refusals, r)
	}
	if u.out.err == nil || v.Class() > wire.ClassOf(u.out.err) {
		u.out.err = &inside{withName(v)}
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
