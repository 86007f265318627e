package parser

// Beginning tells what a file is by its first 16 bytes: a format, "zip" for any archive, or
// "" if they do not tell. Decode may still find that the file fits another format too, and
// refuse it.
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
