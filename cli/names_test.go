package cli_test

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkpoints are files whose pickles hold more than data.
const checkpoints = "../testdata/pth/tensors-only/"

// The states of an optimizer have the shapes of weights, but are not weights. testdata/pth/zero.py
// made the files.
func TestStatesOfAnOptimizerAreNotWeights(t *testing.T) {
	const zero = "../testdata/pth/zero/"
	for name, why := range map[string]string{
		"zero_pp_rank_0_mp_rank_00_optim_states.pt": "the state of an optimizer, and no weights", "optimizer.pt": "the state of an optimizer, and no weights",
		"zero_pp_rank_0_mp_rank_00_model_states.pt": "open the folder, whose files are one model",
	} {
		out := filepath.Join(t.TempDir(), "out.safetensors")
		r := amn(t, nil, "convert", "--to", "safetensors", "-o", out, zero+name)
		if _, err := os.Stat(out); r.code != 2 || !strings.Contains(r.err, why) || err == nil {
			t.Errorf("%s: exit %d, %s", name, r.code, r.err)
		}
		if r := amn(t, nil, "inspect", zero+name); r.code != 0 {
			t.Errorf("%s: inspect: exit %d, %s", name, r.code, r.err)
		}
	}
	out := filepath.Join(t.TempDir(), "out.safetensors")
	if r := amn(t, nil, "convert", "--to", "safetensors", "--keep", "*", "-o", out, zero+"optimizer.pt"); r.code != 0 {
		t.Errorf("what is asked for: exit %d, %s", r.code, r.err)
	}
}

// A distributed checkpoint is one model, and the state of its optimizer is not taken for weights unless
// it is asked for.
func TestADistributedCheckpointIsAModel(t *testing.T) {
	dir := t.TempDir()
	folder, out := filepath.Join(dir, "checkpoint"), filepath.Join(dir, "out.safetensors")
	z, err := zip.OpenReader("../corpus/valid/dcp/plain.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if err := os.CopyFS(folder, z); err != nil {
		t.Fatal(err)
	}
	if r := amn(t, nil, "convert", "--to", "safetensors", "-o", out, folder); r.code != 2 || !strings.Contains(r.err, "holds the state of an optimizer") {
		t.Errorf("exit %d, %s", r.code, r.err)
	}
	for want, args := range map[string][]string{"Tensors:     4\n": {"--select", "model"}, "Tensors:     31\n": {"--keep", "*"}} {
		if r := amn(t, nil, append([]string{"convert", "--force", "--to", "safetensors", "-o", out, folder}, args...)...); r.code != 0 {
			t.Fatalf("%v: exit %d, %s", args, r.code, r.err)
		}
		if r := amn(t, nil, "inspect", out); !strings.Contains(r.out, want) {
			t.Errorf("%v: %s", args, r.out)
		}
	}
	for _, args := range [][]string{{"inspect"}, {"parse"}, {"hash"}, {"stats"}, {"scan"}, {"diff", "--values", folder}} {
		if r := amn(t, nil, append(args, folder)...); r.code != 0 {
			t.Errorf("%v: exit %d, %s%s", args, r.code, r.out, r.err)
		}
	}
	if r := amn(t, nil, "inspect", filepath.Join(folder, "__0_0.distcp")); r.code != 5 || !strings.Contains(r.err, "open its folder") {
		t.Errorf("a part alone: exit %d, %s", r.code, r.err)
	}
}

// The tensors that torch finds in a checkpoint with code are written without running the code.
// testdata/pth/tensors_only.py made the files.
func TestTensorsAreTakenOutOfAnyCheckpoint(t *testing.T) {
	files, err := filepath.Glob(checkpoints + "*.pt")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		out := filepath.Join(t.TempDir(), "out.safetensors")
		if r := amn(t, nil, "convert", "--to", "safetensors", "-o", out, file); r.code != 7 {
			t.Errorf("%s: exit %d without the flag", file, r.code)
		}
		r := amn(t, nil, "convert", "--json", "--to", "safetensors", "--tensors-only", "-o", out, file)
		valid(t, "convert", r.out)
		if r.code != 0 || !strings.Contains(r.out, `"not_understood":[{"text":`) {
			t.Errorf("%s: exit %d, %s%s", file, r.code, r.out, r.err)
		}
		if r := amn(t, nil, "diff", "--values", out, strings.TrimSuffix(file, ".pt")+".safetensors"); r.code != 0 {
			t.Errorf("%s: %s%s", file, r.out, r.err)
		}
		for _, args := range [][]string{{"inspect", "--tensors-only"}, {"parse", "--tensors-only"}, {"stats", "--tensors-only"}, {"hash", "--tensors-only"}, {"diff", "--tensors-only", "--values", file}, {"remember", "--dry-run", "--force", "--tensors-only"}} {
			if r := amn(t, nil, append(args, file)...); r.code != 0 || !strings.Contains(r.out+r.err, "is not understood") {
				t.Errorf("%v %s: exit %d, %s%s", args, file, r.code, r.out, r.err)
			}
		}
		if r := amn(t, nil, "scan", file); r.code != 7 {
			t.Errorf("scan %s: exit %d", file, r.code)
		}
	}
}

// A pickle that asks for classes is refused with the flag that reads its tensors, unless it was
// given; one without tensors gives no empty file.
func TestTheFlagForTensorsIsNamed(t *testing.T) {
	const hint = "--tensors-only reads the tensors"
	for _, args := range []string{"inspect", "parse", "stats", "hash", "convert --to safetensors", "quantize"} {
		if r := amn(t, nil, append(strings.Fields(args), checkpoints+"lightning.pt")...); r.code != 7 || !strings.Contains(r.err, hint) {
			t.Errorf("%s: exit %d, %s", args, r.code, r.err)
		}
	}
	dir := t.TempDir()
	evil, values := filepath.Join(dir, "evil.pt"), filepath.Join(dir, "scheduler.pt")
	write(t, evil, archived(t, "\x80\x02"+runsCode))
	write(t, values, archived(t, "\x80\x02}X\x04\x00\x00\x00kindcmy.module\nKind\nX\x01\x00\x00\x00a\x85Rs."))
	for _, args := range []string{"scan " + checkpoints + "lightning.pt", "inspect " + evil} {
		if r := amn(t, nil, strings.Fields(args)...); r.code != 7 || strings.Contains(r.out+r.err, hint) {
			t.Errorf("%s: exit %d, %s%s", args, r.code, r.out, r.err)
		}
	}
	out := filepath.Join(dir, "out.safetensors")
	r := amn(t, nil, "convert", "--to", "safetensors", "--tensors-only", "-o", out, values)
	if _, err := os.Stat(out); r.code != 2 || !strings.Contains(r.err, "no tensors") || err == nil {
		t.Errorf("exit %d, %s", r.code, r.err)
	}
}

// archived is a pickle in an archive as torch.save writes it.
func archived(t *testing.T, pickle string) string {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, m := range [][2]string{{"data.pkl", pickle}, {"version", "3\n"}} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: "archive/" + m[0], Method: zip.Store})
		if err == nil {
			_, err = w.Write([]byte(m[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The part that is taken has the names that the model's own code asks for.
func TestTensorsAreChosenAndRenamed(t *testing.T) {
	whole := checkpoints + "whole.safetensors"
	for _, c := range []struct {
		args string
		code int
		has  string // "" for the tensors of whole.pt
	}{
		{"lightning.pt --tensors-only --select state_dict --strip-prefix model.", 0, ""},
		{"lightning.pt --tensors-only --rename state_dict.model.*=*", 0, ""},
		{"ema.pt --tensors-only --select state_dict", 0, ""},
		{"ema.pt --tensors-only --select model", 0, ""},
		{"called.pt --tensors-only --keep state_dict.[0-9]* --strip-prefix state_dict.", 0, ""},
		{"ema.pt --tensors-only --select ema --drop *num_batches* --dry-run", 0, "ema.0.weight -> 0.weight"},
		{"ema.pt --tensors-only --select ema --drop *num_batches*", 0, "Renamed:     7 tensors; 9 not taken"},
		{"ema.pt --tensors-only --rename *.0.weight=first.*", 0, "Renamed"},
		{"whole.pt --tensors-only --rename *.weight=w", 3, `"0.weight" and "1.weight" would both be called "w"`},
		{"ema.pt --tensors-only --rename ema.*=* --rename model.*=*", 3, "would both be called"},
		{"whole.pt --tensors-only --select state_dict", 2, "no tensors below"},
		{"whole.pt --tensors-only --strip-prefix x.", 2, "no name begins with"},
		{"whole.pt --tensors-only --rename x*=y", 2, "no name matches"},
		{"whole.pt --tensors-only --strip-prefix 0.weight", 2, "would have no name"},
		{"whole.pt --tensors-only --keep x", 2, `--keep: no tensor name matches "x"`},
		{"whole.pt --tensors-only --keep * --drop *", 2, "the chosen names leave no tensor"},
		{"whole.pt --tensors-only --drop 0.weight --drop nothing*", 2, `--drop: no tensor name matches "nothing*"`},
		{"ema.pt --tensors-only --select ema --keep 0.* --keep ema.0.*", 2, `--keep: no tensor name matches "ema.0.*"`},
		{"whole.pt --rename x", 2, "is not FROM=TO"},
		{"whole.pt --rename x=*", 2, "more * after"},
		{"whole.pt --drop [", 2, "--drop"},
	} {
		file, flags, _ := strings.Cut(c.args, " ")
		out := filepath.Join(t.TempDir(), "out.safetensors")
		r := amn(t, nil, append([]string{"convert", "--to", "safetensors", "-o", out, checkpoints + file}, strings.Fields(flags)...)...)
		if r.code != c.code || !strings.Contains(r.out+r.err, c.has) {
			t.Errorf("%s: exit %d, %s%s", c.args, r.code, r.out, r.err)
			continue
		}
		if _, err := os.Stat(out); (err == nil) != (c.code == 0 && !strings.Contains(c.args, "--dry-run")) {
			t.Errorf("%s: %v", c.args, err)
		}
		if c.has == "" {
			if r := amn(t, nil, "diff", "--values", out, whole); r.code != 0 {
				t.Errorf("%s: %s%s", c.args, r.out, r.err)
			}
		}
	}
}

// Names are chosen in any format, before weights are decoded and before GGUF asks for
// its own.
func TestTensorsOfEachFormatAreRenamed(t *testing.T) {
	t.Chdir(workplace(t))
	for _, args := range []string{
		"--to npz --drop blk.0.attn* tiny.gguf", "--to gguf --as-is --rename blk.*=layer.* tiny.gguf",
		"--to safetensors --select model --rename layers.*=h.* llama-fp8", "--to safetensors --rename *=x.* weights.npz",
	} {
		r := amn(t, nil, append([]string{"convert", "-o", "out", "--json"}, strings.Fields(args)...)...)
		if r.code != 0 || !strings.Contains(r.out, `"renamed":[`) {
			t.Errorf("%s: exit %d, %s%s", args, r.code, r.out, r.err)
		}
		if err := os.RemoveAll("out"); err != nil {
			t.Fatal(err)
		}
	}
}

// The memory that a model needs is printed as text and as JSON, or the reason why it is unknown.
func TestMemoryIsStated(t *testing.T) {
	dir := workplace(t)
	r := amn(t, nil, "inspect", "--json", "--context", "1024", "--batch", "2", filepath.Join(dir, "llama-fp8"))
	valid(t, "inspect", r.out)
	// 2 layers, 1 head of keys and values, of 16 numbers.
	if want := `"cache":262144,"type":"bfloat16"`; r.code != 0 || !strings.Contains(r.out, want) || !strings.Contains(r.out, `"parameters":19616`) {
		t.Errorf("exit %d, %s%s", r.code, r.out, r.err)
	}
	for in, tokens := range map[string]string{"1k": "1024", "128K": "131072", "1m": "1048576"} {
		short := amn(t, nil, "inspect", "--context", in, filepath.Join(dir, "llama-fp8"))
		long := amn(t, nil, "inspect", "--context", tokens, filepath.Join(dir, "llama-fp8"))
		if short.code != 0 || short.out != long.out {
			t.Errorf("%s: exit %d, %s%s\n%s: %s", in, short.code, short.out, short.err, tokens, long.out)
		}
	}
	r = amn(t, nil, "inspect", "--json", "--context", "1024", filepath.Join(dir, "model.safetensors"))
	valid(t, "inspect", r.out)
	if r.code != 0 || !strings.Contains(r.out, `"unknown":"no config.json beside the weights`) {
		t.Errorf("exit %d, %s%s", r.code, r.out, r.err)
	}
	for _, args := range [][]string{{"--context", "0"}, {"--context", "x"}, {"--context", "k"}, {"--context", "8g"}, {"--context", "9223372036854775807k"}, {"--context", "1", "--batch", "-1"}} {
		if r := amn(t, nil, append([]string{"inspect", filepath.Join(dir, "llama-fp8")}, args...)...); r.code != 2 {
			t.Errorf("%v: exit %d", args, r.code)
		}
	}
}
