package tensor

import (
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// An Index says in which file of its folder each tensor of a sharded model
// lies: model.safetensors.index.json, pytorch_model.bin.index.json.
type Index struct {
	Name    string // the index's own file
	Files   []string
	Entries []IndexEntry
	// Meta is the metadata whose values are strings.
	Meta []Pair
	// TotalSize is what the metadata states, or -1.
	TotalSize int64

	format string
}

// An IndexEntry places one tensor.
type IndexEntry struct {
	Tensor string
	File   int32  // in Index.Files
	Off    uint32 // of the entry in the index
}

// A Pair is one entry of metadata.
type Pair struct{ Key, Value string }

// ParseIndexName tells whether a file name is that of an index, and of which
// kind of file: "safetensors" for model.safetensors.index.json and for
// model.safetensors.index.fp16.json.
func ParseIndexName(name string) (kind string, ok bool) {
	stem, ok := strings.CutSuffix(path.Base(name), ".json")
	if !ok {
		return "", false
	}
	at := strings.LastIndex(stem, ".index")
	if at < 0 || len(stem) > at+len(".index") && (stem[at+len(".index")] != '.' || strings.Count(stem[at:], ".") > 2) {
		return "", false
	}
	stem = stem[:at]
	return stem[strings.LastIndexByte(stem, '.')+1:], strings.IndexByte(stem, '.') > 0
}

// ReadIndex reads the index of a model of the named format.
func ReadIndex(b *limits.Budget, fsys fs.FS, name, format string) (*Index, error) {
	x := &Index{Name: name, TotalSize: -1, format: format}
	h, err := OpenFile(fsys, name)
	if err != nil {
		return nil, x.fail(wire.NoOffset, err)
	}
	defer h.Close()
	text, err := strictjson.ReadAt(b, h, 0, h.Size)
	if err != nil {
		return nil, x.fail(wire.NoOffset, err)
	}
	if err := x.parse(b, text); err != nil {
		return nil, x.in(err)
	}
	return x, nil
}

func (x *Index) fail(off int64, err error) error {
	return wire.At(x.format, "index "+wire.Quote(x.Name), off, err)
}

// in says that an error is about the index.
func (x *Index) in(err error) error { return inFile("index "+wire.Quote(x.Name), err) }

func (x *Index) parse(b *limits.Budget, text string) error {
	p := &indexParser{Index: x, b: b}
	// An upper bound, exact unless file names hold commas: no entry is shorter.
	n := min(strings.Count(text, ","), len(text)/len(`"":"a",`)) + 1
	var err error
	if x.Entries, err = limits.Make[IndexEntry](b, n); err != nil {
		return x.fail(0, err)
	}
	x.Entries = x.Entries[:0]
	if p.files, err = wire.NewNameSet(b, 0, func(i int) string { return x.Files[i] }); err != nil {
		return x.fail(0, err)
	}
	body := strictjson.Text{Format: x.format, Body: text, Whole: true}
	return strictjson.Decode(b, body, func(d *strictjson.Decoder) error {
		p.json = d
		if err := d.Object(p.member); err != nil {
			return err
		}
		if !p.mapped {
			return d.Fail("", wire.ErrMissing.WithRule("shards.index-empty").Errorf("the index has no weight_map"))
		}
		if len(x.Files) == 0 {
			return d.Fail("", wire.ErrMissing.WithRule("shards.index-empty").Errorf("the index names no file"))
		}
		return nil
	})
}

type indexParser struct {
	*Index
	b      *limits.Budget
	json   *strictjson.Decoder
	files  *wire.NameSet
	last   int32 // the file of the previous entry: usually the same
	mapped bool
}

func (p *indexParser) member(name string) error {
	switch name {
	case "weight_map":
		p.mapped = true
		n := strings.Count(p.json.Rest(), ",")
		return p.json.ObjectOf(n+1, p.entry)
	case "metadata":
		if k, err := p.json.Kind(); err != nil || k == strictjson.Null {
			return err
		}
		return p.json.Object(p.metadata)
	}
	return nil // no loader reads it
}

func (p *indexParser) metadata(key string) error {
	kind, err := p.json.Kind()
	switch {
	case err != nil:
		return err
	case kind == strictjson.String:
		value, err := p.json.String()
		if err != nil {
			return err
		}
		if p.Meta, err = limits.Append(p.b, p.Meta, Pair{key, value}); err != nil {
			return p.json.Fail("", err)
		}
	case kind == strictjson.Number && key == "total_size":
		text, err := p.json.Number()
		if err != nil {
			return err
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
			p.TotalSize = n
		}
	}
	return nil
}

func (p *indexParser) entry(name string) error {
	off := p.json.NameOff()
	file, err := p.json.String()
	if err != nil {
		return err
	}
	if len(p.Files) == 0 || p.Files[p.last] != file {
		if err := p.file(file); err != nil {
			return p.fail(off, err)
		}
	}
	p.Entries, err = limits.Append(p.b, p.Entries, IndexEntry{name, p.last, uint32(off)})
	return p.fail(off, err)
}

// file returns the position of a file in the list, and adds it if it is new. It must be
// in the folder of the index.
func (p *indexParser) file(name string) error {
	if i, ok := p.files.Find(name); ok {
		p.last = int32(i)
		return nil
	}
	if name == "." || name == ".." || !fs.ValidPath(name) || strings.ContainsAny(name, "/\\\x00") {
		return wire.ErrForbidden.WithRule("shards.path-escape").Errorf("shard %s is not a file name in the folder of the index", wire.Quote(name))
	}
	if len(p.Files) == MaxShards {
		return wire.ErrUnsupported.WithRule("shards.many").Errorf("more than %d shards", MaxShards)
	}
	var err error
	if p.Files, err = limits.Append(p.b, p.Files, name); err != nil {
		return err
	}
	p.last = int32(len(p.Files) - 1)
	_, _, err = p.files.Add(int(p.last))
	return err
}
