package arch

import "strings"

// unpaid lists the loops over counted things that never charge, by folder and by
// what they range over, under what bounds them.
var unpaid = map[string][]string{
	"rows, groups, literals and names of the table of internal/loaders that says which tensors a class has": rows(`
		internal: slices.Sorted(maps.Keys(c.of.Inside))
		internal: parts[:len(parts) - 1]
		internal: c.of.Groups
		internal: g.Ends
		internal: g.When
		internal: slices.Sorted(maps.Keys(have))
		internal: strings.SplitSeq(open, ".")
		internal: append(slices.Clone(l.Yes), l.No...)`),
	"parts of a pickle that are not read, which are at least 64 KiB long": rows(`
		vm: g.in.text.Holes()`),
	"files of a distributed checkpoint, each paid as it was opened, and the optimizers found in it, at most 64, which each name pays": rows(`
		parser: f.trained`),
	"filters of a dataset of HDF5, at most 32": rows(`
		parser: x.s.filters
		parser: s.filters
		parser: p.s.filters[:i]`),
	"attributes and chunks of a dataset of HDF5, each paid as it was listed, and looked at once more": rows(`
		parser: o.texts
		parser: s.chunks`),
	"inputs and attributes of an operator of ONNX, at most 16, which were paid as they were read, and the row that explains them": rows(`
		parser: o.inputs
		parser: o.attributes
		parser: row.numbers
		parser: row.others`),
	"the numbers of small constants of ONNX, at most 16 of each of 16 inputs": rows(`
		parser: values
		parser: along`),
	"graphs of an operator of ONNX and their outputs, which each round of its operators pays": rows(`
		parser: s.bodies
		parser: graphs
		parser: g.outputs
		parser: g.outputs[min(first, len(g.outputs)):]`),
	"inputs, outputs and attributes of an operator or a function of ONNX, of which 16 are kept": rows(`
		parser: given
		parser: inputs
		parser: inputs[1:]
		parser: slices.Concat(p.inputs, p.outputs)
		parser: s.inputs
		parser: o.sizes
		parser: s.sizes`),
	"the text called checkpoint of TensorFlow, of at most 64 KiB": rows(`
		parser: bytes.Lines(text)`),
	"blocks of an array of HDF5, at most 62 sizes of them": rows(`
		parser: a.groups`),
	"the lines, names and patterns of a class set, which is a part of this program, and of the fields of a tree's node": rows(`
		vm: s.classes
		vm: c.equal
		vm: f.state.keys
		vm: lines
		vm: r.set.classes
		vm: names
		vm: strings.FieldsSeq(rest)
		vm: files
		vm: strings.FieldsSeq(names)
		vm: strings.FieldsSeq(p.text)
		vm: p.parts
		vm: p.keys
		vm: strings.FieldsSeq(text)
		vm: (*to).parts
		internal: strings.FieldsSeq(rows[kind])
	`),
	"forms of a class of a set, at most one for each of its 64 versions, and their rules: each is matched at a cost": rows(`
		vm: c.forms
		vm: s.Versions()
		vm: f.checks
		vm: asked
	`),
	"the reasons of a verdict, at most 64 of them": rows(`
		vm: r.Safe.Reasons
	`),
	"members that a row of a family lists, and the kinds of at most 512 layers": rows(`
		internal: c.row.naming.inner
		internal: c.row.naming.asked
		internal: r.naming.replaces
		internal: r.naming.renames
		internal: slices.Concat(beforeExpert, r.naming.numbered)
		internal: kinds.List()
	`),
	"the parts of one weight, the outs of one encoder or the pieces of one name: a handful by the scheme": rows(`
		compare: m.values[0][:n]
		internal: enc.Outs()
		internal: e.List
		convert: encode.TorchNames
		convert: t.outs
		convert: g.tasks
		convert: c.readers
		convert: t.parts
		convert: w.Parts
		convert: r.parts
		convert: columns
		internal: parts[:max(len(parts) - 2, 0)]
		convert: list
		internal: pieces
		internal: args
		parser: k.accounts
		parser: parts[:len(parts) - 1]
		parser: parts[1:]
		parser: len(hex)
		parser: found
		internal: w.Parts
		internal: r.w.Parts
		internal: r.ordered
		internal: m.Parts
		quant: m.Parts
		quant: wanted
		quant: list
		merge: wrappers
		merge: tree.Sub
		convert: t.Parts
		internal: c.parts
		internal: t.parts`),
	"rows of our own tables, a handful of readers that wait, or what the caller gave": rows(`
		internal: e.classes[:min(len(e.classes), transformers.MostInside)]
		internal: architectures[:min(len(architectures), MostInside)]
		internal: architectures[:min(len(architectures), transformers.MostInside)]
		convert: d.e.As.Experts.Others
		internal: s.Packers
		internal: all
		internal: g
		internal: number
		internal: f.Members[last]
		internal: n.views
		internal: slices.Concat(rows, picked)
		convert: t.Unpacked.Of
		internal: p.c.towers()
		internal: more
		internal: r.naming.trimPrefixes
		internal: n.shape
		merge: loaders.Merges(kind)
		merge: loaders.InFile(x.kind, x.class, moduleOf(name))
		merge: edits
		merge: x.stacks
		merge: stems
		merge: x.targets[n].rows
		internal: out
		internal: have
		internal: caseFolds()[r]
		internal: longCaseFolds()
		internal: strings.SplitSeq(composed, "\n")
		internal: strings.SplitSeq(combining, "\n")
		internal: chars
		internal: strings.FieldsSeq(table)
		internal: strings.SplitSeq(folded, "\n")
		internal: line
		internal: strings.SplitSeq(text, "\n")
		internal: strings.Lines(text)
		internal: slices.Backward(l.list)
		internal: eight
		internal: strings.Fields(types)
		internal: strings.Fields(row)
		internal: rowsByType(sometimesText)
		internal: r.Inside
		internal: r.ModelTypes[:min(len(r.ModelTypes), MostInside)]
		internal: t.starts
		internal: linearRows()
		internal: conv1DNames()
		convert: e.Set
		convert: append(keys, e.Delete...)
		internal: h.list
		internal: m.made
		parser: of.Sources()
		internal: other
		internal: n.next
		internal: append([]string{…}, transformers.Heads...)
		quant: s.Table.Asked
		quant: s.Table.Explained
		quant: s.Table.Only
		internal: r.Methods
		internal: r.Mains
		internal: other.Methods
		internal: t.Rows
		internal: rows
		internal: rows.Rows
		quant: Targets()
		internal: append([]string{…}, p.c.row.naming.skipSuffixes...)
		internal: list
		internal: p.c.row.outer
		internal: p.c.row.layers()
		internal: names
		internal: c.row.defaults
		internal: r.names
		internal: s.names
		internal: k.list`),
	"lists of an adapter's configuration, for which each module pays": rows(`
		merge: list
		merge: c.tokens
		merge: a.tokens
		merge: a.parameters`),
	"parts of a recipe, at most 256 of a kind, for which each tensor pays": rows(`
		merge: r.in
		merge: g.inputs
		merge: s.sources
		merge: g.method.params
		merge: m.params
		merge: slices.Sorted(maps.Keys(given))
		merge: s
		merge: p
		merge: all
		merge: r.slices
		merge: given
		merge: x.opened
		merge: strings.SplitSeq(strings.ToLower(name), ".")`),
	"at most 256 spans of a tensor, or counts of each worker": rows(`
		merge: sums
		merge: t.used
		merge: t.used[1:]`),
	"nesting, bounded by MaxDepth": rows(`
		parser: w.path`),
	"files of a set or layers of a store, bounded by MaxOpenFiles, or names of one folder": rows(`
		parser: ollama.Folders()
		convert: p.Files
		convert: out.Copied
		convert: names
		convert: beside.Copied
		convert: shards
		convert: s.p.Files
		convert: s.p.Files[i].layout.Head
		convert: f.patches
		convert: patches
		parser: s.Parts
		parser: m.Parts
		parser: m.blobs
		parser: layers
		parser: files
		parser: sorted
		parser: names
		parser: list
		parser: all
		parser: open
		parser: d.open`),
	"one pass over what MaxItems has counted, a few nanoseconds for each": rows(`
		internal: e.Weights
		compare: bound.Plain
		compare: bound.Weights
		compare: c.tensors[1]
		merge: x.infos
		merge: x.added
		merge: v.square
		convert: bound.Plain
		convert: bound.Weights
		convert: picks
		convert: p.tasks
		convert: s.tasks
		convert: p.Outs
		convert: outs
		convert: meta
		convert: p.counts
		convert: r.Special
		internal: e.Kept
		internal: q.Weights
		convert: f.Findings()
		convert: a.Members
		convert: s.vouched
		convert: z.members
		parser: a.Members
		parser: r.Graph.Globals()
		parser: d.st.list
		parser: s.ids
		parser: s.list
		parser: f.Infos
		parser: infos
		parser: f.rows
		parser: p.meta
		parser: p.infos
		parser: s.seen
		parser: stored
		parser: d.h.Infos
		parser: keys
		quant: out.Plain
		quant: out.Weights
		quant: o.Weights
		quant: f.tensors
		quant: layers
		quant: groups
		internal: groups
		internal: t.Added
		internal: t.Tokens
		internal: v.List()
		internal: s.items
		internal: n.list
		internal: v.names
		internal: v.Get("decoders").List()
		internal: parts
		internal: parts[:at]
		internal: added
		internal: strings.SplitSeq(path, ".")`),
	"a folder of four files, members of a configuration and keys of a file, of which 4096 are read": rows(`
		internal: all
		internal: m.files
		internal: d.m.files[d.at:]
		internal: s.list
		internal: slices.Sorted(maps.Keys(s.keys))`),
	"operators of other domains, keys of a tensor and files with its data, of which a model has a bounded number": rows(`
		parser: d.foreign
		parser: a.keys
		parser: strings.SplitSeq(path, "/")
		parser: f.outside`),
	"a list of a configuration, which is asked once for each of 512 layers at most": rows(`
		internal: list.List()`),
	"patterns of the caller, and references of a pickle that its machine has paid for": rows(`
		convert: n.Rename
		parser: d.st.ids`),
}

func rows(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}
