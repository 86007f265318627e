package pth

import "strings"

// wrappers are the first bytes of formats that hold checkpoints and are not read here;
// off is their offset.
var wrappers = [...]struct {
	off   int
	magic string
	name  string
}{
	{257, "ustar", "tar archive (PyTorch 0.1, or a packed folder)"},
	{0, "7z\xbc\xaf\x27\x1c", "7z archive"},
	{0, "Rar!\x1a\x07", "RAR archive"},
	{0, "\x1f\x8b", "gzip stream"},
	{0, "BZh", "bzip2 stream"},
	{0, "\xfd7zXZ\x00", "xz stream"},
	{0, "\x28\xb5\x2f\xfd", "zstd stream"},
	{0, "\x04\x22\x4d\x18", "lz4 stream"},
	{0, "PYTORCH1", "PyTorch archive of a development version"},
}

// SniffLen is how many bytes wrapper and [Legacy] need.
const SniffLen = 512

// wrapperOf returns the name of the compression or archive format that head begins with, ""
// if it is not a known one.
func wrapperOf(head []byte) string {
	for _, w := range wrappers {
		if len(head) >= w.off+len(w.magic) && strings.HasPrefix(string(head[w.off:w.off+len(w.magic)]), w.magic) {
			return w.name
		}
	}
	return ""
}
