package parser

// begins tells what a file is by its first 16 bytes: a format, "zip" for any archive, or ""
// if they do not tell.
func (h *head) begins() string {
	h = &head{p: h.p[:min(len(h.p), 16)]}
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
