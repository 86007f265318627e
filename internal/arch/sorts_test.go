package arch

import (
	"go/ast"
	"go/types"
	"strings"
	"testing"
)

// sorting are the packages of which a scan, a verification or a digest runs the code. Code that
// writes models has no deadline of its own.
var sorting = []string{"parser", "vm", "quant", "gate", "digest", "stats", "compare", "limits", "internal/unpack", "internal/polyglot", "internal/sidecar", "internal/bzip2", "internal/lzma", "internal/protobuf", "internal/jinja", "internal/config", "internal/wire", "internal/strictjson", "internal/folder"}

// shortSorts are the sorts that no file makes long, by package and what is sorted, under what
// bounds them.
var shortSorts = map[string][]string{
	"rows of our own tables": rows(`
		parser: list
		vm: list
		gate: list
		gate: out[s.name]
		gate: list[1:]
		quant: refusedNames
		quant: all
		internal/sidecar: grammars
		internal/sidecar: maps.Keys(schemas())
		internal/sidecar: maps.Keys(f.kept)`),
	"what a policy or a caller lists": rows(`
		gate: sets
		gate: found
		gate/handler: keys
		gate/handler: maps.Keys(f.values)
		parser/safetensors: meta`),
	"reasons, findings and issues, of which a bounded number is kept": rows(`
		vm: v.Reasons
		gate/page: list
		internal/jinja: j.issues`),
	"experts of a layer, domains of a graph, parts of the name of a shard: a few": rows(`
		quant: experts
		parser/onnx: maps.Keys(first)`),
	"files of a folder, each of which was opened and judged, which takes a thousand times as long as to sort it": rows(`
		gate: slices.Values(files)
		gate/attest: maps.Keys(c.beside)
		gate/attest: found
		gate/attest: files
		parser/tensor: slices.Values(names)`),
	"the sort that looks at the context": rows(`
		limits: list`),
}

// A sort of what a file sizes looks at its context: it goes through limits.Sort. Half a second
// passes in a sort of a million names.
func TestSortsLookAtTheContext(t *testing.T) {
	short, used := map[string]bool{}, map[string]bool{}
	for _, list := range shortSorts {
		for _, key := range list {
			short[key] = true
		}
	}
	for _, s := range sources(t) {
		if s.test() || !s.in(sorting...) {
			continue
		}
		ast.Inspect(s.tree, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			name := types.ExprString(call.Fun)
			if !strings.HasPrefix(name, "slices.Sort") && name != "sort.Slice" && name != "sort.Sort" && name != "sort.Stable" && name != "sort.SliceStable" && name != "sort.Strings" {
				return true
			}
			if key := s.dir() + ": " + types.ExprString(call.Args[0]); short[key] {
				used[key] = true
			} else {
				t.Errorf("%s: %s never looks at the context: use limits.Sort, or add %q to shortSorts under what bounds it", place(node), name, key)
			}
			return true
		})
	}
	for key := range short {
		if !used[key] {
			t.Errorf("there is no sort of %q any more", key)
		}
	}
}
