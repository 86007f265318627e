//go:build !js

package loaders

import _ "embed"

// The tables of commands that write a folder.
var (
	//go:embed expects.txt
	expectsText string
	//go:embed layers.txt
	layersText string
	//go:embed names.txt
	namesText string
	//go:embed reads.txt
	readsText string
	//go:embed takes.txt
	takesText string
	//go:embed ties.txt
	tiesText string
	//go:embed tried.txt
	triedText string
)
