// Command read prints what this module reads from pickles, as JSON: a line for each file.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/vm"
)

func main() {
	out := json.NewEncoder(os.Stdout)
	for _, path := range os.Args[1:] {
		value, err := read(path)
		line := map[string]any{"path": path, "value": value}
		if err != nil {
			line["error"] = err.Error()
		}
		if err := out.Encode(line); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func read(path string) (any, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	g, err := vm.Load(b, f, 0, info.Size())
	if err != nil {
		return nil, err
	}
	d := dump{seen: map[vm.Value]int{}}
	return d.value(g.Root()), nil
}

// A dump writes each value that others may refer to once.
type dump struct{ seen map[vm.Value]int }

func (d *dump) value(v vm.Value) any {
	switch v.Kind() {
	case vm.KindNone:
		return []any{"none"}
	case vm.KindBool:
		return []any{"bool", v.Bool()}
	case vm.KindInt:
		return []any{"int", v.Big().String()}
	case vm.KindFloat:
		return []any{"float", strconv.FormatFloat(v.Float(), 'x', -1, 64)}
	case vm.KindText:
		return []any{"str", base64.StdEncoding.EncodeToString([]byte(v.Text()))}
	case vm.KindGlobal:
		return []any{"global", v.Global().Module, v.Global().Name}
	}
	if id, ok := d.seen[v]; ok {
		return []any{"again", id}
	}
	id := len(d.seen)
	d.seen[v] = id
	out := []any{v.Kind().String(), id, int(v.ID())}
	switch v.Kind() {
	case vm.KindBytes:
		return append(out, v.Is(vm.ByteArray), base64.StdEncoding.EncodeToString([]byte(v.Text())))
	case vm.KindDict:
		var items []any
		for key, value := range v.Entries() {
			items = append(items, []any{d.value(key), d.value(value)})
		}
		return append(out, v.Is(vm.OrderedDict), items)
	case vm.KindObject:
		own := v.Global()
		return append(out, own.Module, own.Name, d.value(v.Args()), d.maybe(v.State()), d.maybe(v.Extra()))
	}
	var items []any
	for one := range v.Elems() {
		items = append(items, d.value(one))
	}
	return append(out, v.Is(vm.FrozenSet), items)
}

func (d *dump) maybe(v vm.Value, ok bool) any {
	if !ok {
		return nil
	}
	return d.value(v)
}
