package mix

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A role is what a tensor does in its layer, as far as the rules ask.
type role uint8

const (
	other role = iota
	output
	tokens
	attnV // the fused matrices too
	attnK
	attnQ
	attnOut
	ffnUp
	ffnGate
	ffnDown
	roles
)

// roleOf goes by name: the first part that is found decides.
func roleOf(name string) role {
	switch name {
	case "output.weight":
		return output
	case "token_embd.weight", "per_layer_token_embd.weight":
		return tokens
	}
	for _, r := range [...]struct {
		part string
		role role
	}{
		{"attn_qkv.weight", attnV}, {"attn_kv_b.weight", attnV}, {"attn_v.weight", attnV}, {"attn_k.weight", attnK}, {"attn_q.weight", attnQ},
		{"attn_output.weight", attnOut}, {"ffn_up", ffnUp}, {"ffn_gate", ffnGate}, {"ffn_down", ffnDown},
	} {
		if strings.Contains(name, r.part) {
			return r.role
		}
	}
	return other
}

// A place is what a rule may ask: the tensor is number i of n of its role.
type place struct {
	m    *Model
	i, n int
	t    tensor.DType // so far
}

// A rule gives a type for one of its mixes if when holds; nil always holds.
type rule struct {
	mixes string // separated by spaces
	when  func(*place) bool
	to    tensor.DType
}

// moreBits holds in the first and the last eighth of the layers and in every third
// between.
func moreBits(p *place) bool {
	return p.i < p.n/8 || p.i >= 7*p.n/8 || (p.i-p.n/8)%3 == 2
}

func below(part int) func(*place) bool { return func(p *place) bool { return p.i < p.n/part } }
func firstOf(n int) func(*place) bool  { return func(p *place) bool { return p.i < n } }
func shared(p *place) bool             { return p.m.KVShare >= 4 }
func sharedOrExperts(p *place) bool    { return p.m.KVShare >= 4 || p.m.Experts >= 4 }
func eight(p *place) bool              { return p.m.Experts == 8 }
func matrix(p *place) bool             { return p.m.Matrix }
func falcon(p *place) bool             { return p.m.Arch == falconArch }
func middle(p *place) bool             { return p.i >= p.n/8 && p.i < 7*p.n/8 }
func not(f func(*place) bool) func(*place) bool {
	return func(p *place) bool { return !f(p) }
}

func both(f, g func(*place) bool) func(*place) bool {
	return func(p *place) bool { return f(p) && g(p) }
}

func either(f, g func(*place) bool) func(*place) bool {
	return func(p *place) bool { return f(p) || g(p) }
}

// rules by role, in llama.cpp's order. The first that applies decides.
var rules = [roles][]rule{
	attnV: {
		{"Q2_K", shared, tensor.Q4_K},
		{"Q2_K", nil, tensor.Q3_K},
		{"Q2_K_S", shared, tensor.Q4_K},
		{"IQ3_XXS", shared, tensor.Q4_K},
		{"IQ3_XXS", not(matrix), tensor.IQ3_S},
		{"IQ3_XS IQ3_S", shared, tensor.Q4_K},
		{"IQ3_M", nil, tensor.Q4_K},
		{"Q3_K_M", firstOf(2), tensor.Q5_K},
		{"Q3_K_M", nil, tensor.Q4_K},
		{"Q3_K_L", nil, tensor.Q5_K},
		{"IQ4_NL IQ4_XS", shared, tensor.Q5_K},
		{"Q4_K_M Q5_K_M", moreBits, tensor.Q6_K},
		{"Q4_K_S", firstOf(4), tensor.Q5_K},
	},
	attnK: {
		{"*", eight, tensor.Q8_0},
		{"IQ3_XS", nil, tensor.IQ3_XXS},
		{"IQ3_XXS", nil, tensor.IQ2_S},
	},
	attnQ: {
		{"IQ3_XS", nil, tensor.IQ3_XXS},
		{"IQ3_XXS", nil, tensor.IQ2_S},
	},
	ffnDown: {
		{"Q2_K", nil, tensor.Q3_K},
		{"Q2_K_S", below(8), tensor.Q4_K},
		{"IQ3_XXS", both(not(matrix), below(8)), tensor.Q4_K},
		{"IQ3_XXS", not(matrix), tensor.Q3_K},
		{"Q3_K_M", below(16), tensor.Q5_K},
		{"Q3_K_M", either(not(falcon), moreBits), tensor.Q4_K},
		{"IQ3_M", either(below(8), both(eight, moreBits)), tensor.Q4_K},
		{"Q3_K_L", falcon, tensor.Q4_K},
		{"Q3_K_L", nil, tensor.Q5_K},
		{"Q4_K_M", both(falcon, below(16)), tensor.Q6_K},
		{"Q4_K_M", both(falcon, moreBits), tensor.Q5_K},
		{"Q4_K_M", both(not(falcon), moreBits), tensor.Q6_K},
		{"IQ4_NL IQ4_XS", both(below(8), not(matrix)), tensor.Q5_K},
		{"Q5_K_M", moreBits, tensor.Q6_K},
		{"Q4_K_S", both(not(falcon), below(8)), tensor.Q5_K},
		{"Q4_0", both(matrix, below(8)), tensor.Q4_1},
		{"Q5_0", both(matrix, below(8)), tensor.Q5_1},
	},
	attnOut: {
		{"Q3_K_L", falcon, tensor.Q4_K},
		{"Q2_K IQ3_XS IQ3_XXS Q3_K_S Q3_K_M IQ4_NL Q4_K_S Q4_K_M IQ3_S IQ3_M IQ4_XS", both(not(falcon), eight), tensor.Q5_K},
		{"Q2_K", both(not(falcon), not(eight)), tensor.Q3_K},
		{"IQ3_XXS", both(not(falcon), not(eight)), tensor.IQ3_S},
		{"Q3_K_M IQ3_M", both(not(falcon), not(eight)), tensor.Q4_K},
		{"Q3_K_L", both(not(falcon), not(eight)), tensor.Q5_K},
	},
	ffnGate: {{"IQ3_XS", middle, tensor.IQ3_XXS}},
	ffnUp:   {{"IQ3_XS", middle, tensor.IQ3_XXS}},
}

// lowRules are those of IQ1 and IQ2.
var lowRules = [roles][]rule{
	attnV: {
		{"*", sharedOrExperts, tensor.Q4_K},
		{"IQ2_S IQ2_M", nil, tensor.IQ3_S},
		{"*", nil, tensor.Q2_K},
	},
	attnK: {{"*", eight, tensor.Q4_K}},
	ffnDown: {
		{"IQ2_S IQ2_M", below(8), tensor.IQ3_S},
		{"*", below(8), tensor.Q2_K},
	},
	attnOut: {
		{"*", eight, tensor.Q5_K},
		{"IQ1_S IQ1_M", nil, tensor.IQ2_XXS},
		{"IQ2_S IQ2_M", nil, tensor.IQ3_S},
	},
}

// apply gives the type of the first rule that applies, or what it was.
func (x *Mix) apply(list []rule, p *place) tensor.DType {
	for _, r := range list {
		if (r.mixes == "*" || strings.Contains(" "+r.mixes+" ", " "+x.Name+" ")) && (r.when == nil || r.when(p)) {
			return r.to
		}
	}
	return p.t
}
