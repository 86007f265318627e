package ollama

import (
	"io/fs"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// MaxManifest bounds a manifest: an honest one is a few kilobytes.
const MaxManifest = 1 << 20

// Media types of layers that hold a model, after the prefix that all share.
const (
	mediaPrefix = "application/vnd.ollama.image."

	Model  = "model"  // a GGUF file, or one file of a split one
	Tensor = "tensor" // a safetensors file of one tensor, or of a few that belong together
	JSON   = "json"   // a configuration file, its path in the layer's name
)

// A Layer is one blob of a model.
type Layer struct {
	Kind   string // media type without the common prefix; the whole type if it has another
	Digest string // 64 hexadecimal digits in lower case
	Size   int64
	Name   string // name of the tensor or file, if the layer has one
}

// Path is the blob's place in the store.
func (l Layer) Path() string { return "blobs/sha256-" + l.Digest }

// oldPath returns the blob's path in a store from before blobs were renamed.
func (l Layer) oldPath() string { return "blobs/sha256:" + l.Digest }

// Manifest reads the manifest of a model in a store and returns its layers in
// order.
func Manifest(b *limits.Budget, store fs.FS, n Name) ([]Layer, error) {
	h, err := tensor.OpenFile(store, n.Path())
	if err != nil {
		return nil, err
	}
	defer h.Close()
	where := "manifest of " + wire.Quote(n.String())
	if h.Size > MaxManifest {
		return nil, wire.At("ollama", where, wire.NoOffset,
			&limits.Error{Axis: limits.SingleAlloc, Want: h.Size, Left: MaxManifest})
	}
	c := wire.NewCursor(b, "ollama", h, h.Size)
	body, err := c.String(uint64(h.Size))
	if err != nil {
		return nil, err
	}
	m := manifest{b: b}
	if err := strictjson.Decode(b, strictjson.Text{Format: "ollama", Body: body, Whole: true}, m.read); err != nil {
		return nil, err
	}
	if m.version != 2 {
		return nil, wire.At("ollama", where, wire.NoOffset, wire.ErrUnsupported.WithRule("ollama.schema").Errorf("schema version %d", m.version))
	}
	return m.layers, nil
}

// configuration is the member for the blob that says how a model is run.
const configuration = "config"

type manifest struct {
	b       *limits.Budget
	version uint64
	layers  []Layer
}

func (m *manifest) read(d *strictjson.Decoder) error {
	return d.Object(func(key string) (err error) {
		switch key {
		case "schemaVersion":
			m.version, err = d.Uint(1 << 16)
		case "layers":
			err = d.Array(func(i int) error { return m.layer(d, "layer "+strconv.Itoa(i)) })
		case "config":
			err = m.layer(d, configuration)
		default:
			err = refuseFolded(d, key, "schemaVersion", "layers", "config")
		}
		return err
	})
}

// refuseFolded refuses a key that differs only in case from one that is read: ollama ignores
// case and uses the last of both.
func refuseFolded(d *strictjson.Decoder, key string, known ...string) error {
	taken, folded := strictjson.Folded(key, known...)
	if !folded {
		return nil
	}
	return d.Fail("", wire.ErrSyntax.WithRule("ollama.key-folded").Errorf("key %s, which ollama reads as %s", wire.Quote(key), taken))
}

// leavesFolder reports whether a name leads out of the model's folder.
func leavesFolder(name string) bool {
	return name != "" && (!tensor.IsLocal(name) || name == "." || strings.Contains(name, `\`))
}

// layer reads a layer, or the model's configuration, which is a blob as well.
func (m *manifest) layer(d *strictjson.Decoder, where string) error {
	off := d.Off()
	var l Layer
	var media, digest string
	var sized bool
	err := d.Object(func(key string) (err error) {
		switch key {
		case "mediaType":
			media, err = d.String()
		case "digest":
			digest, err = d.String()
		case "name":
			l.Name, err = d.String()
		case "size":
			var n uint64
			n, err = d.Uint(wire.MaxSize)
			l.Size, sized = int64(n), true
		default:
			err = refuseFolded(d, key, "mediaType", "digest", "name", "size", "from")
		}
		return err
	})
	if err != nil || where == configuration && digest == "" {
		return err // without a configuration ollama runs a model with its defaults
	}
	var ok bool
	if l.Digest, ok = parseDigest(digest); !ok {
		return d.FailAt(where, off, wire.ErrSyntax.WithRule("ollama.digest-syntax").Errorf("digest %s is not sha256 and 64 hexadecimal digits", wire.Quote(digest)))
	}
	l.Kind = media // the media type of a configuration is not one of a layer
	if where != configuration {
		l.Kind = strings.TrimPrefix(media, mediaPrefix)
	}
	if err := l.check(media, sized); err != nil {
		return d.FailAt(where, off, err)
	}
	m.layers, err = limits.Append(m.b, m.layers, l)
	return err
}

// check refuses a layer without a size or a kind, or without the name that its kind
// needs.
func (l *Layer) check(media string, sized bool) error {
	switch {
	case !sized:
		return wire.ErrMissing.WithRule("ollama.layer-incomplete").Errorf("size")
	case !strings.Contains(media, "/"):
		return wire.ErrSyntax.WithRule("ollama.media-type").Errorf("%s is not a media type", wire.Quote(media))
	case l.Kind == Tensor && l.Name == "":
		return wire.ErrMissing.WithRule("ollama.layer-incomplete").Errorf("name of the tensor")
	case l.Kind == JSON && leavesFolder(l.Name):
		return wire.ErrForbidden.WithRule("file.path-escape").Errorf("its name %s leaves the model's folder", wire.Quote(l.Name))
	}
	return nil
}

// parseDigest parses a digest with either of the separators that stores have used. Only
// hex digits may get into a path: a digest of "../../" once wrote anywhere
// (CVE-2024-37032).
func parseDigest(s string) (string, bool) {
	hex, ok := strings.CutPrefix(s, "sha256:")
	if !ok {
		hex, ok = strings.CutPrefix(s, "sha256-")
	}
	if !ok || len(hex) != 64 {
		return "", false
	}
	hex = strings.ToLower(hex)
	for i := range len(hex) {
		if c := hex[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return "", false
		}
	}
	return hex, true
}
