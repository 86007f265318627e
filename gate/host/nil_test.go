package host_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"iter"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/vm"
)

// absent are the types with methods of pointers, by the folder of their package.
var absent = map[string][]any{
	"..": {(*gate.Gate)(nil), (*gate.Stream)(nil), (*gate.Verdict)(nil), (*gate.Folder)(nil), (*gate.Policy)(nil), (*gate.Rule)(nil)},
	".": {
		(*host.Host)(nil), (*host.Upload)(nil), (*host.File)(nil), (*host.Scratch)(nil), (*host.Turn)(nil), (*host.Asking)(nil),
		(*host.Busy)(nil), (*host.BadName)(nil), (*host.TooLarge)(nil),
	},
}

// withMethods reads the exported types of a package that have exported methods of pointers.
func withMethods(t *testing.T, dir string) map[string]bool {
	found := map[string]bool{}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), dir+"/"+f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Name.IsExported() {
				if p, ok := fn.Recv.List[0].Type.(*ast.StarExpr); ok && ast.IsExported(p.X.(*ast.Ident).Name) {
					found[p.X.(*ast.Ident).Name] = true
				}
			}
		}
	}
	return found
}

// says are methods whose answer is no error where all is well: they release something, or
// write that nothing was accepted.
var says = map[string]bool{"Close": true, "MarshalJSON": true, "WriteJSON": true, "Unwrap": true}

// answered refuses an answer of nothing that a caller could take for an acceptance.
func answered(t *testing.T, name string, out reflect.Value) {
	t.Helper()
	switch v := out.Interface().(type) {
	case bool:
		if v {
			t.Errorf("%s says true", name)
		}
	case gate.Accepted:
		if v.OK() {
			t.Errorf("%s is an acceptance", name)
		}
	case wire.Class:
		if v != wire.Internal {
			t.Errorf("%s says %s", name, v)
		}
	case vm.Verdict:
		if v.OK {
			t.Errorf("%s says that pickles are data", name)
		}
	case *gate.Verdict:
		if v != nil && (v.Accepted() || v.Class() != wire.Internal) {
			t.Errorf("%s is of class %s", name, v.Class())
		}
		if v == nil && strings.HasSuffix(name, "Stream).Verdict") {
			t.Errorf("%s says that the file may still be accepted", name)
		}
	case *gate.Policy:
		if v.Limits.Validate() == nil {
			t.Errorf("%s is a policy that judges", name)
		}
	case io.ReaderAt:
		if n, err := v.ReadAt(make([]byte, 1), 0); n != 0 || err == nil {
			t.Errorf("%s reads %d bytes", name, n)
		}
	case []byte:
		if strings.HasSuffix(name, "MarshalJSON") && !strings.Contains(string(v), `"accepted":false`) {
			t.Errorf("%s writes %s", name, v)
		}
	case iter.Seq2[*gate.Verdict, error]:
		errs := 0
		for verdict, err := range v {
			if verdict.Accepted() {
				t.Errorf("%s accepts", name)
			}
			if err != nil {
				errs++
			}
		}
		if errs == 0 {
			t.Errorf("%s ends in silence", name)
		}
	}
}

// Whatever a host calls on what is not there is refused, in words, and panics nowhere.
func TestNothingRefuses(t *testing.T) {
	errorType := reflect.TypeFor[error]()
	for dir, list := range absent {
		missing := withMethods(t, dir)
		for _, value := range list {
			is := reflect.TypeOf(value)
			delete(missing, is.Elem().Name())
			for _, receiver := range []reflect.Value{reflect.ValueOf(value), reflect.New(is.Elem())} {
				zero := !receiver.IsNil()
				if zero && (is == reflect.TypeFor[*gate.Gate]() || is == reflect.TypeFor[*gate.Policy]() || is == reflect.TypeFor[*gate.Folder]()) {
					continue // the zero value is documented, and works
				}
				for i := range is.NumMethod() {
					m := is.Method(i)
					name := "(*" + is.Elem().String() + ")." + m.Name
					if _, byValue := is.Elem().MethodByName(m.Name); byValue {
						continue
					}
					if zero && (is == reflect.TypeFor[*host.Asking]() && m.Name != "Every" || is == reflect.TypeFor[*host.BadName]() && m.Name == "Unwrap") {
						continue // Ask and the errors make them
					}
					call(t, name, receiver, m, errorType)
				}
			}
		}
		for name := range missing {
			t.Errorf("%s in %s is not tried", name, dir)
		}
	}
}

func call(t *testing.T, name string, receiver reflect.Value, m reflect.Method, errorType reflect.Type) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s panics: %v", name, p)
		}
	}()
	in := []reflect.Value{receiver}
	for k := 1; k < m.Type.NumIn(); k++ {
		arg := reflect.New(m.Type.In(k)).Elem()
		if m.Type.In(k) == reflect.TypeFor[io.Writer]() {
			arg.Set(reflect.ValueOf(io.Discard))
		}
		in = append(in, arg)
	}
	if m.Type.IsVariadic() {
		in = in[:len(in)-1]
	}
	for k, out := range m.Func.Call(in) {
		answered(t, name, out)
		if m.Type.Out(k) == errorType && out.IsNil() && !says[m.Name] {
			t.Errorf("%s returns no error", name)
		}
	}
}
