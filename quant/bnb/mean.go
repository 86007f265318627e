package bnb

import "math/bits"

// A Mean computes a mean as torch does on one thread with any ATEN_CPU_CAPABILITY, bit
// for bit. The order of additions is in aten/src/ATen/native/cpu/SumKernel.cpp: eight
// lanes, four rows of them at a time, and four levels of partial sums. With several
// threads torch adds 32,768 numbers or more in an order that depends on the number of
// threads.
type Mean struct {
	n, at   int64
	lanes   int64
	quads   int64 // groups of four vectors
	vectors int64
	power   uint // a level holds 1<<power sums of the level below
	acc     [4][4][8]float32
	rest    float32
}

// NewMean returns the Mean of n numbers.
func NewMean(n int64) *Mean {
	m := &Mean{n: n, lanes: 8}
	if n < 8 {
		m.lanes = 1
	}
	m.vectors = n / m.lanes
	m.quads = m.vectors / 4
	m.power = max(4, ceilLog2(m.quads)/4)
	return m
}

// Add adds the next numbers.
func (m *Mean) Add(list []float32) {
	for _, x := range list {
		m.add(x)
		m.at++
	}
}

func (m *Mean) add(x float32) {
	v, lane := m.at/m.lanes, m.at%m.lanes
	switch {
	case v >= m.vectors:
		m.rest += x
	case v >= 4*m.quads:
		if v == 4*m.quads && lane == 0 {
			m.fold()
		}
		m.acc[0][0][lane] += x
	default:
		m.acc[0][v%4][lane] += x
		if v%4 == 3 && lane == m.lanes-1 {
			m.carry(v/4 + 1)
		}
	}
}

// carry moves full levels up after the i-th quad.
func (m *Mean) carry(i int64) {
	if i&(1<<m.power-1) != 0 {
		return
	}
	for level := uint(1); level < 4; level++ {
		for k := range 4 {
			for lane := range 8 {
				m.acc[level][k][lane] += m.acc[level-1][k][lane]
			}
		}
		m.acc[level-1] = [4][8]float32{}
		if i&((1<<m.power-1)<<(level*m.power)) != 0 {
			return
		}
	}
}

// fold adds all levels into the lowest.
func (m *Mean) fold() {
	for level := 1; level < 4; level++ {
		for k := range 4 {
			for lane := range 8 {
				m.acc[0][k][lane] += m.acc[level][k][lane]
			}
		}
		m.acc[level] = [4][8]float32{}
	}
}

// Value returns the mean after all n numbers were added.
func (m *Mean) Value() float32 {
	if m.vectors == 4*m.quads {
		m.fold()
	}
	sum := m.rest
	for lane := range m.lanes {
		v := m.acc[0][0][lane]
		for k := 1; k < 4; k++ {
			v += m.acc[0][k][lane]
		}
		sum += v
	}
	return sum / float32(m.n)
}

// ceilLog2 returns the least k with 1<<k >= n.
func ceilLog2(n int64) uint {
	if n <= 1 {
		return 0
	}
	return uint(bits.Len64(uint64(n - 1)))
}
