// Package pgtest starts a Postgres of its own for a test, from the programs that the system has.
package pgtest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// A Server is a Postgres that is gone with its test.
type Server struct {
	t    *testing.T
	dir  string
	port int
	as   *syscall.SysProcAttr
	cmd  *exec.Cmd
}

// Start starts a server, or skips the test where there is none to start.
func Start(t *testing.T) *Server {
	t.Helper()
	if program("initdb") == "" {
		t.Skip("there is no Postgres here")
	}
	dir, err := os.MkdirTemp("", "hub-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &Server{t: t, dir: dir, port: freePort(t), as: &syscall.SysProcAttr{}}
	if os.Getuid() == 0 { // as which Postgres refuses to run
		u, err := user.Lookup("postgres")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		s.as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	s.do("initdb", "-D", s.data(), "-U", "hub", "-A", "trust", "-N", "--no-instructions", "--locale=C", "-E", "UTF8")
	s.Restart()
	t.Cleanup(func() { s.Stop(syscall.SIGQUIT) })
	return s
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Address is what clients connect to.
func (s *Server) Address() string {
	return fmt.Sprintf("postgres://hub@127.0.0.1:%d/postgres?sslmode=disable", s.port)
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(program(name), args...)
	cmd.Dir, cmd.SysProcAttr = s.dir, s.as
	return cmd
}

func (s *Server) do(name string, args ...string) {
	s.t.Helper()
	if out, err := s.command(name, args...).CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// Restart starts a server that has been stopped, and waits until it answers.
func (s *Server) Restart() {
	s.t.Helper()
	s.cmd = s.command("postgres", "-D", s.data(), "-p", strconv.Itoa(s.port), "-k", s.dir, "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=50", "-c", "shared_buffers="+buffers())
	var out bytes.Buffer
	s.cmd.Stdout, s.cmd.Stderr = &out, &out
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for range 600 {
		if s.command("pg_isready", "-q", "-h", "127.0.0.1", "-p", strconv.Itoa(s.port)).Run() == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatalf("Postgres does not answer:\n%s", out.String())
}

// Stop ends the server: at once with SIGQUIT, as after a failure of its machine.
func (s *Server) Stop(with syscall.Signal) {
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Signal(with)
	s.cmd.Wait()
	s.cmd = nil
}

// program returns the path of a program of Postgres, "" for none. Debian keeps them by version.
func program(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	list, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1]
}

func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// buffers is the memory of a server: HUB_BUFFERS for a measurement.
func buffers() string {
	if b := os.Getenv("HUB_BUFFERS"); b != "" {
		return b
	}
	return "32MB"
}
