package bnb_test

import (
	"encoding/binary"
	"math"
	"sync"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// The golden is numpy's, in float64 and in another order of adding.
func TestDistortionIsWhatNumpyMeasures(t *testing.T) {
	g := encodeGoldens(t, "distortion")[0]
	before := quanttest.Floats(g.data["input"])
	after := make([]float32, len(before))
	bnb.Quantizer{Block: 64}.Decode(after, g.data["w"], quanttest.Floats(g.data["absmax"]))
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
	before := quanttest.Floats(g.data["input"])
	after := make([]float32, len(before))
	bnb.Quantizer{Block: 64}.Decode(after, g.data["w"], quanttest.Floats(g.data["absmax"]))
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

// The encoders decode their own output like the decoder of the written weight.
func TestEncodersReadBackLikeTheDecoders(t *testing.T) {
	for _, g := range append(encodeGoldens(t, "[nf]*4-*"), encodeGoldens(t, "nested-*")...) {
		s := g.state(t)
		var list []quanttest.Stored
		for name, i := range g.infos {
			if name != "input" {
				list = append(list, quanttest.Stored{Name: name, DType: i.DType, Shape: i.Shape, Data: g.data[name]})
			}
		}
		_, want := quanttest.Decoded(t, quanttest.Model("", list...), quant.Options{Target: quant.F32})
		got, scales := make([]float32, len(want)/4), quanttest.Floats(g.data["w.absmax"])
		if s.Nested {
			codes := g.data["w.absmax"]
			mean := bnb.NewMean(int64(len(codes)))
			_, plain := encode4(t, &s, quanttest.Floats(g.data["input"]), 100)
			mean.Add(plain)
			scales = make([]float32, len(codes))
			bnb.DecodeNested(scales, codes, quanttest.Floats(g.data["w.nested_absmax"]), mean.Value())
		}
		s.Decode(got, g.data["w"], scales)
		quanttest.SameBits(t, quanttest.Floats(want), got)
	}
	for _, g := range encodeGoldens(t, "int8-*") {
		i := g.infos["w"]
		_, want := quanttest.Decoded(t, quanttest.Model("", quanttest.Stored{Name: "m.weight", DType: i.DType, Shape: i.Shape, Data: g.data["w"]},
			quanttest.Stored{Name: "m.SCB", DType: g.infos["SCB"].DType, Shape: g.infos["SCB"].Shape, Data: g.data["SCB"]}), quant.Options{Target: quant.F32})
		got := make([]float32, len(want)/4)
		bnb.DecodeInt8(got, g.data["w"], quanttest.Floats(g.data["SCB"]), int(i.Shape[1]))
		quanttest.SameBits(t, quanttest.Floats(want), got)
	}
}
