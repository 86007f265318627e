package loaders

// The page writes no folder, and these tables are as large as the reader of a format: there, no
// library is known to load anything.
const (
	expectsText = ""
	layersText  = ""
	namesText   = ""
	readsText   = ""
	takesText   = ""
	tiesText    = ""
	triedText   = ""
)
