package gate

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/dcp"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// judgeModel judges a model and its data, or returns why the file is not a model although it had to
// be one.
func judgeModel(b *limits.Budget, o *opened) (out report, err error) {
	if o.model == nil {
		out.err = o.why
		if o.id.Err == nil {
			out.err = o.orByHead(b, o.why)
		}
		return out, nil
	}
	out = o.s.gate.examine(o.held, o.s.policy, o.model, true)
	o.close()
	o.model, o.held = nil, nil
	if out.err != nil {
		out.err = o.orByHead(b, out.err)
		return out, nil
	}
	if !slices.ContainsFunc(out.findings, func(f tensor.Finding) bool { return f.Code == "npz.member" }) {
		return out, nil
	}
	return judgeMembers(b, o, out)
}

// judgeMembers judges the members of an npz archive that are not arrays.
func judgeMembers(b *limits.Budget, o *opened, arrays report) (report, error) {
	if o.s.layer == 0 {
		o.account.Close()
		o.account = b.Whole(o.s.size)
	}
	u := newUnpacking(o, unpack.Named("zip"))
	u.out.findings, u.out.ownCount = arrays.findings, len(arrays.findings)
	if err := u.judge(); err != nil {
		return u.out, err
	}
	u.out.format, u.out.totals = arrays.format, arrays.totals
	return u.out, nil
}

// reportOpened opens a model and examines it.
func (g *Gate) reportOpened(b *limits.Budget, p *Policy, bodies bool, open func() (tensor.Model, error)) report {
	m, err := open()
	if err != nil {
		return report{err: err}
	}
	defer m.Close()
	out := g.examine(b, p, m, bodies)
	if out.err == nil {
		out.err = modelUnchanged(m)
	}
	return out
}

// examine checks a model against the policy, and reads its bodies if asked to.
func (g *Gate) examine(b *limits.Budget, p *Policy, m tensor.Model, bodies bool) report {
	out := report{format: m.Format(), findings: m.Findings()}
	if out.err = p.allowsModel(b, m); out.err != nil {
		return out
	}
	found, err := adapterInHeader(b, p, m)
	if out.err = err; err != nil {
		return out
	}
	out.findings = slices.Concat(out.findings, found)
	for i := range m.Tensors() {
		out.totals.add(&i)
	}
	if !bodies {
		return out
	}
	if out.err = parser.Verify(b, m); out.err != nil {
		return out
	}
	out.summed = hasChecksums(m)
	if out.verified = true; g.Seen != nil {
		out.err = g.Seen(b, m)
	}
	return out
}

// hasChecksums reports whether the container of a model has checksums of the bodies.
func hasChecksums(m tensor.Model) bool {
	if _, ok := m.(*dcp.File); ok || m.Format() == parser.Bundle {
		return true
	}
	in, ok := m.(interface{ Container() *zip.Archive })
	return ok && in.Container() != nil
}

// adapterMetadata is the member of a safetensors header in which diffusers keeps PEFT's
// configuration of a LoRA (LORA_ADAPTER_METADATA_KEY), and from which it makes the layers.
const adapterMetadata = "lora_adapter_metadata"

// adapterInHeader judges that configuration as the file that PEFT keeps beside its own weights.
func adapterInHeader(b *limits.Budget, p *Policy, m tensor.Model) ([]tensor.Finding, error) {
	if m.Format() != safetensors.Format || p.Sidecars == SidecarsSkip {
		return nil, nil
	}
	for key, value := range m.Meta() {
		text, is := value.(string)
		if key != adapterMetadata || !is {
			continue
		}
		found, err := sidecar.Check(b, sidecar.Text{Name: "adapter_config.json", R: strings.NewReader(text), Size: int64(len(text)), JSON: true, Prefixed: true})
		for i := range found {
			found[i].Where, found[i].Off = strings.TrimSuffix(adapterMetadata+": "+found[i].Where, ": "), wire.NoOffset
		}
		return found, wire.At(safetensors.Format, adapterMetadata, wire.NoOffset, err)
	}
	return nil, nil
}
