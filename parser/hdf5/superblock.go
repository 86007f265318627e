package hdf5

import "github.com/anamnesis-go/anamnesis/internal/wire"

// superblock reads the beginning of the file, which leads to the root group.
func (d *decoder) superblock() error {
	const where = "superblock"
	if err := d.begin(); err != nil {
		return d.fail(where, 0, err)
	}
	if d.out.Start = d.base; d.base > 0 {
		if err := d.userBlock(); err != nil {
			return err
		}
	}
	if err := d.c.MoveTo(d.base); err != nil {
		return err
	}
	p, err := d.c.View(len(Magic) + 1)
	if err != nil {
		return err
	}
	version := p[8]
	switch {
	case string(p[:8]) != Magic:
		return d.fail(where, 0, errStructure.Errorf("it begins with % x", p[:8]))
	case version < 2:
		return d.oldSuperblock(version)
	case version < 4:
		return d.newSuperblock()
	}
	return d.fail(where, d.base+8, errFeature.Errorf("superblock of version %d", version))
}

// begin finds where the file begins, as the library does: the first offset of 0, 512, 1024 and so
// on that has [Magic].
func (d *decoder) begin() error {
	if d.size < int64(len(Magic)) {
		return nil
	}
	p, err := d.c.View(len(Magic))
	if err != nil || string(p) == Magic {
		return err
	}
	found, err := Behind(d.r, d.size)
	if err == nil && len(found) > 0 {
		d.base = found[0]
	}
	return err
}

// oldSuperblock reads version 0 or 1:
//
//	magic, version, 2 versions, 0, version, size of addresses and of lengths, 0, u16 and u16 of trees, u32 flags,
//	[u32 in version 1], u64 base, u64 free space, u64 end, u64 driver, then an entry for the root
func (d *decoder) oldSuperblock(version byte) error {
	const where = "superblock"
	at := d.base
	p, err := d.c.View(24)
	if err != nil {
		return err
	}
	switch {
	case p[9] != 0 || p[10] != 0 || p[12] != 0:
		return d.fail(where, at+9, errFeature.Errorf("versions %d, %d and %d of structures", p[9], p[10], p[12]))
	case p[13] != 8 || p[14] != 8:
		return d.fail(where, at+13, errFeature.Errorf("addresses of %d bytes and lengths of %d", p[13], p[14]))
	}
	if err := d.c.Skip(24 + 4*uint64(version)); err != nil {
		return err
	}
	var v [9]uint64 // base, free space, end, driver, then name, header, kind, tree and names of the root
	for i := range v {
		if v[i], err = d.c.U64(); err != nil {
			return err
		}
	}
	at += 4 * int64(version)
	if err := d.bounds(at+24, v[0], at+40, v[2]); err != nil {
		return err
	}
	if v[1] != none || v[3] != none {
		return d.fail(where, at+32, errFeature.Errorf("a list of free space, or a driver other than for one file"))
	}
	root := link{header: v[5], root: true}
	switch uint32(v[6]) {
	case aGroup:
		root.known = &symbols{v[7], v[8]}
	case 0:
	default:
		return d.fail(where, at+72, errStructure.Errorf("a root of kind %d", uint32(v[6])))
	}
	return d.push(root)
}

// newSuperblock reads version 2 or 3:
//
//	magic, version, size of addresses and of lengths, flags, u64 base, u64 extension, u64 end, u64 root, checksum
func (d *decoder) newSuperblock() error {
	const where, size = "superblock", 44
	at := d.base
	if err := d.sum(where, size); err != nil {
		return err
	}
	p, err := d.c.View(size)
	if err != nil {
		return err
	}
	switch {
	case p[9] != 8 || p[10] != 8:
		return d.fail(where, at+9, errFeature.Errorf("addresses of %d bytes and lengths of %d", p[9], p[10]))
	case p[11] != 0:
		return d.fail(where, at+11, errFeature.Errorf("the file was not closed by its writer (flags %#x)", p[11]))
	}
	if err := d.c.Skip(12); err != nil {
		return err
	}
	var base, extension, end, root uint64
	if err := numbers(&d.c, &base, &extension, &end, &root); err != nil {
		return err
	}
	if err := d.bounds(at+12, base, at+28, end); err != nil {
		return err
	}
	if extension != none {
		if err := d.extension(extension); err != nil {
			return err
		}
	}
	return d.push(link{header: root, root: true})
}

// bounds checks what a superblock says of the whole file: addresses count from where it
// begins, and its end, which counts from the first byte of all.
func (d *decoder) bounds(baseAt int64, base uint64, endAt int64, end uint64) error {
	const where = "superblock"
	switch {
	case base != uint64(d.base):
		return d.fail(where, baseAt, errFeature.Errorf("addresses count from %#x, and it begins at %#x", base, d.base))
	case end > uint64(d.size):
		return d.fail(where, endAt, wire.ErrTruncated.Errorf("the file states a size of %d bytes, but has %d", end, d.size))
	}
	return nil
}

// extension reads the messages that belong to the file itself.
func (d *decoder) extension(address uint64) error {
	o, err := d.header(address)
	if err != nil {
		return err
	}
	if o.isDataset() || o.isGroup() || o.typ != nil {
		return d.fail("superblock", d.place(address), errStructure.Errorf("its extension is an object"))
	}
	return nil
}

// userBlock checks what precedes the file, to its end.
func (d *decoder) userBlock() error {
	const where = "user block"
	if err := d.c.MoveTo(0); err != nil {
		return err
	}
	var u user
	for at := int64(0); at < d.base; at += UserBlock {
		if err := d.steps.Step(); err != nil {
			return d.fail(where, at, err)
		}
		p, err := d.c.View(UserBlock)
		if err != nil {
			return err
		}
		if bad := u.check(p); bad >= 0 {
			return d.fail(where, at+int64(bad), errFeature.Errorf("what precedes the file is neither a text nor the header of a MAT file, and zeros"))
		}
		if err := d.c.Skip(UserBlock); err != nil {
			return err
		}
	}
	return nil
}
