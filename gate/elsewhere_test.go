package gate_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/gate"
)

// elsewhere asks this test to print its verdicts, in a process that has little in
// common with the first one.
const elsewhere = "GATE_ELSEWHERE"

// A verdict is a function of the bytes, the name, the policy and the version: the same
// JSON whatever the number of processors, the time zone, the language, the folder, the
// features of the processor that Go uses, the order of the files, and what is judged at
// the same time.
func TestAVerdictDoesNotDependOnTheMachine(t *testing.T) {
	how := os.Getenv(elsewhere)
	here := verdicts(t, how)
	if how != "" {
		fmt.Println(here)
		return
	}
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, env := range [][]string{
		{elsewhere + "=backwards", "GOMAXPROCS=1", "TZ=Asia/Kathmandu", "LC_ALL=tr_TR.UTF-8", "LANG=tr_TR", "GODEBUG=cpu.all=off"},
		{elsewhere + "=at once", "GOMAXPROCS=7", "TZ=America/St_Johns", "LC_ALL=C", "HOME=/nowhere", "GOGC=20"},
	} {
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$")
		cmd.Dir, cmd.Env = t.TempDir(), env
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), here+"\n") {
			t.Errorf("%q: %v\n%s, here %s", env, err, out, here)
		}
	}
}

// verdicts returns a digest of the gate's verdicts on every small file of the corpus.
func verdicts(t *testing.T, how string) string {
	type one struct {
		name, json string
		data       []byte
	}
	var list []*one
	for _, format := range []string{"gguf", "npy", "npz", "onnx", "pickle", "pth", "safetensors", "wrap", "zip"} {
		for _, r := range corpus.Hostile(format) {
			list = append(list, &one{name: r.Name + "." + format, data: r.Bytes()})
		}
		for _, s := range corpus.Valid(format) {
			list = append(list, &one{name: s.Name, data: s.Data})
		}
	}
	list = slices.DeleteFunc(list, func(o *one) bool { return len(o.data) > 64<<10 })
	if len(list) < 500 {
		t.Fatalf("%d files", len(list))
	}
	work := slices.Clone(list)
	if how == "backwards" {
		slices.Reverse(work)
	}
	g := gate.Gate{Digest: true, Version: "v1"}
	judge := func(o *one) {
		b := g.Policy.Limits.Budget(context.Background())
		defer b.Close()
		v, err := g.Check(b, strings.NewReader(string(o.data)), int64(len(o.data)), gate.Hint{Name: o.name})
		if err != nil {
			t.Error(o.name, err)
			return
		}
		defer v.Close()
		text, err := v.MarshalJSON()
		if err != nil {
			t.Error(o.name, err)
		}
		o.json = string(text)
	}
	var group sync.WaitGroup
	for _, o := range work {
		if how == "at once" {
			group.Go(func() { judge(o) })
		} else {
			judge(o)
		}
	}
	group.Wait()
	sum := sha256.New()
	for _, o := range list {
		fmt.Fprintf(sum, "%s\n%s\n", o.name, o.json)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
