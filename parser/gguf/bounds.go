package gguf

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// The kinds of rope scaling that llama.cpp knows (LLAMA_ROPE_SCALING_TYPES).
const ropeScalings = " none linear yarn longrope "

// maxArch is longer than the name of any architecture.
const maxArch = 64

// hparams are the numbers that llama.cpp asserts something about in combination
// (llama_model_base::load_hparams).
type hparams struct {
	arch string
	d    *decoder
}

// checkBounds adds findings for numbers that do not fit each other.
func (d *decoder) checkBounds() error {
	arch := d.out.find(archKey)
	if arch == nil || arch.kind != KindString || len(arch.str) > maxArch {
		return nil
	}
	h := hparams{arch.str, d}
	for _, look := range [...]func() error{h.checkExperts, h.checkNextLayers, h.checkRope} {
		if err := look(); err != nil {
			return err
		}
	}
	return nil
}

// get returns the key of the architecture if its value is of a kind that llama.cpp takes.
func (h *hparams) get(key string) *pair {
	p := h.d.out.find(h.arch + key)
	if r, _ := ruleFor(key); p == nil || !r.fits(p) {
		return nil
	}
	return p
}

// number returns the value of a key, for an array the largest.
func (h *hparams) number(p *pair) (uint64, error) {
	if p.kind != KindArray {
		return p.num, nil
	}
	if p.num > maxLayers || p.elem == KindBool {
		return 0, nil // llama.cpp refuses it, or it is not a count
	}
	most := uint64(0)
	for n, err := range (Array{h.d.f, p.elem, p.num, p.body}).Ints(h.d.b) {
		if err != nil {
			return 0, within("key "+wire.Quote(p.key), p.body.Off, err)
		}
		most = max(most, uint64(uint32(n)))
	}
	return most, nil
}

// expertKeys state how many experts there are. A finding points to the last one that is
// present.
var expertKeys = [...]string{".expert_count", ".expert_used_count", ".expert_group_count", ".expert_group_used_count"}

func (h *hparams) checkExperts() error {
	var n [len(expertKeys)]uint64
	var at *pair
	for i, key := range expertKeys {
		p := h.get(key)
		if p == nil {
			continue
		}
		var err error
		if n[i], err = h.number(p); err != nil {
			return err
		}
		at = p
	}
	all, used, groups, groupsUsed := n[0], n[1], n[2], n[3]
	if all <= 1 && (h.arch == "hunyuan-dense" || h.arch == "hunyuan_vl") {
		return nil // 0 means none there
	}
	fits := used <= all && (all == 0) == (used == 0) && (groups < all || groups == 0)
	if groups > 1 {
		fits = fits && all%groups == 0 && groupsUsed > 0 && groupsUsed < groups
	}
	if at == nil || fits || all > maxExperts {
		return nil
	}
	return h.d.addFinding(CodeExperts, tensor.Warning, "key "+wire.Quote(at.key), at.off,
		"%d experts, %d of them used, in %d groups, %d of them used: %s aborts", all, used, groups, groupsUsed, llamaCPP)
}

func (h *hparams) checkNextLayers() error {
	next, layers := h.get(".nextn_predict_layers"), h.get(".block_count")
	if next == nil || layers == nil || next.num <= layers.num {
		return nil
	}
	return h.d.addFinding(CodeLayers, tensor.Warning, "key "+wire.Quote(next.key), next.off,
		"%d of %d layers predict: %s aborts", next.num, layers.num, llamaCPP)
}

func (h *hparams) checkRope() error {
	p := h.get(".rope.scaling.type")
	if p == nil || p.str != "" && strings.Contains(ropeScalings, " "+p.str+" ") && !strings.Contains(p.str, " ") {
		return nil
	}
	return h.d.addFinding(CodeRope, tensor.Warning, "key "+wire.Quote(p.key), p.off,
		"%s is not a kind of scaling: %s aborts", wire.Quote(p.str), llamaCPP)
}
