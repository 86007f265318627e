package asm

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"time"
)

var (
	only = flag.String("entry", "", "measure the entries that match")
	big  = flag.Bool("dram", true, "measure a 4096x11008 matrix too")
)

// modelScales are scales of a model.
func modelScales(n int) []float32 {
	scales := make([]float32, n)
	for i := range scales {
		scales[i] = float32(i%97+3) / 4096
	}
	return scales
}

// A bench is an entry of the benchmark table.
type bench struct {
	class, name string
	elems       int // per unit
	bytes       int // of source per unit
	out         int // bytes written per element
	fix         func(src []byte)
	run         func(o *Ops, dst, src []byte)
}

// benches returns all entries; of runs, one for each length that any source has.
func benches(scales []float32) (out []bench) {
	for k := range Kinds {
		for _, to := range []Type{BF16, F32, F16} {
			out = append(out, bench{classes[k], fmt.Sprintf("%v to %v", k, to), k.Elems(), k.Bytes(), to.Size(),
				func(src []byte) { honest(k, src) },
				func(o *Ops, dst, src []byte) { o.Blocks(k, to, dst, src) }})
		}
	}
	codebook := &[16]float32{-1, -0.6961928, -0.52507305, -0.3949175, -0.28444138, -0.18477343, -0.091050036, 0, 0.0795803, 0.1609302,
		0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1}
	last := float32(0.007874015718698502)
	add := func(class, name string, elems, bytes int, run func(o *Ops, to Type, dst, src []byte)) {
		for _, to := range []Type{BF16, F32, F16} {
			out = append(out, bench{class, fmt.Sprintf("%s to %v", name, to), elems, bytes, to.Size(), func([]byte) {},
				func(o *Ops, dst, src []byte) { run(o, to, dst, src) }})
		}
	}
	for f := range Float(floats8) {
		add("8-bit", fmt.Sprintf("%v, blocks", f), 128, 128, func(o *Ops, to Type, dst, src []byte) { o.Float8(f, to, dst, src, scales, 128) })
	}
	add("8-bit", "INT8 rows", 4096, 4096, func(o *Ops, to Type, dst, src []byte) {
		o.Bytes(Bytes{Last: &last}, to, dst, src, Runs{scales, nil, 4096})
	})
	add("8-bit", "bytes, affine", 64, 64, func(o *Ops, to Type, dst, src []byte) {
		o.Bytes(Bytes{Op: Affine, Unsigned: true}, to, dst, src, Runs{scales, scales, 64})
	})
	for _, run := range []int{32, 64, 128} {
		add("4-bit", fmt.Sprintf("codebook/%d", run), run, run/2, func(o *Ops, to Type, dst, src []byte) {
			o.Nibbles(Nibbles{High: run == 64, Codebook: codebook}, to, dst, src, Runs{scales, nil, run})
		})
	}
	add("4-bit", "affine/64", 64, 32, func(o *Ops, to Type, dst, src []byte) {
		o.Nibbles(Nibbles{Op: Affine, Codebook: codebook}, to, dst, src, Runs{scales, scales, 64})
	})
	zeros := make([]float32, 1024)
	for _, to := range []Type{BF16, F32, F16} {
		out = append(out, bench{"8-bit", fmt.Sprintf("per-element scale to %v", to), 1024, 4 * 1024, to.Size(), counted, func(o *Ops, dst, src []byte) {
			for n := 1024; len(src) > 0; dst, src = dst[n*to.Size():], src[4*n:] {
				o.Each(to, dst[:n*to.Size()], floatsOf(src[:4*n]), scales[:n], zeros)
			}
		}})
	}
	add("casts", "F16", 32, 64, func(o *Ops, to Type, dst, src []byte) { o.Cast(F16, to, dst, src) })
	add("casts", "BF16", 32, 64, func(o *Ops, to Type, dst, src []byte) { o.Cast(BF16, to, dst, src) })
	return append(out, encoders(scales)...)
}

// counted returns bytes as numbers, one for each four.
func counted(src []byte) {
	f := floatsOf(src)
	for i := range f {
		f[i] = float32(int8(src[4*i]))
	}
}

func encoders(scales []float32) []bench {
	one := func(name string, out int, run func(o *Ops, dst, src []byte)) bench {
		return bench{"encode", name, 64, 256, out, func(src []byte) {
			for i := 3; i < len(src); i += 4 {
				src[i] = src[i]&0x80 | 0x3C
			}
		}, run}
	}
	most := make([]float32, len(scales))
	return []bench{
		one("absmax and NF4", 1, func(o *Ops, dst, src []byte) {
			n := len(src) / 4
			o.Absmax(most[:n/64], floatsOf(src), 64)
			o.Nearest(testQuantizer, dst[:n/2], floatsOf(src), most, 64)
		}),
		one("absmax and INT8", 1, func(o *Ops, dst, src []byte) {
			n := len(src) / 4
			o.Absmax(most[:n/64], floatsOf(src), 64)
			o.Int8(dst[:n], floatsOf(src), most, 64)
		}),
	}
}

var classes = [Kinds]string{
	Q8_0: "8-bit", Q8_1: "8-bit", Q8_K: "8-bit",
	Q4_0: "4-bit", Q4_1: "4-bit", IQ4_NL: "4-bit", IQ4_XS: "4-bit", MXFP4: "4-bit", NVFP4: "4-bit",
	Q2_K: "K", Q3_K: "K", Q4_K: "K", Q5_K: "K", Q6_K: "K", Q5_0: "K", Q5_1: "K",
	IQ1_S: "IQ, TQ", IQ1_M: "IQ, TQ", IQ2_XXS: "IQ, TQ", IQ2_XS: "IQ, TQ", IQ2_S: "IQ, TQ", IQ3_XXS: "IQ, TQ", IQ3_S: "IQ, TQ",
	TQ1_0: "IQ, TQ", TQ2_0: "IQ, TQ", Q1_0: "IQ, TQ", Q2_0: "IQ, TQ",
}

// honest gives blocks scales as models have them: random codes, float16 near 2^-8, without
// signs in types with scales of sub-blocks and minima.
func honest(k Kind, src []byte) {
	for at := 0; at < len(src); at += k.Bytes() {
		block := src[at:][:k.Bytes()]
		for _, h := range halves[k] {
			block[max(h, -h)+1] = block[max(h, -h)+1]&0x83 | 0x1C
			if k == Q2_K || k == Q4_K || k == Q5_K {
				block[max(h, -h)+1] &^= 0x80
			}
		}
		switch k {
		case MXFP4:
			block[0] = block[0]&7 | 112
		case Q8_K:
			block[2], block[3] = block[2]|0x80, 0x3B
		case IQ1_M:
			block[53], block[55] = block[53]&15|0x90, block[55]&15|0x10
		}
	}
}

// BenchmarkTable prints a table of all entries at all levels: billions of elements per
// second from and to caches, and to memory that is faulted in, the latter also as a share
// of what plain stores reach in the same run. Inputs rotate over 32 buffers of random
// blocks, so that no branch predictor learns their bits.
func BenchmarkTable(b *testing.B) {
	const small, large = 64 << 10, 4096 * 11008
	pattern := regexp.MustCompile(*only)
	rng := rand.NewChaCha8([32]byte{1})
	var dst, src []byte
	if *big {
		dst, src = make([]byte, 4*large), make([]byte, 4*large)
		rng.Read(src)
		for i := range dst {
			dst[i] = byte(i)
		}
	}
	fmt.Printf("%-8s %-18s %-12s %8s %8s %8s\n", "class", "entry", "level", "cache", "memory", "of limit")
	for _, e := range benches(modelScales(large/32 + 1)) {
		if !pattern.MatchString(e.name) {
			continue
		}
		var in [32][]byte
		n := small / e.elems
		for i := range in {
			in[i] = make([]byte, n*e.bytes)
			rng.Read(in[i])
			e.fix(in[i])
		}
		out := make([]byte, n*e.elems*e.out)
		for _, l := range Machine() {
			o := For(l.Features())
			i := 0
			cache := quickest(n*e.elems, func() { e.run(&o, out, in[i%32]); i++ })
			if !*big || l == Generic {
				fmt.Printf("%-8s %-18s %-12v %8.2f\n", e.class, e.name, l, cache)
				continue
			}
			n := large / e.elems
			from, to := src[:n*e.bytes], dst[:n*e.elems*e.out]
			e.fix(from)
			limit := walked(n*e.elems, from, to, e, func(to, from []byte) { plainStores(to, from) })
			memory := walked(n*e.elems, from, to, e, func(to, from []byte) { e.run(&o, to, from) })
			fmt.Printf("%-8s %-18s %-12v %8.2f %8.2f %7.0f%%\n", e.class, e.name, l, cache, memory, 100*memory/limit)
		}
	}
}

// BenchmarkEncoders encodes separate numbers in each goroutine: with -cpu 1,2, two should
// do 1.9 times what one does.
func BenchmarkEncoders(b *testing.B) {
	const n = 64 << 10
	for _, e := range encoders(modelScales(n)) {
		b.Run(e.name, func(b *testing.B) {
			b.SetBytes(n)
			b.RunParallel(func(pb *testing.PB) {
				mine := encoders(modelScales(n))
				run := mine[slices.IndexFunc(mine, func(m bench) bool { return m.name == e.name })].run
				src, dst := make([]byte, 4*n), make([]byte, n)
				rand.NewChaCha8([32]byte{2}).Read(src)
				e.fix(src)
				for o := Best(); pb.Next(); {
					run(o, dst, src)
				}
			})
			b.ReportMetric(float64(n)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "Ge/s")
		})
	}
}

// walked returns the rate from and to memory. It passes through the matrix twice, in
// pieces of a quarter of a million elements; the rate is one that nine pieces in ten do
// not exceed. On an idle machine the best whole pass would do.
func walked(elems int, src, dst []byte, e bench, f func(dst, src []byte)) float64 {
	piece := (1 << 18) / e.elems
	in, out := piece*e.bytes, piece*e.elems*e.out
	var rates []float64
	for range 2 {
		for i := range elems / e.elems / piece {
			rates = append(rates, rate(piece*e.elems, func() { f(dst[i*out:][:out], src[i*in:][:in]) }))
		}
	}
	slices.Sort(rates)
	return rates[len(rates)*9/10]
}

// rate returns billions of elements per second of one call.
func rate(elems int, f func()) float64 {
	begin := time.Now()
	f()
	return float64(elems) / float64(time.Since(begin).Nanoseconds())
}

// quickest returns the best of many short runs: the machine is shared, and a run of a
// tenth of a millisecond is seldom interrupted.
func quickest(elems int, f func()) float64 {
	calls := 1
	for rate(1, func() {
		for range calls {
			f()
		}
	}) > 1/1e5 {
		calls *= 2
	}
	best := 0.0
	for range 60 {
		best = max(best, rate(calls*elems, func() {
			for range calls {
				f()
			}
		}))
	}
	return best
}
