package rows

import (
	"math"

	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Where things lie in the memory of a search on a grid, the Go type gridGroup.
const (
	groupX        = 0
	groupW        = 128
	groupInverses = 384
	groupKeys     = 512
	groupSums     = 1536
)

// A tries is a kernel that handles eight tries of a group, under construction.
type tries struct {
	x, inverses, keys, sums Register
	points, elems, eights   Register
	bits                    VecVirtual // of a level, as instructions that shift want it
}

// grids writes the kernels of searches on grids.
func grids() {
	gridLevels()
	gridFits()
	gridNear(8, 2)
	gridNear(4, 3)
}

func beginTries(name, params, doc string, how ...string) *tries {
	emit.Frame(name+"AVX2", "func(group *float32, points int, elems int, bits int"+params+", eights int)", doc, how...)
	t := &tries{x: Load(Param("group"), GP64()), points: Load(Param("points"), GP64()), elems: Load(Param("elems"), GP64()),
		eights: Load(Param("eights"), GP64()), inverses: GP64(), keys: GP64(), sums: GP64(), bits: XMM()}
	VMOVQ(Load(Param("bits"), GP64()), t.bits)
	LEAQ(Mem{Base: t.x, Disp: groupInverses}, t.inverses)
	LEAQ(Mem{Base: t.x, Disp: groupKeys}, t.keys)
	LEAQ(Mem{Base: t.x, Disp: groupSums}, t.sums)
	SHLQ(Imm(2), t.elems)
	return t
}

// each writes loops over eights of tries and over points, up to the kernel's end.
func (t *tries) each(before func(), point func(x Register), after func()) {
	x, left := GP64(), GP64()
	emit.Repeat("tries", t.eights, func() {
		before()
		MOVQ(t.x, x)
		MOVQ(t.points, left)
		emit.Repeat("point", left, func() {
			point(x)
			ADDQ(Imm(32), t.keys)
		})
		after()
	})
	emit.End()
}

// gridLevels handles the elements of a point from last to first, so that the first level
// is in the lowest bits.
func gridLevels() {
	t := beginTries("gridLevels", ", top int", "writes the keys of all tries of a group: gridSearch.key.",
		"For each try and point of some elements:", "level = round((x*inverse-1)/2), 0 to top;", "key = the levels, the first one's bits lowest.")
	inverse, top := narrow.one(), narrow.one()
	low, magic, bits := narrow.load(narrow.all(1<<22)), narrow.load(narrow.number(3<<22)), narrow.load(narrow.all(1<<23-1))
	VMOVQ(Load(Param("top"), GP64()), top.vector().AsX())
	VPBROADCASTD(top.vector().AsX(), top.regs[0])
	each(VPADDD, low, top, top)
	t.each(func() {
		VMOVUPS(Mem{Base: t.inverses}, inverse.regs[0])
		ADDQ(Imm(32), t.inverses)
	}, func(x Register) {
		key, l, i, next := cleared(narrow.one()), narrow.one(), GP64(), emit.NewLabel("level")
		MOVQ(t.elems, i)
		next.Here()
		VBROADCASTSS(Mem{Base: x, Index: i, Scale: 1, Disp: -4}, l.regs[0])
		each(VMULPS, inverse, l, l)
		plus(narrow.number(-1), l)
		each(VMULPS, narrow.number(0.5), l, l)
		roundBetween(l, magic, bits, low, top, low)
		VPSLLD(t.bits, key.regs[0], key.regs[0])
		each(VPADDD, l, key, key)
		SUBQ(Imm(4), i)
		JNZ(next.Ref())
		VMOVDQU(key.regs[0], Mem{Base: t.keys})
		ADDQ(t.elems, x)
	}, func() {})
}

func gridFits() {
	t := beginTries("gridFits", "", "writes the sums of all tries of a group: gridSearch.fit.",
		"For each try, of all points: q = 2*level+1;", "qx, qq = the sums of w*x*q and w*q*q;", "sums = eight of qx, eight of qq.")
	qx, qq, above := narrow.one(), narrow.one(), narrow.one()
	each(VPCMPEQD, above, above, above)
	VPSLLD(t.bits, above.regs[0], above.regs[0])
	t.each(func() {
		cleared(qx)
		cleared(qq)
	}, func(x Register) {
		key, q, i, next := narrow.one(), narrow.one(), GP64(), emit.NewLabel("sum")
		VMOVDQU(Mem{Base: t.keys}, key.regs[0])
		MOVQ(t.elems, i)
		next.Here()
		VPANDN(key.regs[0], above.regs[0], q.regs[0])
		VPSRLD(t.bits, key.regs[0], key.regs[0])
		each(VPADDD, q, q, q)
		each(VPADDD, narrow.all(1), q, q)
		each(VCVTDQ2PS, q, q)
		w := narrow.broadcast(Mem{Base: x, Disp: groupW})
		plus(narrow.times(q, narrow.times(w, narrow.broadcast(Mem{Base: x}))), qx)
		plus(narrow.times(q, narrow.times(q, w)), qq)
		ADDQ(Imm(4), x)
		SUBQ(Imm(4), i)
		JNZ(next.Ref())
	}, func() {
		VMOVUPS(qx.regs[0], Mem{Base: t.sums})
		VMOVUPS(qq.regs[0], Mem{Base: t.sums, Disp: 32})
		ADDQ(Imm(64), t.sums)
	})
}

// gridNear has a table of costs for each element, by level, and looks up those of eight
// neighbors. The lookup uses three bits, of which the third may be the next level's.
func gridNear(elems, bits int) {
	name := map[int]string{2: "gridNearAVX2", 3: "gridNearWideAVX2"}[bits]
	emit.Frame(name, "func(near *uint16, eights int, x *float32, w *float32, values *[8]float32, scale float32) int",
		"finds the nearest neighbour, the first of equals: lattice.closest.",
		"For each element: costs = w*(scale*value-x)^2, of eight values;", "for each neighbour: sum = the costs of its levels;", "the place of the least sum.")
	near, eights := Load(Param("near"), GP64()), Load(Param("eights"), GP64())
	x, w, values := Load(Param("x"), GP64()), Load(Param("w"), GP64()), Load(Param("values"), GP64())
	v := narrow.times(value{mem: Mem{Base: values}}, narrow.broadcast(parameter("scale")))
	tables := make([]value, elems)
	for e := range tables {
		d := narrow.of(VSUBPS, narrow.broadcast(Mem{Base: x, Disp: 4 * e}), v)
		tables[e] = narrow.times(d, narrow.times(d, narrow.broadcast(Mem{Base: w, Disp: 4 * e})))
	}
	least, best, place := narrow.load(narrow.number(math.MaxFloat32)), cleared(narrow.one()), narrow.load(value{mem: emit.Dwords(0, 1, 2, 3, 4, 5, 6, 7)})
	key, sum := narrow.one(), narrow.one()
	emit.Repeat("neighbours", eights, func() {
		VPMOVZXWD(Mem{Base: near}, key.regs[0])
		each(VPERMPS, tables[0], key, sum)
		for _, t := range tables[1:] {
			VPSRLD(Imm(uint64(bits)), key.regs[0], key.regs[0])
			plus(narrow.of(VPERMPS, t, key), sum)
		}
		nearer := narrow.compare(less, sum, least)
		narrow.where(nearer, sum, least)
		narrow.where(nearer, place, best)
		each(VPADDD, narrow.all(8), place, place)
		ADDQ(Imm(16), near)
	})
	Comment("The least place of the least sum.")
	other := narrow.one()
	move(least, sum)
	across(sum.vector(), other.vector(), VMINPS)
	nearest := narrow.compare(equal, least, sum)
	each(VPCMPEQD, other, other, other)
	narrow.where(nearest, best, other)
	across(other.vector(), sum.vector(), VPMINUD)
	out := GP32()
	VMOVD(other.vector().AsX(), out)
	Store(out.As64(), ReturnIndex(0))
	emit.End()
}

// parameter returns a parameter's memory: avo loads floats with instructions older than AVX.
func parameter(name string) Mem {
	at, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return at.Addr
}

// across combines all eight numbers with an instruction, in each lane.
func across(a, b VecVirtual, instruction func(...Op)) {
	VPERM2F128(Imm(1), a, a, b)
	instruction(b, a, a)
	for _, order := range []uint64{0x4E, 0xB1} {
		VPERMILPS(Imm(order), a, b)
		instruction(b, a, a)
	}
}
