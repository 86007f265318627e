package corpus

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
)

//go:embed hostile valid gate quant
var files embed.FS

// A Seed is an honest file.
type Seed struct {
	Name   string // file name
	Format string
	Data   []byte
	Recipe *Recipe // for a seed that is a recipe, else nil
}

// MaxSeed is the size of the largest file that Seeds adds: mutating a larger one is not
// worth its time.
const MaxSeed = 128 << 10

// Formats returns the formats that have recipes or seeds.
func Formats() []string {
	var out []string
	for _, root := range []string{"hostile", "valid"} {
		list, err := fs.ReadDir(files, root)
		if err != nil {
			panic("internal error: " + err.Error())
		}
		for _, d := range list {
			if d.IsDir() && !slices.Contains(out, d.Name()) {
				out = append(out, d.Name())
			}
		}
	}
	slices.Sort(out)
	return out
}

// Hostile returns the recipes of a format, sorted by name. A test of this package proves
// that all of them parse.
func Hostile(format string) []Recipe {
	list, err := hostileRecipes(format)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return list
}

func hostileRecipes(format string) ([]Recipe, error) {
	var out []Recipe
	err := eachFile("hostile/"+format, func(name string, data []byte) error {
		base, isText := strings.CutSuffix(name, ".txt")
		if !isText {
			return fmt.Errorf("corpus/hostile/%s/%s: not a recipe", format, name)
		}
		r, err := Parse(format, base, string(data), hostileClasses)
		if err != nil {
			return fmt.Errorf("corpus/hostile/%s/%s: %w", format, name, err)
		}
		out = append(out, *r)
		return nil
	})
	return out, err
}

// gateFolder is the folder with the recipes of [Gate].
const gateFolder = "gate"

// Gate returns the recipes for rules of the gate that concern more than a file's bytes:
// its name, the files beside it, a policy. Each states its rule.
func Gate() []Recipe {
	list, err := gateRecipes()
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return list
}

func gateRecipes() ([]Recipe, error) {
	var out []Recipe
	err := eachFile(gateFolder, func(name string, data []byte) error {
		r, err := Parse(gateFolder, strings.TrimSuffix(name, ".txt"), string(data), append([]string{"ok"}, hostileClasses...))
		if err == nil && r.Rule == "" {
			err = errors.New("no rule: line")
		}
		if err != nil {
			return fmt.Errorf("corpus/%s/%s: %w", gateFolder, name, err)
		}
		out = append(out, *r)
		return nil
	})
	return out, err
}

// Valid returns the honest files of a format: those that reference libraries wrote, and
// recipes with expect: ok.
func Valid(format string) []Seed {
	list, err := validSeeds(format)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return list
}

func validSeeds(format string) ([]Seed, error) {
	var out []Seed
	err := eachFile("valid/"+format, func(name string, data []byte) error {
		switch path.Ext(name) {
		case ".py", ".md":
			return nil
		case ".txt":
			r, err := Parse(format, strings.TrimSuffix(name, ".txt"), string(data), []string{"ok"})
			if err != nil {
				return fmt.Errorf("corpus/valid/%s/%s: %w", format, name, err)
			}
			if data, err = r.Build(); err != nil {
				return err
			}
			out = append(out, Seed{name, format, data, r})
		default:
			out = append(out, Seed{name, format, data, nil})
		}
		return nil
	})
	return out, err
}

// eachFile visits the files of one folder, which may not exist.
func eachFile(folder string, visit func(name string, data []byte) error) error {
	list, err := fs.ReadDir(files, folder)
	if err != nil {
		return nil
	}
	for _, d := range list {
		if d.IsDir() {
			continue
		}
		data, err := files.ReadFile(folder + "/" + d.Name())
		if err != nil {
			return err
		}
		if err := visit(d.Name(), data); err != nil {
			return err
		}
	}
	return nil
}

// Seeds adds the hostile and honest files of a format, up to [MaxSeed] bytes each, to a
// fuzz target of one []byte.
func Seeds(f interface {
	testing.TB
	Add(args ...any)
}, format string) {
	f.Helper()
	for _, r := range Hostile(format) {
		if data := r.Bytes(); len(data) <= MaxSeed {
			f.Add(data)
		}
	}
	for _, s := range Valid(format) {
		if len(s.Data) <= MaxSeed {
			f.Add(s.Data)
		}
	}
}
