package main

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// needs are the words behind ```sh that keep a block from being run here, each with the
// reason. A block without a word runs.
var needs = map[string]string{
	"network":    "a network",
	"hub":        "the hub",
	"model":      "a published model, or llama.cpp",
	"repository": "a whole clone and minutes of compiling; the tests that these commands start are run as they are",
	"signing":    "model_signing, a program of others",
	"socket":     "a place of the system that only a service has",
}

var shell = regexp.MustCompile("(?ms)^```sh *([^\n]*)\n(.*?)^```")

// Every command that a guide shows is run, page by page, on a copy of the files that the
// repository has.
func TestTheCommandsOfTheGuidesRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	for _, tool := range []string{"bash", "curl", "openssl", "git"} {
		if _, err := exec.LookPath(tool); err != nil || runtime.GOOS == "windows" {
			t.Skipf("no %s, which the guides use", tool)
		}
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	bin := program(t, root)
	s, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	ran, left := 0, 0
	for _, file := range append(s.order, "README.md") {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		var blocks []string
		for _, m := range shell.FindAllStringSubmatch(string(text), -1) {
			if m[1] == "" {
				blocks = append(blocks, m[2])
			} else if needs[m[1]] == "" {
				t.Errorf("%s: a block needs %q, which is unknown", file, m[1])
			} else {
				left++
			}
		}
		if len(blocks) > 0 && !tutorial(file) {
			ran += len(blocks)
			t.Run(file, func(t *testing.T) { runPage(t, root, bin, blocks) })
		}
	}
	t.Logf("%d blocks of commands ran, %d need more than is here", ran, left)
	if ran < 20 {
		t.Errorf("only %d blocks of commands", ran)
	}
}

// program builds amn and returns the folder that it is in.
func program(t *testing.T, root string) string {
	t.Helper()
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "amn"), "./cli/amn")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return bin
}

// runPage runs the blocks of a page one after the other in one folder. A service that a
// block starts goes on to the end of the page, at a port that is free.
func runPage(t *testing.T, root, bin string, blocks []string) {
	dir := t.TempDir()
	prepare(t, root, bin, dir)
	address := free(t)
	script := "set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"
	for _, block := range blocks {
		script += started(block, address)
	}
	out, err := bash(t, bin, dir, script)
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "serve.log"))
		t.Errorf("%v\n%s\n%s\nof\n%s", err, tail(out), tail(string(log)), script)
	}
}

// free returns an address that no program listens at.
func free(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

var listens = regexp.MustCompile(`--listen (?:unix:)?(\S+)`)

// started is a block of commands whose services run behind it, at an address that is free.
func started(block, address string) string {
	script := ""
	for line := range strings.Lines(block) {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "localhost:8080", address)
		if at := listens.FindStringSubmatch(line); strings.HasPrefix(line, "amn serve ") && at != nil {
			ask := "http://" + at[1] + "/healthz"
			if strings.Contains(line, "unix:") {
				ask = "--unix-socket " + at[1] + " http://gate/healthz"
			}
			line += " >serve.log 2>&1 &\nfor i in $(seq 600); do curl -sf -o /dev/null " + ask + " && break; sleep 0.1; done"
		}
		script += line + "\n"
	}
	return script
}

// bash runs a script in a folder and returns what it prints.
func bash(t *testing.T, bin, dir, script string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, "bash", "-c", script)
	run.Dir = dir
	run.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "NO_COLOR=1")
	run.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	err := run.Run()
	return out.String(), err
}

func tail(s string) string { return s[max(0, len(s)-3000):] }

// prepare makes the folder that the guides speak of: the models of testdata/demo under
// the names they use, in a repository of git.
func prepare(t *testing.T, root, bin, dir string) {
	t.Helper()
	demo := os.DirFS(filepath.Join(root, "testdata", "demo"))
	if err := os.CopyFS(dir, demo); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"model", "models/tiny"} {
		if err := os.CopyFS(filepath.Join(dir, filepath.FromSlash(name)), os.DirFS(filepath.Join(root, "testdata", "demo", "sharded"))); err != nil {
			t.Fatal(err)
		}
	}
	unzip(t, filepath.Join(root, "corpus", "valid", "dcp", "plain.zip"), filepath.Join(dir, "checkpoint"))
	unzip(t, filepath.Join(root, "corpus", "valid", "deepspeed", "two-two.zip"), filepath.Join(dir, "zero"))
	unzip(t, filepath.Join(root, "corpus", "valid", "tfbundle", "shards.zip"), filepath.Join(dir, "tensorflow"))
	for _, args := range [][]string{
		{"amn", "dequantize", "llama-fp8", "-o", "llama"},
		{"amn", "convert", "tiny.gguf", "--to", "gguf", "-o", "llama-bf16.gguf"},
		{"git", "init", "-q"},
	} {
		path := args[0]
		if path == "amn" {
			path = filepath.Join(bin, path)
		}
		c := exec.Command(path, args[1:]...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatal(fmt.Sprint(args, ": ", err, ": ", string(out)))
		}
	}
}

// unzip unpacks an archive of the corpus.
func unzip(t *testing.T, archive, dir string) {
	t.Helper()
	z, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
}

// Of the blocks that need the whole repository, what takes a moment is run there: its examples
// and the tool of its corpus; make says what it would do.
func TestTheCommandsOfTheRepositoryRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash, which the guides use")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	s, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]bool{}
	for _, file := range append(s.order, "README.md") {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range shell.FindAllStringSubmatch(string(text), -1) {
			if m[1] != "repository" {
				continue
			}
			for line := range strings.Lines(m[2]) {
				line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
				switch {
				case strings.HasSuffix(line, "&"), ran[line]:
					continue
				case strings.HasPrefix(line, "go run ./examples/"), strings.HasPrefix(line, "go run ./corpus/"):
				case strings.HasPrefix(line, "make "):
					line = "make -n " + strings.TrimPrefix(line, "make ")
				default:
					continue
				}
				ran[line] = true
				run := exec.CommandContext(t.Context(), "bash", "-c", line)
				run.Dir = root
				if out, err := run.CombinedOutput(); err != nil {
					t.Errorf("%s: %s: %v\n%s", file, line, err, tail(string(out)))
				}
			}
		}
	}
	if len(ran) < 5 {
		t.Errorf("only %d commands", len(ran))
	}
}
