package corpus

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// NoOffset is the offset of an error without a position in the file.
const NoOffset = -1

// The depths at which a recipe is refused.
const (
	Structure = "structure" // by Decode alone
	Whole     = "whole"     // only when the bodies are read too
)

// A Recipe is a file in readable form, with the result that a decoder must return.
type Recipe struct {
	Name    string // file name without .txt
	Format  string // folder name
	Comment string // what the file is, what other loaders do with it
	Expect  string // class
	Offset  int64  // of the error, or NoOffset
	Depth   string // Structure or Whole
	Axis    string // the limit that is reached, for class limit
	Covers  []string
	Finds   []string        // exactly the findings that an accepted file must have
	Policy  json.RawMessage // overrides the default policy; nil for none

	// Of the recipes of [Gate] alone.
	Rule   string   // by which the gate refuses it, or of the finding of an accepted file
	Also   []string // by which it does so besides
	File   string   // its name, or what to judge in the folder
	Sent   string   // the format that the sender declared
	Folder bool     // the bytes are a ZIP archive of the files of a folder
	Opened bool     // the folder is opened as one model

	build node
}

// Path returns the recipe's path in the module.
func (r *Recipe) Path() string {
	folder := "hostile"
	switch {
	case r.Rule != "":
		return "corpus/gate/" + r.Name + ".txt"
	case r.Expect == "ok":
		folder = "valid"
	}
	return "corpus/" + folder + "/" + r.Format + "/" + r.Name + ".txt"
}

// Build returns the file.
func (r *Recipe) Build() ([]byte, error) {
	var b builder
	if err := r.build(&b); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Path(), err)
	}
	return b.out, nil
}

// Bytes returns the file of a recipe that a test of this package has built.
func (r *Recipe) Bytes() []byte {
	data, err := r.Build()
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return data
}

// The values that the header lines may have.
var (
	hostileClasses = []string{"usage", "malformed", "truncated", "unsupported", "limit", "forbidden"}
	depths         = []string{Structure, Whole}
	axes           = []string{"single_alloc", "total", "items", "inflate_ratio", "expand_ratio", "depth", "steps", "working_set", "open_files", "requests", "fetched", "time"}
	coversPattern  = regexp.MustCompile(`^P[0-9]{2}$`)
)

// Parse parses a recipe. classes are the allowed values of expect:.
func Parse(format, name, src string, classes []string) (*Recipe, error) {
	r := &Recipe{Format: format, Name: name, Offset: NoOffset, Depth: Structure}
	head, body, found := strings.Cut(src, "\n--\n")
	if !found {
		return nil, errors.New("no line -- between the header and the bytes")
	}
	if err := r.header(head, classes); err != nil {
		return nil, err
	}
	toks, err := lex(body, strings.Count(head, "\n")+3)
	if err != nil {
		return nil, err
	}
	p := &parser{toks: toks}
	if r.build, err = p.block(endOfFile); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Recipe) header(head string, classes []string) error {
	var comment []string
	seen := map[string]bool{}
	for i, line := range strings.Split(head, "\n") {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("line %d: %s", i+1, fmt.Sprintf(format, args...))
		}
		trimmed, isComment := strings.CutPrefix(strings.TrimSpace(line), "#")
		trimmed = strings.TrimSpace(trimmed)
		key, value, _ := strings.Cut(trimmed, ":")
		value = strings.TrimSpace(value)
		if isComment && key != "covers" {
			comment = append(comment, trimmed)
			continue
		}
		if trimmed == "" {
			continue
		}
		if seen[key] {
			return fail("%s: repeated", key)
		}
		seen[key] = true
		if err := r.field(key, value, classes); err != nil {
			return fail("%v", err)
		}
	}
	r.Comment = strings.TrimSpace(strings.Join(comment, "\n"))
	switch {
	case r.Comment == "":
		return errors.New("no comment: say what the file is and what other loaders do with it")
	case !seen["expect"]:
		return errors.New("no expect: line")
	case !seen["offset"] && r.Expect != "ok" && r.Rule == "":
		return errors.New("no offset: line (offset: none if the error has no position)")
	case (r.Axis != "") != (r.Expect == "limit") && r.Rule == "":
		return fmt.Errorf("expect: limit and axis: %s belong together", strings.Join(axes, "|"))
	case len(r.Finds) > 0 && r.Expect != "ok":
		return errors.New("finds: is for files that are accepted")
	}
	return nil
}

func (r *Recipe) field(key, value string, classes []string) error {
	oneOf := func(list []string) (string, error) {
		if !slices.Contains(list, value) {
			return "", fmt.Errorf("%s: %q is not one of %s", key, value, strings.Join(list, ", "))
		}
		return value, nil
	}
	var err error
	switch key {
	case "expect":
		r.Expect, err = oneOf(classes)
	case "depth":
		r.Depth, err = oneOf(depths)
	case "axis":
		r.Axis, err = oneOf(axes)
	case "offset":
		if value != "none" {
			r.Offset, err = strconv.ParseInt(value, 0, 64)
			if err != nil || r.Offset < 0 {
				err = fmt.Errorf("offset: %q is neither a number nor none", value)
			}
		}
	case "covers":
		r.Covers = strings.FieldsFunc(value, func(c rune) bool { return c == ' ' || c == ',' })
		for _, p := range r.Covers {
			if !coversPattern.MatchString(p) {
				err = fmt.Errorf("covers: %q is not of the form P07", p)
			}
		}
	case "finds":
		r.Finds = strings.Fields(value)
	case "policy":
		r.Policy = json.RawMessage(value)
		if !json.Valid(r.Policy) || !strings.HasPrefix(value, "{") {
			err = errors.New("policy: not a JSON object")
		}
	case "rule", "also", "file", "promised", "as":
		err = r.gateField(key, value)
	default:
		err = fmt.Errorf("unknown header line %q; there are: expect, offset, axis, depth, covers, finds, policy, rule, also, file, promised, as", key)
	}
	return err
}

// gateField parses a header line that only recipes of the gate have.
func (r *Recipe) gateField(key, value string) error {
	switch {
	case r.Format != gateFolder:
		return fmt.Errorf("%s: only of recipes in corpus/%s", key, gateFolder)
	case key == "rule":
		r.Rule = value
	case key == "also":
		r.Also = strings.Fields(value)
	case key == "file":
		r.File = value
	case key == "promised":
		r.Sent = value
	case value == "folder":
		r.Folder = true
	case value == "model":
		r.Folder, r.Opened = true, true
	default:
		return fmt.Errorf("as: %q is neither folder nor model", value)
	}
	return nil
}
