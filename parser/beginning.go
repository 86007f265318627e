package parser

// Beginning tells what a file is by its first bytes alone, of which 16 are enough:
// a format, "zip" for an archive of any kind, or nothing where they do not tell.
// [Decode] may still find that the rest is of another format, too, and refuse it.
func Beginning(first []byte) string {
	h := &head{p: first[:min(len(first), headLen)]}
	switch {
	case looksZip(h) == yes:
		return "zip"
	case fitsGGUF(h) == yes:
		return "gguf"
	case fitsNPY(h) == yes:
		return "npy"
	case fitsSafetensors(h) == yes:
		return "safetensors"
	}
	return ""
}
