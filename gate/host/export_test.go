package host

// A SpoolFile is what a host spools a file to.
type SpoolFile = spoolFile

// CreateSpool makes the spool files of a host by a function, which gets the usual one.
func CreateSpool(h *Host, by func(usual func() (SpoolFile, error)) (SpoolFile, error)) {
	h.create = func(dir string) (spoolFile, error) {
		return by(func() (SpoolFile, error) { return createSpool(dir) })
	}
}
