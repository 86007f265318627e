package parser

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// weightsMember of config.json names the weights. If it is set, transformers (since 5.0:
// modeling_utils, _get_resolved_checkpoint_files) looks for no other file.
const weightsMember = "transformers_weights"

// configName is transformers' description of a model.
const configName = "config.json"

// weightsFromConfig returns the name of the weights in config.json, "" if it has none.
func weightsFromConfig(b *limits.Budget, d *folder) (name string, err error) {
	if !d.hasFile(configName) {
		return "", nil
	}
	b = b.Probe()
	defer b.Close()
	h, err := tensor.OpenFile(d, configName)
	if err != nil {
		return "", err
	}
	defer h.Close()
	body, err := strictjson.ReadAt(b, h, 0, h.Size)
	if err != nil {
		return "", wire.At(detection, configName, wire.NoOffset, err)
	}
	doc := strictjson.Text{Format: configName, Body: body, Whole: true}
	err = strictjson.Decode(b, doc, func(t *strictjson.Decoder) error {
		return t.Object(func(member string) error {
			kind, err := t.Kind()
			if err != nil || member != weightsMember || kind == strictjson.Null {
				return errors.Join(err, t.Skip())
			}
			text, err := t.String()
			name = cmp.Or(strings.Clone(text), ".") // the name "" is not a file either
			return err
		})
	})
	if err != nil && !strings.Contains(body, weightsMember) && !strings.Contains(body, `\u`) {
		return "", nil // malformed: whoever reads the configuration will report it
	}
	return name, err
}

// entryFromConfig returns the entry of the weights that config.json names.
func entryFromConfig(d *folder, all []entry, name string) ([]entry, *tensor.Finding, error) {
	index := strings.HasSuffix(name, ".safetensors.index.json")
	if !index && !strings.HasSuffix(name, ".safetensors") || !fs.ValidPath(name) || strings.ContainsAny(name, `/\`) || !d.hasFile(name) {
		return nil, nil, wire.At(detection, configName, wire.NoOffset, wire.ErrUnsupported.WithRule("detect.no-model").Errorf(
			"%s names %s as the weights, which is not a safetensors file in the folder", weightsMember, wire.Quote(name)))
	}
	f := modelLibrary{library: "transformers"}
	if i := slices.IndexFunc(all, func(e entry) bool { return e.name == name && e.shards == nil }); i >= 0 {
		return all[i : i+1], f.note(all, name), nil
	}
	return []entry{{name: name}}, f.note(all, name), nil
}
