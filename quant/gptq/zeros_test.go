package gptq_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/quant"
)

func TestZeroPointsThatContradictTheConfigurationAskTheCaller(t *testing.T) {
	const v1, v2 = 0x77777777, 0x88888888 // of symmetric codes
	for _, tc := range []struct {
		what, config, flag string
		zeros              uint32
		want               string // first number, or what the error says
	}{
		{"v1 as promised", quanttest.GPTQConfig("gptq", `,"sym":true,"checkpoint_format":"gptq"`), "", v1, "0"},
		{"v2 as promised", quanttest.GPTQConfig("gptq", `,"sym":true,"checkpoint_format":"gptq_v2"`), "", v2, "0"},
		{"v2 where v1 is promised", quanttest.GPTQConfig("gptq", `,"sym":true,"checkpoint_format":"gptq"`), "", v2, "quant.Options.GPTQZeros"},
		{"v1 where v2 is promised", quanttest.GPTQConfig("gptq", `,"sym":true,"checkpoint_format":"gptq_v2"`), "", v1, "quant.Options.GPTQZeros"},
		{"v2 where nothing is promised", "", "", v2, "quant.Options.GPTQZeros"},
		{"v1 where nothing is promised", "", "", v1, "0"},
		{"the caller says v1", quanttest.GPTQConfig("gptq", `,"sym":true,"checkpoint_format":"gptq_v2"`), "v1", v1, "0"},
		{"the caller says v2", quanttest.GPTQConfig("gptq", `,"sym":true`), "v2", v2, "0"},
		{"zero points of other codes", quanttest.GPTQConfig("gptq", `,"sym":false`), "", v2, "-1"},
		{"symmetric codes around another number", quanttest.GPTQConfig("gptq", `,"sym":true`), "", 0x66666666, "quant.Options.GPTQZeros"},
		{"symmetric codes around several numbers", quanttest.GPTQConfig("gptq", `,"sym":true`), "", 0x77777778, "quant.Options.GPTQZeros"},
		{"the caller says v2 of several numbers", quanttest.GPTQConfig("gptq", `,"sym":true`), "v2", 0x77777778, "0"},
		{"several numbers, and nothing is said", quanttest.GPTQConfig("gptq", ""), "", 0x88888887, "0"},
		{"AutoRound's GPTQ", quanttest.GPTQConfig("auto-round", `,"sym":true,"packing_format":"auto_round:auto_gptq"`), "", v1, "0"},
		{"AutoRound's GPTQ under its old name", quanttest.GPTQConfig("intel/auto-round", `,"sym":true,"backend":"auto_round:gptq:exllamav2"`), "", v1, "0"},
		{"AutoRound's own", quanttest.GPTQConfig("auto-round", `,"sym":false,"packing_format":"auto_round"`), "", v2, "0"},
		{"AutoRound's own under its old name", quanttest.GPTQConfig("intel/auto-round", `,"sym":false,"backend":"auto_round:exllamav2"`), "", v2, "0"},
		{"AutoRound's GPTQModel", quanttest.GPTQConfig("auto-round", `,"sym":false,"packing_format":"auto_round:gptqmodel"`), "", v2, "0"},
		{"AutoRound's own that are GPTQ's", quanttest.GPTQConfig("auto-round", `,"sym":true,"packing_format":"auto_round:gptqmodel"`), "", v1, "quant.Options.GPTQZeros"},
	} {
		t.Run(tc.what, func(t *testing.T) {
			m := quanttest.GPTQ(tc.config, "m", tc.zeros)
			bound, b, err := quanttest.Plan(t, m, quant.Options{Target: quant.F32, GPTQZeros: tc.flag})
			if strings.HasPrefix(tc.want, "quant.") {
				if wire.ClassOf(err) != wire.Unsupported || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%v, %+v", err, bound)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			w := bound.Weights[0]
			dst := make([]byte, w.Size(quant.F32))
			if err := quant.Decode(b, m, w, dst, quant.F32); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(quanttest.Floats(dst)[0]); got != tc.want {
				t.Errorf("decoded %s, want %s", got, tc.want)
			}
		})
	}
}
