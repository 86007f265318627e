package corpus

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// tableMagic is how a table of LevelDB ends.
const tableMagic = 0xdb4775248b80fb57

// varint 1 300: numbers of seven bits a byte, the lowest first, as protobuf and LevelDB write them.
func (p *parser) varint() (node, error) {
	return p.numbers(64, func(v uint64) []byte { return binary.AppendUvarint(nil, v) })
}

// masked is a CRC-32C as LevelDB stores it.
func masked(data []byte) []byte {
	sum := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return put(nil, binary.LittleEndian, 32, uint64((sum>>15|sum<<17)+0xa282ead8))
}

// crc32c { ... }: the four bytes of the block's CRC-32C, masked, not the block.
func (p *parser) crc32c() (node, error) {
	return p.transformBlock(func(data []byte) ([]byte, error) { return masked(data), nil })
}

// row "key" { ... }: an entry of a table that shares nothing with the one before.
func (p *parser) row() (node, error) {
	key, err := p.text()
	if err != nil {
		return nil, err
	}
	return p.transformBlock(func(value []byte) ([]byte, error) { return row(key, value), nil })
}

func row(key string, value []byte) []byte {
	out := binary.AppendUvarint([]byte{0}, uint64(len(key)))
	out = binary.AppendUvarint(out, uint64(len(value)))
	return append(append(out, key...), value...)
}

// block 0 { ... }: the bytes of a block of a table, how it is compressed, and its checksum.
func (p *parser) tableBlock() (node, error) {
	packing, err := p.number()
	if err != nil {
		return nil, err
	}
	body, err := p.body()
	if err != nil {
		return nil, err
	}
	return func(b *builder) error {
		n, err := packing.eval(b.counters)
		if err != nil || n.neg || n.abs > 255 {
			return fmt.Errorf("%v is not a byte", n)
		}
		data, err := b.buildBlock(body)
		if err != nil {
			return err
		}
		return b.write(block(data, byte(n.abs)))
	}, nil
}

func block(data []byte, packing byte) []byte {
	data = append(data, packing)
	return append(data, masked(data)...)
}

// table { ... }: a table of LevelDB whose rows are one block.
func (p *parser) table() (node, error) {
	return p.transformBlock(func(rows []byte) ([]byte, error) {
		restarts := []byte{0, 0, 0, 0, 1, 0, 0, 0}
		place := func(off, size int) []byte {
			return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(off)), uint64(size))
		}
		out := block(append(rows, restarts...), 0)
		index := block(append(row("\xff\xff", place(0, len(out)-5)), restarts...), 0)
		footer := place(len(out), len(restarts))
		out = append(out, block(restarts, 0)...)
		footer = append(footer, place(len(out), len(index)-5)...)
		out = append(append(append(out, index...), footer...), make([]byte, 40-len(footer))...)
		return binary.LittleEndian.AppendUint64(out, tableMagic), nil
	})
}
