package fuzz_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/api"
	"github.com/anamnesis-go/anamnesis/gate/attest"
	"github.com/anamnesis-go/anamnesis/gate/bom"
	"github.com/anamnesis-go/anamnesis/gate/clamd"
	"github.com/anamnesis-go/anamnesis/gate/handler"
	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/gate/page"
	"github.com/anamnesis-go/anamnesis/gate/receipt"
	"github.com/anamnesis-go/anamnesis/gate/report"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/vm"
)

// exports has, for each package below gate, its types with exported methods as nil pointers, and
// its exported functions.
var exports = map[string][]any{
	"gate": {
		(*gate.Gate)(nil), (*gate.Stream)(nil), (*gate.Verdict)(nil), (*gate.Folder)(nil), (*gate.Policy)(nil), (*gate.Rule)(nil), (*gate.Loader)(nil), (*gate.Accepted)(nil),
		(*gate.Code)(nil), (*gate.FailOn)(nil), (*gate.Pickle)(nil), (*gate.Sidecars)(nil),
		gate.Check, gate.DirHash, gate.Exclude, gate.Formats, gate.GlobalSets, gate.IsRule, gate.Libraries, gate.LoadersOf, gate.New, gate.ParseFailOn, gate.ParsePolicy, gate.Profile,
		gate.Profiles, gate.ReadBaseline, gate.ReadPolicy, gate.RuleOf, gate.Rules, gate.RulesDigest, gate.Taken, gate.Wrappers,
	},
	"gate/api":    {(*api.API)(nil), api.New, madeAPI},
	"gate/attest": {(*attest.Claim)(nil), madeClaim, (*attest.Result)(nil), attest.Beside, attest.Ignored, attest.IsSignature, attest.Open, attest.Parse, attest.PrivateKey, attest.PublicKey, attest.Root, attest.Sign},
	"gate/bom":    {(*bom.Writer)(nil), madeBOM, bom.Describe, bom.New},
	"gate/clamd":  {(*clamd.Server)(nil), madeClamd, clamd.Below},
	"gate/handler": {
		(*handler.Handler)(nil), (*handler.Metrics)(nil), (*handler.Problem)(nil), madeHandler,
		handler.Acceptance, handler.Acceptances, handler.Exact, handler.New, handler.Uploads, handler.Verdict, handler.WriteAnswer, handler.WriteProblem,
	},
	"gate/host": {
		(*host.Host)(nil), (*host.Upload)(nil), (*host.File)(nil), (*host.Scratch)(nil), (*host.Turn)(nil), (*host.Asking)(nil),
		(*host.Busy)(nil), (*host.BadName)(nil), (*host.TooLarge)(nil), madeHost, madeUpload, host.AddressTenant, host.Ask, host.New, host.TurnOf,
	},
	"gate/page":    {(*page.Report)(nil), (*page.Tensor)(nil), (*page.Weight)(nil), page.New, page.Refused, page.Write, page.WriteWith},
	"gate/receipt": {(*receipt.Signer)(nil), madeSigner, receipt.Check, receipt.IsNonce, receipt.NewNonce, receipt.NewSigner, receipt.Open, receipt.PublicKey},
	"gate/report":  {(*report.Writer)(nil), madeReport, report.Formats, report.New},
}

// Values that are made as the documents say get nil arguments too.

func madeAPI(t *testing.T) *api.API {
	a, err := api.New(api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func madeHandler(t *testing.T) *handler.Handler {
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the next handler is called") })
	h, err := handler.New(next, handler.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func madeHost(t *testing.T) *host.Host {
	h, err := host.New(host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func madeUpload(t *testing.T) *host.Upload {
	u, err := madeHost(t).Begin("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	return u
}

func madeClamd(t *testing.T) *clamd.Server { return &clamd.Server{Host: madeHost(t)} }

func madeBOM(*testing.T) *bom.Writer { return bom.New(io.Discard, "") }

func madeReport(t *testing.T) *report.Writer {
	w, err := report.New("sarif", io.Discard, "")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func madeSigner(t *testing.T) *receipt.Signer {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	s, err := receipt.NewSigner(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), time.Minute, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func madeClaim(t *testing.T) *attest.Claim {
	text, err := attest.Result{Files: []attest.File{{Name: "a"}}, Policy: strings.Repeat("0", 64), Time: time.Now(), Properties: []string{attest.Accepted}}.Statement()
	if err != nil {
		t.Fatal(err)
	}
	c, err := attest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// exported lists by the syntax tree what a package exports: functions, and types with exported
// methods.
func exported(t *testing.T, dir string) map[string]bool {
	found := map[string]bool{}
	paths, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), p, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() {
				continue
			}
			name := fn.Name.Name
			if fn.Recv != nil {
				at := fn.Recv.List[0].Type
				if p, ok := at.(*ast.StarExpr); ok {
					at = p.X
				}
				if name = at.(*ast.Ident).Name; !ast.IsExported(name) {
					continue
				}
			}
			found[name] = true
		}
	}
	return found
}

// good are the answers to nothing that are neither errors nor refusals, each with its reason.
var good = map[string]string{
	"(*gate.Stream).Close":           "releases what is held",
	"(*gate.Verdict).Close":          "releases what is held",
	"(*host.Upload).Close":           "releases what is held",
	"(*host.Scratch).Close":          "releases what is held",
	"(*gate.Verdict).MarshalJSON":    "writes that nothing is accepted",
	"(*gate.Verdict).WriteJSON":      "writes that nothing is accepted",
	"gate.Accepted.MarshalJSON":      "writes null",
	"(*host.BadName).Unwrap":         "wraps nothing",
	"page.Tensor.MarshalJSON":        "writes a list, which accepts nothing",
	"page.Weight.MarshalJSON":        "writes a list, which accepts nothing",
	"page.New":                       "says that nothing was judged",
	"page.WriteWith":                 "a page without a report shows none",
	"(*handler.Metrics).ServeHTTP":   "counts, from zero on",
	"zero (*page.Report).WriteJSON":  "says that nothing was judged",
	"(*handler.Problem).WriteJSON":   "is a refusal, whatever it says",
	"api.New":                        "the zero options are the default policy",
	"host.New":                       "the zero options are the default policy",
	"gate.Exclude":                   "no pattern excludes nothing",
	"gate.New":                       "the zero policy is the default one",
	"gate.Policy.Digest":             "the zero policy is the default one",
	"gate.Policy.MarshalJSON":        "the zero policy is the default one",
	"made (*host.Host).Begin":        "an upload accepts nothing yet",
	"made (*host.Host).Ready":        "it is",
	"made (*host.Host).SetGate":      "the zero gate has the default policy",
	"made (*api.API).Reload":         "the zero gate has the default policy",
	"made (*host.Upload).Close":      "releases what is held",
	"made (*host.Upload).Scratch":    "a place for what is made of a file",
	"made (*attest.Claim).LeavesOut": "the statement leaves nothing out",
	"zero (*gate.Policy).Validate":   "the zero policy is the default one",
	"zero (*gate.Policy).For":        "the zero policy is the default one",
	"zero (*gate.Gate).WithDigest":   "the zero gate has the default policy",
	"made (*report.Writer).Close":    "ends a report of no file",
	"made (*bom.Writer).Close":       "ends a document of no file",
}

// answered refuses an answer of nothing that a caller could take for an acceptance.
func answered(t *testing.T, name string, out reflect.Value) {
	t.Helper()
	switch v := out.Interface().(type) {
	case bool:
		if v && good[name] == "" {
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
		if v != nil && (v.Accepted() || v.Class() == wire.OK) {
			t.Errorf("%s is of class %s", name, v.Class())
		}
		if v == nil && strings.HasSuffix(name, "Stream).Verdict") {
			t.Errorf("%s says that the file may still be accepted", name)
		}
	case *gate.Policy:
		if v != nil && v.Limits.Validate() == nil && good[name] == "" {
			t.Errorf("%s is a policy that judges", name)
		}
	case io.ReaderAt:
		if v == nil {
			return
		}
		if n, err := v.ReadAt(make([]byte, 1), 0); n != 0 || err == nil {
			t.Errorf("%s reads %d bytes", name, n)
		}
	case fs.FS:
		if _, err := v.Open("."); err == nil {
			t.Errorf("%s opens a folder", name)
		}
	case []byte:
		accepts(t, name, v)
	case iter.Seq2[*gate.Verdict, error]:
		errs := 0
		for verdict, err := range v {
			if verdict.Accepted() {
				t.Errorf("%s accepts", name)
			}
			if err != nil || verdict != nil {
				errs++
			}
		}
		if errs == 0 {
			t.Errorf("%s ends in silence", name)
		}
	}
}

// accepts refuses a text that a reader could take for an acceptance.
func accepts(t *testing.T, name string, text []byte) {
	t.Helper()
	for _, word := range []string{`"accepted":true`, `"class":"ok"`, attest.Accepted, "amn:accepted"} {
		if bytes.Contains(text, []byte(word)) {
			t.Errorf("%s writes %s", name, text)
		}
	}
}

// tried calls a function or a method with zero arguments, and whatever writes with somewhere to
// write to.
func tried(t *testing.T, name string, fn reflect.Value, receiver ...reflect.Value) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			t.Errorf("%s panics: %v", name, p)
		}
	}()
	in := receiver
	var text bytes.Buffer
	var answer *httptest.ResponseRecorder
	for k := len(in); k < fn.Type().NumIn(); k++ {
		arg := reflect.New(fn.Type().In(k)).Elem()
		switch arg.Type() {
		case reflect.TypeFor[io.Writer]():
			arg.Set(reflect.ValueOf(&text))
		case reflect.TypeFor[context.Context]():
			if receiver == nil { // methods are called without any
				arg.Set(reflect.ValueOf(t.Context()))
			}
		case reflect.TypeFor[http.ResponseWriter]():
			answer = httptest.NewRecorder()
			arg.Set(reflect.ValueOf(answer))
		case reflect.TypeFor[*http.Request]():
			arg.Set(reflect.ValueOf(httptest.NewRequest(http.MethodPost, "/v1/check", strings.NewReader("x"))))
		}
		in = append(in, arg)
	}
	if fn.Type().IsVariadic() {
		in = in[:len(in)-1]
	}
	all, said := fn.Call(in), false
	for k, out := range all {
		answered(t, name, out)
		switch v := out.Interface().(type) { // of what is made; a host waits for its uploads
		case *host.Upload:
			t.Cleanup(func() { v.Close() })
		case interface{ Close() }:
			t.Cleanup(v.Close)
		}
		if fn.Type().Out(k) != reflect.TypeFor[error]() {
			continue
		}
		said = said || !out.IsNil()
		if v, ok := all[0].Interface().(*gate.Verdict); ok && v != nil {
			continue // it says so
		}
		if why := good[name]; out.IsNil() == (why == "") {
			t.Errorf("%s: the error is %v, and the list of what is good says %q", name, out, why)
		} else if err, _ := out.Interface().(error); err != nil && strings.TrimSpace(err.Error()) == "" {
			t.Errorf("%s: an error without a sentence", name)
		}
	}
	accepts(t, name, text.Bytes())
	if answer != nil && answer.Code < 400 && (!said || answer.Body.Len() > 0) && good[name] == "" {
		t.Errorf("%s answers %d", name, answer.Code)
	}
}

// Whatever a caller does with nothing, a nil pointer, a zero value, no argument, is refused in
// words: it neither panics nor accepts.
func TestNothingRefuses(t *testing.T) {
	err := filepath.WalkDir("../gate", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || d.Name() == "testdata" {
			return err
		}
		pkg := strings.TrimPrefix(filepath.ToSlash(dir), "../")
		missing := exported(t, dir)
		for _, value := range exports[pkg] {
			v := reflect.ValueOf(value)
			if v.Kind() == reflect.Func {
				name := runtime.FuncForPC(v.Pointer()).Name()
				name = name[strings.LastIndexByte(name, '/')+1:]
				if strings.HasPrefix(name, "fuzz_test.") { // it makes a value
					is := v.Type().Out(0)
					for i := range is.NumMethod() {
						m := is.Method(i)
						tried(t, "made (*"+is.Elem().String()+")."+m.Name, m.Func, v.Call([]reflect.Value{reflect.ValueOf(t)})[0])
					}
					continue
				}
				delete(missing, name[strings.IndexByte(name, '.')+1:])
				tried(t, name, v)
				continue
			}
			is := v.Type()
			delete(missing, is.Elem().Name())
			for i := range is.NumMethod() {
				m := is.Method(i)
				if byValue, ok := is.Elem().MethodByName(m.Name); ok {
					name := is.Elem().String() + "." + m.Name
					tried(t, name, byValue.Func, reflect.Zero(is.Elem()))
					if is.Elem().Kind() == reflect.Uint8 { // of which no name exists
						tried(t, name, byValue.Func, reflect.ValueOf(uint8(255)).Convert(is.Elem()))
					}
					continue
				}
				name := "(*" + is.Elem().String() + ")." + m.Name
				tried(t, name, m.Func, v)
				if good["zero "+name] != "" {
					name = "zero " + name
				}
				tried(t, name, m.Func, reflect.New(is.Elem()))
			}
		}
		for name := range missing {
			t.Errorf("%s.%s is not tried", pkg, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("../gate/host"); err != nil {
		t.Fatal(err)
	}
}
