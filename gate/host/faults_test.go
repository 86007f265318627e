package host_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/internal/faulty"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// A fault is what goes wrong at one point of a request.
type fault uint8

const (
	none       fault = iota
	halfClose        // the client sends no more
	reset            // the connection is gone
	stall            // the client neither sends nor reads; deadlines that are set pass
	deadline         // time passes: deadlines that are set pass, also of reads under way
	gone             // the file is cut while it is judged
	killed           // the isolated child
	cancel           // the context of the request ends
	shutdown         // SIGTERM
	full             // the disk is full, after a part of the write
	noFiles          // EMFILE
	unreadable       // EIO
	noMemory         // the account refuses a charge
	breaks           // a panic
	faults
)

var faultNames = [faults]string{"none", "half close", "reset", "stall", "deadline", "a cut file", "kill", "cancel", "shutdown", "full disk", "EMFILE", "EIO", "a refused charge", "panic"}

// kindsOf has the faults that each class of points may have.
var kindsOf = map[string][]fault{
	"read":   {halfClose, reset, stall, deadline, cancel, shutdown},
	"write":  {reset, stall, deadline, cancel, shutdown},
	"create": {noFiles, full, deadline, cancel, shutdown, breaks},
	"spool":  {full, deadline, cancel, shutdown, breaks},
	"look":   {unreadable, deadline, cancel, shutdown, breaks},
	"close":  {unreadable},
	"open":   {noFiles, unreadable, cancel, shutdown, breaks},
	"judge":  {breaks, deadline, cancel, shutdown},
	"ctx":    {cancel},
	"body":   {halfClose, reset, cancel, breaks},
	"piece":  {cancel, halfClose},
	"file":   {noFiles, unreadable, cancel, breaks},
	"step":   {cancel, breaks, gone},
	"seen":   {cancel, breaks, gone},
	"charge": {noMemory, cancel},
	"answer": {killed, cancel, breaks},
}

// A script counts the points of one request, and has one fault at one of them.
type script struct {
	mu    sync.Mutex
	names []string // the class of each point that was reached
	at    int      // the point of the fault, or -1
	what  fault
	fired bool
	over  bool             // what follows belongs to another request
	do    map[fault]func() // what a fault does besides the point's own part
	files int              // spool files that are open
	judge func(context.Context, *gate.Gate, io.ReaderAt, int64, gate.Hint) (*gate.Verdict, error)
	room  int64 // if set, the bytes that the account has
}

// point is called where something may go wrong, and returns what does.
func (s *script) point(class string) fault {
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		return none
	}
	n := len(s.names)
	s.names = append(s.names, class)
	hit := n == s.at
	if hit {
		hit = false
		for _, k := range kindsOf[class] {
			hit = hit || k == s.what
		}
	}
	s.fired = s.fired || hit
	s.mu.Unlock()
	if !hit {
		return none
	}
	if act := s.do[s.what]; act != nil {
		act()
	}
	if s.what == breaks {
		panic("a bug")
	}
	return s.what
}

// wire is the server's side of a connection with points.
func (s *script) wire(text string, piece int) *faulty.Wire {
	parts := map[fault]faulty.Fault{halfClose: faulty.HalfClose, reset: faulty.Reset, stall: faulty.Stall}
	return faulty.NewWire(text, piece, func(op string) faulty.Fault { return parts[s.point(op)] })
}

// charging is the script whose request is charged, or nil.
var charging atomic.Pointer[script]

// end returns the points that were reached, whether the fault was among them, and how many
// spool files are open.
func (s *script) end() (names []string, fired bool, files int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true // a context that ends late tells its account
	charging.CompareAndSwap(s, nil)
	return s.names, s.fired, s.files
}

// A badFile is a spool file with points.
type badFile struct {
	host.SpoolFile
	s *script
}

func (f *badFile) Write(p []byte) (int, error) {
	if f.s.point("spool") == full {
		n, _ := f.SpoolFile.Write(p[:len(p)/2])
		return n, syscall.ENOSPC
	}
	return f.SpoolFile.Write(p)
}

func (f *badFile) ReadAt(p []byte, off int64) (int, error) {
	if f.s.point("look") == unreadable {
		return 0, syscall.EIO
	}
	return f.SpoolFile.ReadAt(p, off)
}

func (f *badFile) Close() error {
	err := f.SpoolFile.Close()
	f.s.mu.Lock()
	f.s.files--
	f.s.mu.Unlock()
	if f.s.point("close") == unreadable {
		return errors.Join(err, syscall.EIO)
	}
	return err
}

// spools gives a host spool files with points.
func (s *script) spools(h *host.Host) {
	host.CreateSpool(h, func(usual func() (host.SpoolFile, error)) (host.SpoolFile, error) {
		switch s.point("create") {
		case noFiles:
			return nil, &os.PathError{Op: "open", Path: "spool", Err: syscall.EMFILE}
		case full:
			return nil, &os.PathError{Op: "open", Path: "spool", Err: syscall.ENOSPC}
		}
		f, err := usual()
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		s.files++
		s.mu.Unlock()
		return &badFile{f, s}, nil
	})
}

// The files that are sent.
var sent = map[string]string{
	"evil.zip":           zipped("model.bin", "cos\nsystem\n(S'id'\ntR."),
	"honest.safetensors": "\x02\x00\x00\x00\x00\x00\x00\x00{}",
	"evil.pkl":           "\x80\x02cos\nsystem\nq\x00X\x02\x00\x00\x00idq\x01\x85q\x02Rq\x03.",
	"cut.safetensors":    "\x80\x00\x00\x00\x00\x00\x00\x00{\"w\":",
}

// zipped is an archive with one file.
func zipped(name, data string) string {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, _ := z.CreateHeader(&zip.FileHeader{Name: name})
	_, _ = io.WriteString(w, data)
	_ = z.Close()
	return out.String()
}

func isHonest(name string) bool { return strings.HasPrefix(name, "honest") }

// A surface sends one file, with a script, and reports whether it was accepted.
type surface struct {
	name string
	run  func(t *testing.T, s *script, name, data string, piece int) (accepted bool)
	// least is how many points were found before in the honest file of ten bytes, which may
	// only grow.
	least int
}

// TestFaultsAtEveryPoint finds the points of a request by running it, and injects each fault at
// each of them: a bad file is never accepted, a neighbour is judged normally, and nothing is held
// afterwards.
func TestFaultsAtEveryPoint(t *testing.T) {
	if r, w, err := os.Pipe(); err == nil { // the runtime keeps descriptors from the first one on
		r.Close()
		w.Close()
	}
	limitstest.Refuse(t, func(string, int64) bool {
		s := charging.Load()
		return s != nil && s.point("charge") == noMemory
	})
	piece, grain, tried, charges := effort.Of(4, 1), int64(effort.Of(16, 64)), 0, 0
	if testing.Short() { // with the race detector
		piece, grain = 64, 2
	}
	for _, on := range slices.Concat(surfaces, systemSurfaces) {
		t.Run(on.name, func(t *testing.T) {
			began, opened, ran, points := runtime.NumGoroutine(), descriptors(), 0, 0
			for name, data := range sent {
				free := &script{at: -1}
				if accepted := on.run(t, free, name, data, piece); accepted != isHonest(name) {
					t.Fatalf("%s without a fault: accepted %v", name, accepted)
				}
				names, _, _ := free.end()
				if isHonest(name) {
					points = len(names)
				}
				nth := 0
				for at, class := range names {
					if class == "charge" {
						if nth++; !effort.Whole() && nth%4 != 0 {
							continue
						}
						charges++
					}
					if testing.Short() && at%3 != 0 {
						continue
					}
					for _, what := range kindsOf[class] {
						s := &script{at: at, what: what}
						accepted := on.run(t, s, name, data, piece)
						_, fired, files := s.end()
						if accepted && !isHonest(name) {
							t.Errorf("%s is accepted with %s at point %d, %s", name, faultNames[what], at, class)
						}
						if files != 0 {
							t.Errorf("%s with %s at point %d, %s: %d spool files are open", name, faultNames[what], at, class, files)
						}
						if fired {
							ran++
						}
					}
				}
				for room := int64(1); room < 48<<10; room += max(room/grain, 64) {
					s := &script{at: -1, room: room}
					accepted := on.run(t, s, name, data, piece)
					if _, _, files := s.end(); accepted && !isHonest(name) || files != 0 {
						t.Errorf("%s is accepted in an account of %d bytes, or %d spool files are open", name, room, files)
					}
					ran++
				}
			}
			for range 500 { // what ends by itself
				if runtime.NumGoroutine() <= began && descriptors() <= opened {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			if g, d := runtime.NumGoroutine(), descriptors(); g > began || d > opened {
				t.Errorf("%d goroutines and %d descriptors more than before", g-began, d-opened)
			}
			t.Logf("%d points of the honest file, %d faults", points, ran)
			if points < on.least && !testing.Short() {
				t.Errorf("%d points, where there were %d: what was found before is not reached", points, on.least)
			}
			tried += ran
		})
	}
	t.Logf("%d faults, at %d charges", tried, charges)
	if charges < leastCharges && !testing.Short() {
		t.Errorf("%d charges are refused, where there were %d", charges, leastCharges)
	}
	if tried < 10_000 && !t.Failed() && !testing.Short() {
		t.Errorf("%d faults are fewer than 10,000", tried)
	}
}

// leastCharges is how many charges were refused, one in each run, when this was added: a
// fourth of them all.
const leastCharges = 380

// descriptors counts the open descriptors, where the system tells.
func descriptors() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}

// held reports what a host holds when all is over.
func held(h *host.Host) error {
	if l := h.Load(); l.Uploads != 0 || l.Spooled != 0 || l.Memory != 0 || l.Judging != 0 || l.Waiting != 0 || l.Tenants != 0 {
		return fmt.Errorf("held: %+v", l)
	}
	return nil
}

// A neighbour is an upload of another tenant on the same host, which arrives before the fault and
// is judged after it.
type neighbour struct{ honest, evil *host.Upload }

func meet(t *testing.T, s *script, h *host.Host) (n neighbour) {
	t.Helper()
	if s.room > 0 { // the host has no free slot
		return n
	}
	defer charging.Store(s)
	for name, to := range map[string]**host.Upload{"honest.safetensors": &n.honest, "evil.pkl": &n.evil} {
		u, err := h.Begin("neighbour")
		if err != nil {
			t.Fatal(err)
		}
		u.Name = name
		if err := u.Spool(strings.NewReader(sent[name]), int64(len(sent[name]))); err != nil {
			t.Fatal(err)
		}
		*to = u
	}
	return n
}

// leave judges the neighbour's files.
func (n neighbour) leave(t *testing.T, s *script) {
	t.Helper()
	charging.CompareAndSwap(s, nil)
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	for _, u := range []*host.Upload{n.honest, n.evil} {
		if u == nil {
			continue
		}
		_, err := u.Judge(t.Context())
		busy := &host.Busy{}
		if ending := s.what == shutdown && errors.As(err, &busy); err != nil && !ending {
			t.Errorf("a neighbour of %s at point %d is not judged: %v", faultNames[s.what], s.at, err)
		} else if _, ok := u.Acceptance(); err == nil && ok != (u == n.honest) {
			t.Errorf("a neighbour of %s at point %d: %s accepted %v", faultNames[s.what], s.at, u.Name, ok)
		}
		if err := u.Close(); err != nil {
			t.Error(err)
		}
	}
}
