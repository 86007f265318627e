package convert

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/output"
)

// Check reports whether [Plan.Write] would replace a file, or why it would refuse the path.
// It writes nothing.
func (p *Plan) Check(path string, force bool) (replaces bool, err error) {
	at, err := p.target(machine{}, path, force)
	if err != nil {
		return false, err
	}
	return at.Exists(), at.Close()
}

// CheckFolder does the same for [Plan.WriteFolder].
func (p *Plan) CheckFolder(path string, force, code bool) (replaces bool, err error) {
	beside, err := p.beside(code)
	if err != nil {
		return false, err
	}
	at, err := p.folderTarget(path, force, beside)
	if err != nil {
		return false, err
	}
	return at.Exists(), at.Close()
}

// folderTarget returns the place of a folder, which has room for it.
func (p *Plan) folderTarget(path string, force bool, beside *Beside) (*output.Place, error) {
	at, err := output.At(path, p.placeOptions(force, true))
	if err != nil {
		return nil, refusedPlace(err)
	}
	if err = at.CheckTree(p.writes(beside)); err == nil {
		err = checkRoom(machine{}, at, p.Size)
	}
	if err != nil {
		at.Close()
		return nil, refusedPlace(err)
	}
	return at, nil
}

// writes returns which files [Plan.WriteFolder] writes.
func (p *Plan) writes(beside *Beside) func(name string, folder bool) bool {
	names := map[string]bool{}
	for i := range p.Files {
		names[p.Files[i].Name] = true
	}
	if p.writesIndex() {
		names[p.stem()+indexEnding] = true
	}
	for _, name := range beside.Copied {
		names[name] = true
	}
	folders := beside.folders()
	return func(name string, folder bool) bool {
		if folder {
			return slices.Contains(folders, name)
		}
		return names[name]
	}
}
