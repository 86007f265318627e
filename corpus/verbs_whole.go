package corpus

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
)

// len u64 { ... }: the length of the block, then the block.
func (p *parser) length() (node, error) {
	t := p.next()
	name, big := strings.CutSuffix(t.text, "be")
	size, ok := map[string]uint{"u8": 8, "u16": 16, "u32": 32, "u64": 64}[name]
	if !ok || t.kind != word {
		return nil, p.fail("len needs u8, u16, u32 or u64, with or without be")
	}
	var order binary.AppendByteOrder = binary.LittleEndian
	if big {
		order = binary.BigEndian
	}
	return p.transformBlock(func(body []byte) ([]byte, error) {
		if size < 64 && uint64(len(body)) >= 1<<size {
			return nil, fmt.Errorf("%d bytes do not fit %d bits", len(body), size)
		}
		return append(put(nil, order, size, uint64(len(body))), body...), nil
	})
}

// gstr "key": the length as u64, then the text: GGUF's string.
func gstr(order binary.AppendByteOrder) verb {
	return func(p *parser) (node, error) {
		s, err := p.text()
		if err != nil {
			return nil, err
		}
		data := append(put(nil, order, 64, uint64(len(s))), s...)
		return func(b *builder) error { return b.write(data) }, nil
	}
}

// deflate { ... }: a raw DEFLATE stream of the block.
func (p *parser) deflate() (node, error) { return p.transformBlock(compress) }

func compress(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, 6)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// crc32 { ... }: the four bytes of the block's CRC-32, not the block.
func (p *parser) crc32() (node, error) {
	return p.transformBlock(func(data []byte) ([]byte, error) {
		return put(nil, binary.LittleEndian, 32, uint64(crc32.ChecksumIEEE(data))), nil
	})
}

// seed "npy/a.npy": a file of corpus/valid.
func (p *parser) seed() (node, error) {
	name, err := p.text()
	if err != nil {
		return nil, err
	}
	data, err := files.ReadFile("valid/" + name)
	if err != nil {
		return nil, p.fail("seed: no file corpus/valid/%s", name)
	}
	return func(b *builder) error { return b.write(data) }, nil
}

// transformBlock parses a block and writes what turn returns for its bytes.
func (p *parser) transformBlock(turn func([]byte) ([]byte, error)) (node, error) {
	body, err := p.body()
	if err != nil {
		return nil, err
	}
	return func(b *builder) error {
		data, err := b.buildBlock(body)
		if err != nil {
			return err
		}
		out, err := turn(data)
		if err != nil {
			return err
		}
		return b.write(out)
	}, nil
}
