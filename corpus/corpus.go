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

//go:embed hostile valid gate
var files embed.FS

// A Seed is an honest file.
type Seed struct {
	Name   string // file name
	Format string
	Data   []byte
	Recipe *Recipe // where the seed is a recipe: what it must have; else nil
}

// MaxSeed is the largest file that Seeds gives to a fuzz target: a mutation of
// a larger one costs more than it finds.
const MaxSeed = 128 << 10

// Formats lists the formats that have recipes or seeds.
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

// Hostile returns the recipes of a format, in the order of their names. The
// corpus test has seen that all of them parse.
func Hostile(format string) []Recipe {
	list, err := hostile(format)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return list
}

func hostile(format string) ([]Recipe, error) {
	var out []Recipe
	err := each("hostile/"+format, func(name string, data []byte) error {
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

// gateFolder is where the recipes of [Gate] stand.
const gateFolder = "gate"

// Gate returns the recipes for the rules of the gate that are not of a file's bytes
// alone: by its name, by the files beside it, by a policy. Each names its rule.
func Gate() []Recipe {
	list, err := gated()
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return list
}

func gated() ([]Recipe, error) {
	var out []Recipe
	err := each(gateFolder, func(name string, data []byte) error {
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

// Valid returns the honest files of a format: those that reference libraries
// wrote, and recipes that expect ok.
func Valid(format string) []Seed {
	list, err := valid(format)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return list
}

func valid(format string) ([]Seed, error) {
	var out []Seed
	err := each("valid/"+format, func(name string, data []byte) error {
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

// each visits the files of one folder, which need not be there.
func each(folder string, visit func(name string, data []byte) error) error {
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

// Seeds gives a fuzz target of one []byte the hostile and the honest files of
// its format, up to [MaxSeed] bytes each.
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
