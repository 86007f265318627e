package polyglot

import "strings"

// packed lists the first bytes of content that could contain a model, with its name for messages.
var packed = [...]struct {
	off         int
	magic, name string
}{
	{0, "PK\x03\x04", "a ZIP archive"},
	{0, "PK\x05\x06", "an empty ZIP archive"},
	{0, "\x1f\x8b", "gzip data"},
	{0, "BZh", "bzip2 data"},
	{0, "\xfd7zXZ\x00", "xz data"},
	{0, "]\x00\x00", "LZMA data"},
	{0, "\x28\xb5\x2f\xfd", "zstd data"},
	{0, "\x04\x22\x4d\x18", "lz4 data"},
	{0, "7z\xbc\xaf\x27\x1c", "a 7z archive"},
	{0, "Rar!\x1a\x07", "a RAR archive"},
	{257, "ustar", "a tar archive"},
	{0, "GGUF", "a GGUF file"},
	{0, "\x93NUMPY", "a NumPy array"},
	{0, "\x89HDF\r\n\x1a\n", "an HDF5 file"},
	{8, "{\"", "a safetensors file"},
	{0, "\x80", "a pickle"},
}

// Name returns what content that is not [Harmless] looks like by its first bytes.
func Name(head []byte) string {
	for _, p := range packed {
		if len(head) >= p.off && strings.HasPrefix(string(head[p.off:]), p.magic) {
			return p.name
		}
	}
	switch {
	case IsTar(head):
		return "a tar archive"
	case len(head) > 1 && head[0] == 'x' && (int(head[0])<<8|int(head[1]))%31 == 0:
		return "zlib data"
	}
	return "content of no kind known here"
}
