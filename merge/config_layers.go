package merge

import (
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// layerCounts are the members with the number of layers.
var layerCounts = []string{"num_hidden_layers", "n_layer", "n_layers", "num_layers"}

// predictCounts are the members with the number of layers that predict further tokens. They
// follow the layers that num_hidden_layers counts.
var predictCounts = []string{"num_nextn_predict_layers", "mtp_num_hidden_layers"}

// A movedLayers says where the layers of the result come from, and which members of
// config.json speak of layers.
type movedLayers struct {
	from    []int64 // the layer of the first model that becomes each layer of the result
	count   int64   // layers of the first model
	members map[string][]loaders.Relation
	counted bool // the configuration states the number of layers
}

// movedLayers returns nil if the layers stay as they are.
func (x *merger) movedLayers() (*movedLayers, error) {
	if x.out.Layers == 0 {
		return nil, nil
	}
	config, err := jsontree.Read(x.b, x.opened[0].Configs(), configName, maxConfig)
	if err != nil {
		return nil, err
	}
	kind := config.Get("model_type")
	m := &movedLayers{count: x.models[0].layers, members: map[string][]loaders.Relation{}}
	for _, one := range loaders.LayerMembers(kind.String()) {
		if err := x.b.Step(1); err != nil {
			return nil, err
		}
		m.members[one.Name] = append(m.members[one.Name], one.Is)
	}
	n, ok := config.First(layerCounts...).Int()
	if m.counted = ok; ok && n != m.count {
		if further, _ := config.First(predictCounts...).Int(); n < 1 || n > m.count || n+further != m.count {
			return nil, fail(wire.ErrMismatch.Errorf("it states %d layers, and the tensors have %d", n, m.count))
		}
		m.count = n
	}
	for k := range x.r.slices {
		one := &x.r.slices[k].sources[0]
		if one.to > m.count {
			return nil, fail(wire.ErrUnsupported.Errorf("layer %d predicts further tokens and follows the %d layers of the model: end the last slice at %d", one.to-1, m.count, m.count))
		}
		if err := x.b.Hold(8 * (one.to - one.from)); err != nil {
			return nil, err
		}
		for n := one.from; n < one.to; n++ {
			m.from = append(m.from, n)
		}
	}
	if !m.counted && int64(len(m.from)) != m.count {
		return nil, fail(wire.ErrUnsupported.Errorf("it does not state the number of layers, of which the result has %d in place of %d", len(m.from), m.count))
	}
	return m, nil
}

func fail(cause error) error { return wire.At(configName, "", wire.NoOffset, cause) }

// member sets the edit of one member, and returns it, or nil if the member stays as it is.
// parts are the elements of a list.
func (m *movedLayers) member(b *limits.Budget, s *edit, name, body string, parts []edit) (*edit, error) {
	text := body[s.from:s.to]
	n, err := strconv.ParseInt(text, 10, 64)
	isInt := err == nil
	cannot := func(why string) error {
		return wire.At(configName, wire.Quote(name), s.from, wire.ErrUnsupported.Errorf("%s: merge other layers, so that it stays true", why))
	}
	relations := m.members[name]
	switch {
	case isInt && slices.Contains(layerCounts, name):
		s.text = strconv.Itoa(len(m.from))
		return s, nil
	case isInt && slices.Contains(predictCounts, name):
		s.text = "0" // their layers are not among the slices
		return s, nil
	case len(parts) > 0 && slices.Contains(relations, loaders.Numbers) && slices.Contains(relations, loaders.Each):
		return nil, cannot("it has a layer's number for each layer")
	case len(parts) > 0 && slices.Contains(relations, loaders.Numbers):
		return m.numbers(b, s, body, parts, cannot)
	case int64(len(parts)) == m.count && m.count > 0:
		return s, m.each(b, s, body, parts)
	case isInt && slices.Contains(relations, loaders.Threshold):
		return m.threshold(s, name, n, cannot)
	case isInt && n > 1 && slices.Contains(relations, loaders.Period) && !strings.Contains(name, "offset"):
		for j, from := range m.from {
			if (from-int64(j))%n != 0 {
				return nil, cannot("layer " + strconv.FormatInt(from, 10) + " would become layer " + strconv.Itoa(j) + ", which is another one of every " + text)
			}
		}
	case isInt && n > 0 && len(relations) == 0 && m.mayCount(name):
		return nil, cannot("it may count layers, and the table of transformers " + loaders.Transformers.Version() + " does not say how")
	}
	return nil, nil
}

// mayCount reports whether the name of a whole number speaks of layers, and nothing explains
// it: of a type that the table does not have, or of a newer library.
func (m *movedLayers) mayCount(name string) bool {
	return strings.Contains(name, "layer") && !strings.Contains(name, "layer_norm") && !strings.Contains(name, "layernorm")
}

// each sets a list with an element for each layer of the first model to those of the result.
func (m *movedLayers) each(b *limits.Budget, s *edit, body string, parts []edit) error {
	var list []string
	for _, from := range m.from {
		text := body[parts[from].from:parts[from].to]
		if err := b.Hold(int64(2*len(text)) + 32); err != nil {
			return err
		}
		list = append(list, text)
	}
	s.text = "[" + strings.Join(list, ", ") + "]"
	return nil
}

// numbers sets a list of layers' numbers to those that these layers have in the result.
func (m *movedLayers) numbers(b *limits.Budget, s *edit, body string, parts []edit, cannot func(string) error) (*edit, error) {
	if err := b.Hold(64*int64(len(parts)) + 48*int64(len(m.from))); err != nil {
		return nil, err
	}
	listed := map[int64]bool{}
	for _, p := range parts {
		if err := b.Step(1); err != nil {
			return nil, err
		}
		n, err := strconv.ParseInt(body[p.from:p.to], 10, 64)
		if err != nil || n < 0 || n >= m.count {
			return nil, cannot("it lists " + wire.Text(body[p.from:p.to], 32) + ", but layers are numbered from 0")
		}
		listed[n] = true
	}
	var list []string
	for j, from := range m.from {
		if listed[from] {
			list = append(list, strconv.Itoa(j))
		}
	}
	s.text = "[" + strings.Join(list, ", ") + "]"
	return s, nil
}

// threshold sets the number of the layer where another kind of layers begins. With the
// layers from, the result has the number t' with
//
//	j < t'  if and only if  from[j] < t
//
// A number called end belongs to the first kind. One called last counts from the end.
func (m *movedLayers) threshold(s *edit, name string, t int64, cannot func(string) error) (*edit, error) {
	inclusive, fromEnd := int64(0), strings.Contains(name, "last")
	switch {
	case strings.HasSuffix(name, "_end_index"), strings.HasSuffix(name, "_index_end"):
		inclusive = 1
	case fromEnd:
		t = m.count - t
	}
	if t < 0 {
		return nil, nil // -1 is the last layer, or none
	}
	t += inclusive
	before := int64(0)
	for j, from := range m.from {
		switch {
		case from < t && before < int64(j):
			return nil, cannot("layers of its two kinds would alternate")
		case from < t:
			before++
		}
	}
	switch {
	case inclusive > 0 && before == 0:
		return nil, cannot("no layer of its first kind is left, and -1 would mean the last layer")
	case fromEnd:
		before = int64(len(m.from)) - before
	case before == int64(len(m.from)) && t >= m.count:
		before = max(before, t) // no layer is of the second kind, and none shall be
	}
	s.text = strconv.FormatInt(before-inclusive, 10)
	return s, nil
}
