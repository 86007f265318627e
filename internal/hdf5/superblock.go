package hdf5

import "github.com/anamnesis-go/anamnesis/internal/wire"

const superWhere = "superblock"

// superblock reads the beginning of the file, which leads to the root group.
func (f *file) superblock() error {
	const least = 24
	p, err := f.c.Bytes(least)
	if err != nil {
		return err
	}
	switch version := p[8]; {
	case string(p[:8]) != Magic:
		return f.fail(superWhere, 0, errStructure.Errorf("it begins with % x", p[:8]))
	case version == 2 || version == 3:
		return f.newer(p)
	case version > 1:
		return f.fail(superWhere, 8, errFeature.Errorf("superblock of version %d", version))
	}
	return f.oldest(p)
}

// oldest reads a superblock of version 0 or 1:
//
//	magic, version, 2 versions, 0, version, size of addresses and of lengths, 0, u16 and u16 of trees, u32 flags,
//	[u32 in version 1], u64 base, u64 free space, u64 end, u64 driver, then an entry for the root
func (f *file) oldest(p []byte) error {
	version := p[8]
	switch {
	case p[9] != 0 || p[10] != 0 || p[12] != 0:
		return f.fail(superWhere, 9, errFeature.Errorf("versions %d, %d and %d of structures", p[9], p[10], p[12]))
	case p[13] != 8 || p[14] != 8:
		return f.fail(superWhere, 13, errFeature.Errorf("addresses of %d bytes and lengths of %d", p[13], p[14]))
	}
	if version == 1 {
		if err := f.c.Skip(4); err != nil {
			return err
		}
	}
	var v [9]uint64 // base, free space, end, driver, then name, header, kind, tree and names of the root
	for i := range v {
		var err error
		if v[i], err = f.c.U64(); err != nil {
			return err
		}
	}
	if err := f.extent(24, v[0], 40, v[2]); err != nil {
		return err
	}
	if v[1] != none || v[3] != none {
		return f.fail(superWhere, 32, errFeature.Errorf("a list of free space, or a driver other than for one file"))
	}
	if err := f.object(v[5]); err != nil || uint32(v[6]) != aGroup {
		return err
	}
	return f.group(v[7], v[8])
}

// extent checks where a file begins that has bytes of its user before it, and where it ends. Both
// count from these.
func (f *file) extent(baseAt int64, base uint64, endAt int64, end uint64) error {
	if base != f.base {
		return f.fail(superWhere, baseAt, errFeature.Errorf("addresses count from %#x, and the file begins at %#x", base, f.base))
	}
	if size := f.base + uint64(f.size); end > size {
		return f.fail(superWhere, endAt, wire.ErrTruncated.Errorf("the file says that it has %d bytes, and has %d", end, size))
	}
	return nil
}

// newer reads a superblock of version 2 or 3, whose flags are set while a program writes the file:
//
//	magic, version, size of addresses and of lengths, flags, u64 base, u64 extension, u64 end, u64 root, u32 sum
func (f *file) newer(p []byte) error {
	const size = 44
	switch {
	case p[9] != 8 || p[10] != 8:
		return f.fail(superWhere, 9, errFeature.Errorf("addresses of %d bytes and lengths of %d", p[9], p[10]))
	case p[11] != 0:
		return f.fail(superWhere, 11, errFeature.Errorf("a file that a program is writing, by its flags %#x", p[11]))
	}
	if err := f.summed(superWhere, 0, size); err != nil {
		return err
	}
	if err := f.at(superWhere, 12); err != nil {
		return err
	}
	var v [4]uint64 // base, extension, end, root
	for i := range v {
		var err error
		if v[i], err = f.c.U64(); err != nil {
			return err
		}
	}
	if err := f.extent(12, v[0], 28, v[2]); err != nil {
		return err
	}
	if v[1] != none {
		return f.fail(superWhere, 20, errFeature.Errorf("an extension: write the file again without fs_strategy"))
	}
	return f.object(v[3])
}
