package family

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// classifies reports a model with a classification head.
func (c *config) classifies() bool {
	list := c.root.Get("architectures").List()
	return len(list) == 1 && strings.HasSuffix(list[0].String(), "ForSequenceClassification")
}

func classifies(c *config, _ int64) bool { return c.classifies() }

// defaultClasses is how many classes have the names that transformers gives: LABEL_0 and so on.
// The configuration states only their number, and two is the default.
func (c *config) defaultClasses() int64 {
	for range c.get("id2label").Members() {
		return 0
	}
	n, ok := c.get("num_labels").Int()
	if !ok || n == 2 {
		return 0
	}
	return min(max(n, 0), maxClasses)
}

// defaultClass is the name of a class that the configuration does not name.
func defaultClass(i int64) string { return "LABEL_" + itoa(i) }

// classNames returns the names that the configuration gives the classes. Two names that begin
// with LABEL_0 are transformers' defaults and count as none.
func (c *config) classNames() (list []string, bad bool) {
	type class struct {
		id   int64
		name string
	}
	var all []class
	for m := range c.get("id2label").Members() {
		id, ok := decimal(m.Name)
		if !ok || !m.Value.IsString() || len(all) == maxClasses {
			return nil, true
		}
		all = append(all, class{id, m.Value.String()})
	}
	slices.SortFunc(all, func(a, b class) int { return int(max(-1, min(1, a.id-b.id))) })
	if len(all) == 2 && all[0].id == 0 && all[0].name == "LABEL_0" {
		return nil, false
	}
	for _, one := range all {
		list = append(list, one.name)
	}
	return list, false
}

// maxClasses bounds the classes: published text models have some dozens, image models a
// thousand.
const maxClasses = 1 << 12

// decimal parses a number that consists of digits.
func decimal(s string) (n int64, ok bool) {
	for _, r := range s {
		if r < '0' || r > '9' || n > math.MaxInt32 {
			return 0, false
		}
		n = 10*n + int64(r-'0')
	}
	return n, s != ""
}

// classCount returns the number of the head's classes.
func (c *config) classCount() int64 {
	if n := c.defaultClasses(); n > 0 {
		return n
	}
	if list, _ := c.classNames(); len(list) > 0 {
		return int64(len(list))
	}
	return 2
}

// classes adds the names of classes.
func (k *keys) classes() {
	list, bad := k.c.classNames()
	if bad {
		k.fail("id2label", k.c.get("id2label"), "names of classes by their numbers")
		return
	}
	n := k.c.defaultClasses()
	if len(list) == 0 && n == 0 || k.err != nil {
		return
	}
	if k.err = k.b.Alloc(n * int64(len(defaultClass(maxClasses)))); k.err != nil {
		return
	}
	names, err := limits.Make[string](k.b, len(list)+int(n))
	if k.err = err; err != nil {
		return
	}
	copy(names, list)
	for i := range n {
		names[i] = defaultClass(i)
	}
	k.putArch("classifier.output_labels", names)
}

// hasClassNames and hasNoClassNames report a classifier with and without names of classes:
// llama.cpp names the head of one layer differently.
func hasClassNames(c *config, _ int64) bool {
	if !c.classifies() {
		return false
	}
	list, _ := c.classNames()
	return len(list) > 0 || c.defaultClasses() > 0
}

func hasNoClassNames(c *config, layer int64) bool { return c.classifies() && !hasClassNames(c, layer) }

var bertHead = []mapping{
	{hf: "classifier", gguf: "cls.output", shape: dims{Classes, Hidden}, inLayer: hasClassNames},
	{hf: "classifier", gguf: "cls", shape: dims{Classes, Hidden}, inLayer: hasNoClassNames},
}

var robertaHead = []mapping{
	{hf: "classifier.dense", gguf: "cls", shape: dims{Hidden, Hidden}, inLayer: classifies},
	{hf: "classifier.out_proj", gguf: "cls.output", shape: dims{Classes, Hidden}, inLayer: classifies},
}

// classLabels puts the names of classes, which a model without a head may have too.
func (s *settings) classLabels() {
	v, there := s.key("classifier.output_labels")
	if !there {
		return
	}
	list, ok := v.(array)
	if !ok || list.Len() < 1 || list.Len() > maxClasses {
		s.fail(s.row.arch+".classifier.output_labels", "it is not a list of names")
		return
	}
	w := jsontree.NewText(s.b)
	w.Put("{")
	n := int64(0)
	for text, err := range list.Strings(s.b) {
		if err != nil {
			s.err = cmp.Or(s.err, err)
			return
		}
		if n > 0 {
			w.Put(", ")
		}
		w.Quote(itoa(n))
		w.Put(": ")
		w.Quote(text)
		n++
	}
	w.Put("}")
	text, err := w.Done()
	if s.err = cmp.Or(s.err, err); s.err == nil {
		s.put("id2label", string(text))
	}
}

// heads are prefixes of a head's tensors. Those of the encoder have a prefix of their own
// beside them.
var heads = []string{"classifier", "pre_classifier", "head."}

// headedName returns the name of a tensor in a model with a head.
func (c *config) headedName(name string) string {
	for _, s := range heads {
		if strings.HasPrefix(name, s) {
			return name
		}
	}
	return c.row.naming.trimPrefixes[0] + name
}

// classifier chooses the architecture with a head if the file has one. lost is what
// llama.cpp does not store of it, "" for nothing.
func (s *settings) classifier(lost string) {
	for _, name := range []string{"cls.weight", "cls.output.weight"} {
		switch i := s.tensors[name]; {
		case i == nil:
		case lost != "":
			s.err = cmp.Or(s.err, wire.At("gguf", "tensor "+wire.Quote(name), i.Span.Off, wire.ErrUnsupported.Errorf("%s of transformers cannot be restored: llama.cpp does not have %s", s.row.last(), lost)))
		default:
			s.as = s.row.last()
		}
	}
}

// last returns the last of a row's names, that of a classifier.
func (r *row) last() string { return r.names[len(r.names)-1] }
