package asm

// transposeCached is how many bytes may be read in any order, since they stay in the
// second-level cache.
const transposeCached = 128 << 10

// Strides are the bytes from row to row of the destination and of the source.
type Strides struct{ To, From int }

// Transpose writes the columns of a matrix as rows. Numbers have size bytes, 1, 2, 4 or 8.
// Column c of the source, of rows numbers, is written at c*s.To.
func (o *Ops) Transpose(size int, dst, src []byte, rows, cols int, s Strides) {
	if rows == 0 || cols == 0 {
		return
	}
	want(size == 1 || size == 2 || size == 4 || size == 8, "numbers of that size")
	want(rows > 0 && cols > 0 && cols*size <= s.From && rows*size <= s.To, "rows that overlap")
	want(len(src) >= (rows-1)*s.From+cols*size && len(dst) >= (cols-1)*s.To+rows*size, "matrices differ in size")
	apart(dst, src)
	side := [9]int{1: 16, 2: 8, 4: 8, 8: 4}[size]
	squares := 0
	if kernel := o.transpose[size]; kernel != nil && rows >= side {
		squares = rows / side
		// Rows far from each other share few lines of the caches: of a large matrix
		// what lies beside a square is read before what lies below it.
		below := squares
		if s.From >= 512 && rows*s.From > transposeCached {
			below = 1
		}
		for r := 0; r < squares; r += below {
			for c := 0; c+side <= cols; c += side {
				kernel(&dst[c*s.To+r*side*size], &src[r*side*s.From+c*size], s.To, s.From, min(below, squares-r))
			}
		}
		if rest := cols % side; rest > 0 {
			scalarTranspose(size, dst[(cols-rest)*s.To:], src[(cols-rest)*size:], squares*side, rest, s)
		}
	}
	if done := squares * side; done < rows {
		scalarTranspose(size, dst[done*size:], src[done*s.From:], rows-done, cols, s)
	}
}

func scalarTranspose(size int, dst, src []byte, rows, cols int, s Strides) {
	for r := range rows {
		for c := range cols {
			copy(dst[c*s.To+r*size:][:size], src[r*s.From+c*size:])
		}
	}
}

// Swap reverses the bytes of numbers of size 2, 4 or 8.
func (o *Ops) Swap(size int, dst, src []byte) {
	want(size == 2 || size == 4 || size == 8, "numbers of that size")
	want(len(dst) == len(src) && len(src)%size == 0, "numbers differ in count")
	apart(dst, src)
	if kernel := o.swap[size]; kernel != nil && len(src) >= 32 {
		kernel(&dst[0], &src[0], len(src)/32)
		done := len(src) &^ 31
		dst, src = dst[done:], src[done:]
	}
	for at := 0; at < len(src); at += size {
		for i := range size {
			dst[at+i] = src[at+size-1-i]
		}
	}
}

// Spread writes each nibble as a byte, the low one of two first.
func (o *Ops) Spread(dst, src []byte) {
	want(len(dst) == 2*len(src), "nibbles differ in count")
	apart(dst, src)
	if kernel := o.spread; kernel != nil && len(src) >= 16 {
		kernel(&dst[0], &src[0], len(src)/16)
		done := len(src) &^ 15
		dst, src = dst[2*done:], src[done:]
	}
	for i, c := range src {
		dst[2*i], dst[2*i+1] = c&15, c>>4
	}
}

// Lanes splits words of four bytes: byte i of each is written to the stream at i*stride.
func (o *Ops) Lanes(dst, src []byte, stride int) {
	n := len(src) / 4
	want(4*n == len(src) && stride >= n && (n == 0 || len(dst) >= 3*stride+n), "streams differ in length")
	apart(dst, src)
	done := 0
	if kernel := o.lanes; kernel != nil && n >= 32 {
		kernel(&dst[0], &src[0], stride, n/32)
		done = n &^ 31
	}
	for i := done; i < n; i++ {
		for j := range 4 {
			dst[j*stride+i] = src[4*i+j]
		}
	}
}
