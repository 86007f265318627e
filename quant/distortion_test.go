package quant_test

import (
	"encoding/binary"
	"math"
	"sync"
	"testing"

	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// The golden is numpy's, in float64 and in another order of adding.
func TestDistortionIsWhatNumpyMeasures(t *testing.T) {
	g := encodeGoldens(t, "distortion")[0]
	before := floats(g.data["input"])
	after := make([]float32, len(before))
	bnb.Quantizer{Block: 64}.Decode(after, g.data["w"], floats(g.data["absmax"]))
	var d quant.Distortion
	d.Add(before, after)
	got := []float64{d.MAE(), d.RelativeRMSE(), d.Max, d.Cosine()}
	for i, name := range []string{"mean", "relative RMSE", "max", "cosine"} {
		want := math.Float64frombits(binary.LittleEndian.Uint64(g.data["stats"][8*i:]))
		if math.Abs(got[i]-want) > 1e-12*math.Abs(want) {
			t.Errorf("%s %v, want %v", name, got[i], want)
		}
	}
}

func TestDistortionIsTheSameForAnyNumberOfWorkers(t *testing.T) {
	g := encodeGoldens(t, "distortion")[0]
	before := floats(g.data["input"])
	after := make([]float32, len(before))
	bnb.Quantizer{Block: 64}.Decode(after, g.data["w"], floats(g.data["absmax"]))
	const block = 1000
	sums := func(workers int) quant.Distortion {
		s := quant.NewDistortions(make([]byte, (len(before)+block-1)/block*quant.DistortionBytes))
		var wg sync.WaitGroup
		for k := range workers {
			wg.Go(func() {
				for b := k; b*block < len(before); b += workers {
					var d quant.Distortion
					end := min((b+1)*block, len(before))
					d.Add(before[b*block:end], after[b*block:end])
					s.Set(int64(b), &d)
				}
			})
		}
		wg.Wait()
		return s.Sum()
	}
	if one, four := sums(1), sums(4); one != four || one.N != int64(len(before)) || one.Max == 0 {
		t.Errorf("%+v, %+v", one, four)
	}
}

func TestDistortionOfNothing(t *testing.T) {
	var d quant.Distortion
	if d.MAE() != 0 || d.RelativeRMSE() != 0 || d.Cosine() != 1 {
		t.Error(d.MAE(), d.RelativeRMSE(), d.Cosine())
	}
	d.Add([]float32{0, 0}, []float32{0, 0})
	if d.Cosine() != 1 {
		t.Error(d.Cosine())
	}
	d.Add([]float32{0}, []float32{1})
	if d.Cosine() != 0 || !math.IsInf(d.RelativeRMSE(), 1) {
		t.Error(d.Cosine(), d.RelativeRMSE())
	}
}

// What the encoders' own way back gives is what the weight decodes to.
func TestTheWayBackIsTheDecoders(t *testing.T) {
	for _, g := range append(encodeGoldens(t, "[nf]*4-*"), encodeGoldens(t, "nested-*")...) {
		s := g.state(t)
		var list []stored
		for name, i := range g.infos {
			if name != "input" {
				list = append(list, stored{name, i.DType, i.Shape, g.data[name]})
			}
		}
		_, want := decoded(t, model("", list...), quant.Options{Target: quant.F32})
		got, scales := make([]float32, len(want)/4), floats(g.data["w.absmax"])
		if s.Nested {
			codes := g.data["w.absmax"]
			mean := bnb.NewMean(int64(len(codes)))
			_, plain := encode4(t, &s, floats(g.data["input"]), 100)
			mean.Add(plain)
			scales = make([]float32, len(codes))
			bnb.DecodeNested(scales, codes, floats(g.data["w.nested_absmax"]), mean.Value())
		}
		s.Decode(got, g.data["w"], scales)
		sameBits(t, floats(want), got)
	}
	for _, g := range encodeGoldens(t, "int8-*") {
		i := g.infos["w"]
		_, want := decoded(t, model("", stored{"m.weight", i.DType, i.Shape, g.data["w"]},
			stored{"m.SCB", g.infos["SCB"].DType, g.infos["SCB"].Shape, g.data["SCB"]}), quant.Options{Target: quant.F32})
		got := make([]float32, len(want)/4)
		bnb.DecodeInt8(got, g.data["w"], floats(g.data["SCB"]), int(i.Shape[1]))
		sameBits(t, floats(want), got)
	}
}
