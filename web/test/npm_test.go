package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The package for npm, used by a program of Node that has nothing else: honest and hostile files,
// numbers of a tensor, two models at a time.
func TestThePackageForNPM(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("NOT RUN: no Node is here (apt-get install nodejs)")
	}
	dir := t.TempDir()
	at := filepath.Join(dir, "node_modules", "anamnesis-models")
	if text, err := exec.Command("go", "run", "../build", "-npm", at, "-version", "1.2.3").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	demos, _ := filepath.Abs(demo)
	program := `
import { open } from "anamnesis-models";
import { readFileSync } from "node:fs";
const [demo, evil, a, b] = process.argv.slice(2);
const before = Object.keys(globalThis).length;
for (const name of ["checkpoint.pt", "tiny.gguf", "model.safetensors", "weights.npz"]) {
  const m = await open(demo + "/" + name);
  console.log(name, m.accepted, m.tensors.length, m.report.format);
  m.close();
}
const bad = await open(evil);
console.log("evil", bad.accepted, bad.report.verdict.findings[0].rule, bad.report.programs[0].lines.some((l) => l.refused));
const bytes = await open(readFileSync(a), { name: "a.safetensors" });
const other = await open(b);
console.log("numbers", bytes.look("model.layers.0.w").stored.read, bytes.look("model.layers.0.w", { whole: true }).stored.largest[0].join());
const far = await bytes.compare(b);
console.log("compared", far.equal, far.different.length, far.snr.toFixed(1));
console.log("other", other.tensors[0].name);
const parts = [["x/config.json", new TextEncoder().encode("{}")], ["model.safetensors", readFileSync(a)], ["x/evil.pt", readFileSync(evil)]];
for (const some of [parts.slice(0, 2), parts, [["../model.safetensors", parts[1][1]]]]) {
  const folder = await open({ name: "folder", files: some.map(([path, p]) => ({ path, size: p.length })), read: (i, at, n) => some[i][1].subarray(at, at + n) });
  console.log("folder", folder.accepted, folder.tensors.length, (folder.report.files || []).map((f) => f.name + " " + f.class).join(", "));
  folder.close();
}
for (const wrong of [() => bytes.look("none"), () => open(7), () => open("none.gguf"), () => open(demo)]) {
  try {
    await wrong();
    console.log("no error");
  } catch (e) {
    console.log("error", e.constructor.name);
  }
}
const gone = await open({ size: 8, read: () => { throw new Error("gone") } });
console.log("gone", gone.accepted, gone.report.verdict.class);
bytes.close();
bytes.close();
try {
  bytes.look("model.layers.0.w");
} catch (e) {
  console.log("closed", e.message);
}
console.log("globals", Object.keys(globalThis).length - before);
`
	path := filepath.Join(dir, "try.mjs")
	if err := os.WriteFile(path, []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, path, demos, evil(t), matrix(t, "a.safetensors", 3000, 500, 0), matrix(t, "b.safetensors", 3000, 500, 0.01))
	cmd.Dir = dir
	got, err := cmd.CombinedOutput()
	want := strings.TrimLeft(`
checkpoint.pt true 24 pth
tiny.gguf true 4 gguf
model.safetensors true 24 safetensors
weights.npz true 5 npz
evil false pickle.global true
numbers 1048500 5,77
compared 1 1 35.3
other model.layers.0.w
folder true 2 model.safetensors ok, x/config.json ok
folder false 2 model.safetensors ok, x/config.json ok, x/evil.pt forbidden
folder false 0 
error RangeError
error TypeError
error Error
error TypeError
gone false internal
closed the model is closed
globals 0
`, "\n")
	if err != nil || string(got) != want {
		t.Errorf("%v: %s, want %s", err, got, want)
	}
	readmeRuns(t, node, dir, at)
	text, err := os.ReadFile(filepath.Join(at, "package.json"))
	if err != nil || !strings.Contains(string(text), `"version": "1.2.3"`) {
		t.Errorf("%v: %s", err, text)
	}
}

// readmeRuns runs the program that the package's README shows, on a model of that name.
func readmeRuns(t *testing.T, node, dir, at string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(at, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "```js\n")
	program, _, closed := strings.Cut(after, "```")
	if !found || !closed {
		t.Fatal("the README shows no program")
	}
	model, err := os.ReadFile(demo + "model.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"shown.mjs": []byte(program), "model.safetensors": model} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(node, "shown.mjs")
	cmd.Dir = dir
	if got, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(got), "layers.0.attn.in_proj_bias F32 [ 48 ]") {
		t.Errorf("the program of the README: %v: %s", err, got)
	}
}
