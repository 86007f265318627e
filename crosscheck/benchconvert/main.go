// Command benchconvert measures conversions from file to file beside what the
// machine gives: the same output bytes, read and written at the same offsets
// with nothing done to them.
//
// Every contender is a process of its own, timed from when its source is open
// to its last write, syncs apart; what is printed is the best of the rounds,
// which go through all contenders in turn. The sources are random bytes, in the
// page cache. Further sources are arguments: a checkpoint of torch's, say. ONLY
// is the number of the one source to measure, RUST_AMN the path of the published
// Rust program.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"
)

// mode is the environment that makes this program one contender.
const mode = "BENCHCONVERT"

const rounds = 5

// A run is what one contender took.
type run struct {
	Bytes int64
	Wall  time.Duration
	CPU   time.Duration
	RSS   int64
}

func main() {
	if os.Getenv(mode) != "" {
		r, err := contend(os.Getenv(mode), os.Args[1], os.Args[2])
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(r)
		}
		quit(err)
		return
	}
	quit(bench(os.Args[1:]))
}

func quit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchconvert:", err)
		os.Exit(1)
	}
}

func bench(more []string) error {
	dir, err := os.MkdirTemp(".", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Printf("%s/%s, %d processors, %s, best of %d rounds\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), rounds)
	fmt.Println("| source | output | contender | wall s | GB/s | of raw | CPU s | peak MiB |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	for i, make := range sources {
		if only := os.Getenv("ONLY"); only != "" && only != strconv.Itoa(i) {
			continue
		}
		path, err := make(dir)
		if err != nil {
			return err
		}
		if err := compare(dir, path); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		os.Remove(path)
	}
	for _, path := range more {
		if err := compare(dir, path); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// compare measures all contenders for one source.
func compare(dir, source string) error {
	threads := strconv.Itoa(runtime.NumCPU())
	names := []string{"raw 1", "ours 1"}
	if runtime.NumCPU() > 1 {
		names = append(names, "raw "+threads, "ours "+threads)
	}
	names = append(names, "cp")
	if rust := os.Getenv("RUST_AMN"); rust != "" {
		names = append(names, "rust "+threads)
	}
	best := map[string]run{}
	for range rounds {
		for _, name := range names {
			target := filepath.Join(dir, "out.safetensors")
			r, err := one(name, source, target)
			os.Remove(target)
			if err != nil {
				fmt.Fprintf(os.Stderr, "%s, %s: %v\n", filepath.Base(source), name, err)
				continue
			}
			if old, ok := best[name]; !ok || r.Wall < old.Wall {
				best[name] = r
			}
		}
	}
	for _, name := range names {
		r, ok := best[name]
		if !ok {
			continue
		}
		against := best["raw "+threads]
		if name == "ours 1" || name == "raw 1" {
			against = best["raw 1"]
		}
		rate := func(r run) float64 { return float64(r.Bytes) / r.Wall.Seconds() }
		fmt.Printf("| %s | %.2f GB | %s | %.3f | %.2f | %.0f %% | %.2f | %.0f |\n", filepath.Base(source), float64(r.Bytes)/1e9, name,
			r.Wall.Seconds(), rate(r)/1e9, 100*rate(r)/rate(against), r.CPU.Seconds(), float64(r.RSS)/(1<<20))
	}
	return nil
}

// one runs one contender.
func one(name, source, target string) (r run, err error) {
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	kind, threads, _ := bytes.Cut([]byte(name), []byte(" "))
	cmd := exec.Command(self, source, target)
	cmd.Env = append(os.Environ(), mode+"="+name)
	switch string(kind) {
	case "cp":
		cmd = exec.Command("cp", source, target)
	case "rust":
		cmd = exec.Command(os.Getenv("RUST_AMN"), "remember", "--force", "--threads", string(threads), "-o", target, source)
	}
	cmd.Stderr = os.Stderr
	began := time.Now()
	out, err := cmd.Output()
	if err != nil {
		return r, err
	}
	r.Wall = time.Since(began)
	if info, err := os.Stat(target); err == nil {
		r.Bytes = info.Size()
	}
	if cmd.Env != nil {
		if err := json.Unmarshal(out, &r); err != nil {
			return r, err
		}
	}
	r.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	r.RSS = peak(cmd.ProcessState)
	return r, nil
}
