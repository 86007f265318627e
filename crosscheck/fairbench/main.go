// Fairbench measures what a tenant of amn serve notices of another one: the times of its
// small uploads alone, and beside a tenant that has 1,000 of the dearest uploads.
//
//	fairbench [-isolate] amn [file...]
//
// With -isolate each file is judged in a process of its own.
//
// The files are the dearest; without any, an archive of many tiny members and a pickle of
// many objects are made. It prints the percentiles, and fails if the 99th beside the other
// tenant is more than 250 ms above the one alone.
package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	backlog = 1000 // uploads of the one tenant
	clients = 128  // of them at once
	samples = 400  // uploads of the other, one after the other
	allowed = 250 * time.Millisecond
)

var isolate = flag.Bool("isolate", false, "judge each file in a process of its own")

func main() {
	flag.Parse()
	if err := run(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "fairbench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("give the program to measure")
	}
	dear := [][]byte{members(20_000), lists(100_000)}
	if len(args) > 1 {
		dear = nil
		for _, name := range args[1:] {
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			dear = append(dear, text)
		}
	}
	addr, end, err := serve(args[0])
	if err != nil {
		return err
	}
	defer end()
	for i, text := range dear {
		began := time.Now()
		status, err := check(addr, "the-token-of-one-tenant", text)
		if err != nil {
			return err
		}
		fmt.Printf("dear file %d: %d bytes, %d after %v\n", i, len(text), status, time.Since(began).Round(time.Millisecond))
	}
	alone, err := measure("alone", addr)
	if err != nil {
		return err
	}
	stop := load(addr, dear)
	time.Sleep(2 * time.Second) // until its backlog is there
	beside, err := measure("beside", addr)
	stop()
	if err != nil {
		return err
	}
	if more := beside - alone; more > allowed {
		return fmt.Errorf("p99 is %v more beside the other tenant, and %v are allowed", more, allowed)
	}
	return nil
}

// serve starts the program.
func serve(program string) (addr string, end func(), err error) {
	dir, err := os.MkdirTemp("", "fairbench-")
	if err != nil {
		return "", nil, err
	}
	tokens := filepath.Join(dir, "tokens")
	if err := os.WriteFile(tokens, []byte("the-token-of-one-tenant\nthe-token-of-another\n"), 0o600); err != nil {
		return "", nil, err
	}
	cmd := exec.Command(program, "serve", "--listen", "localhost:0", "--tokens", tokens)
	if *isolate {
		cmd.Args = append(cmd.Args, "--isolate")
	}
	log, err := cmd.StderrPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	end = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // its exit code says whether it finished what it judged
		os.RemoveAll(dir)
	}
	lines := bufio.NewScanner(log)
	for !strings.Contains(lines.Text(), "address=") {
		if !lines.Scan() {
			end()
			return "", nil, fmt.Errorf("the service does not listen: %v", lines.Err())
		}
	}
	_, addr, _ = strings.Cut(lines.Text(), "address=")
	go io.Copy(io.Discard, log)
	return addr, end, nil
}

// load sends the backlog of one tenant, again when it is refused as busy, until it is done or
// stopped.
func load(addr string, dear [][]byte) (stop func()) {
	var left atomic.Int64
	left.Store(backlog)
	var done, busy, failed atomic.Int64
	var all sync.WaitGroup
	ended := make(chan struct{})
	for range clients {
		all.Go(func() {
			for {
				n := left.Add(-1)
				if n < 0 {
					return
				}
				for status := 0; status != http.StatusOK; {
					select {
					case <-ended:
						return
					default:
					}
					var err error
					status, err = check(addr, "the-token-of-one-tenant", dear[int(n)%len(dear)])
					switch {
					case err != nil:
						failed.Add(1)
						status = http.StatusOK
					case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
						busy.Add(1)
						time.Sleep(100 * time.Millisecond)
					default:
						done.Add(1)
						status = http.StatusOK
					}
				}
			}
		})
	}
	return func() {
		fmt.Printf("the other tenant: %d judged, %d told to come again, %d failed; %d of %d were left\n", done.Load(), busy.Load(), failed.Load(), max(0, left.Load()), backlog)
		close(ended)
	}
}

// measure returns the 99th percentile of the times of small uploads.
func measure(what, addr string) (time.Duration, error) {
	var times []time.Duration
	refused := 0
	for range samples {
		began := time.Now()
		status, err := check(addr, "the-token-of-another", []byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"))
		if err != nil {
			return 0, err
		}
		if status != http.StatusOK {
			refused++
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	at := func(p int) time.Duration {
		return times[min(len(times)-1, len(times)*p/100)].Round(10 * time.Microsecond)
	}
	fmt.Printf("%-7s p50 %v, p90 %v, p99 %v, worst %v; %d of %d refused\n", what+":", at(50), at(90), at(99), times[len(times)-1].Round(10*time.Microsecond), refused, samples)
	if refused > 0 {
		return 0, fmt.Errorf("%d uploads of the small tenant were refused", refused)
	}
	return at(99), nil
}

func check(addr, token string, text []byte) (int, error) {
	r, err := http.NewRequest(http.MethodPut, "http://"+addr+"/v1/check", bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// members is a packed archive of n tiny texts.
func members(n int) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for i := range n {
		if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("t/%d.txt", i), Mode: 0o644, Size: 6}); err != nil {
			panic("internal error: " + err.Error())
		}
		if _, err := w.Write([]byte("hello\n")); err != nil {
			panic("internal error: " + err.Error())
		}
	}
	if err := w.Close(); err != nil {
		panic("internal error: " + err.Error())
	}
	if err := z.Close(); err != nil {
		panic("internal error: " + err.Error())
	}
	return out.Bytes()
}

// lists is a pickle that makes n lists and keeps none.
func lists(n int) []byte {
	return []byte("\x80\x02" + strings.Repeat("]0", n) + "N.")
}
