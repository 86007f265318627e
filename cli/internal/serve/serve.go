package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/api"
	"github.com/anamnesis-go/anamnesis/gate/attest"
	"github.com/anamnesis-go/anamnesis/gate/clamd"
	"github.com/anamnesis-go/anamnesis/gate/receipt"
	"github.com/anamnesis-go/anamnesis/internal/sandbox"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Serve serves a gate over HTTP and over the protocol of ClamAV's daemon.
type Serve struct {
	Listen []string `placeholder:"ADDR" help:"Serve HTTP on unix:PATH or HOST:PORT. Repeatable."`
	Clamd  []string `placeholder:"ADDR" help:"Serve clamd's protocol on unix:PATH or HOST:PORT. Repeatable."`
	Root   string   `placeholder:"DIR" help:"Folder in which clamd's SCAN may name paths (default: none)."`

	TLSCert    string `name:"tls-cert" placeholder:"FILE" help:"Certificate chain in PEM: serves HTTP/1.1 and HTTP/2 over TLS 1.2 or later."`
	TLSKey     string `name:"tls-key" placeholder:"FILE" help:"Private key of the certificate."`
	Tokens     string `placeholder:"FILE" help:"File of tokens of 16 or more characters, one per line; lines that begin with # are comments. HTTP requests must carry one (Authorization: Bearer)."`
	SocketMode string `placeholder:"MODE" default:"0660" help:"Permissions of Unix sockets, in octal (${default})."`
	Anyone     bool   `help:"Allow an address that other machines can reach without tokens or without TLS."`

	MaxFile    string        `placeholder:"SIZE" default:"16GiB" help:"Maximum size of a file (${default})."`
	SpoolSize  string        `placeholder:"SIZE" default:"64GiB" help:"Maximum disk space for spooled files (${default})."`
	SpoolDir   string        `placeholder:"DIR" help:"Folder of spooled files (default: the system's temporary folder)."`
	Memory     string        `placeholder:"SIZE" default:"2GiB" help:"Maximum memory for all judgements together; a tenant may hold half, or as much as one file (${default})."`
	MaxUploads int           `placeholder:"N" default:"256" help:"Maximum number of open uploads (${default})."`
	PerTenant  int           `placeholder:"N" default:"0" help:"Maximum number of open uploads per tenant: a token, or without --tokens a client's address (default: half of all)."`
	MaxFiles   int           `placeholder:"N" default:"1024" help:"Maximum number of files of one form (${default})."`
	Slots      int           `placeholder:"N" default:"0" help:"Maximum number of files judged at once (default: one per processor)."`
	Queue      int           `placeholder:"N" default:"128" help:"Maximum number of files that wait to be judged, half of them of one tenant; further ones are rejected as busy (${default})."`
	Idle       time.Duration `placeholder:"TIME" default:"30s" help:"Time for which a client may send nothing (${default})."`
	MinRate    string        `placeholder:"SIZE" default:"1KiB" help:"Bytes a second that a client must send or read, averaged over 10 seconds; 0 for no limit (${default})."`
	UploadTime time.Duration `placeholder:"TIME" default:"4h" help:"Time that all of an upload may take to arrive (${default})."`
	Drain      time.Duration `placeholder:"TIME" default:"8s" help:"Time that checks may go on after SIGTERM (${default})."`
	UI         bool          `name:"ui" help:"Serve a page at / that uploads a file to this service and shows the same as inspect --html."`
	ReceiptKey string        `placeholder:"FILE" help:"Sign a receipt for each verdict with this Ed25519 key in PEM (openssl genpkey -algorithm ed25519)."`
	ReceiptFor time.Duration `placeholder:"TIME" default:"5m" help:"How long a receipt is valid (${default})."`
	LogJSON    bool          `help:"Log as JSON; same as --json."`

	Isolate bool `help:"Judge each file in a separate process with its own limits and its own sandbox."`

	flags.SandboxFlags `embed:""`
}

func (Serve) Help() string {
	return `Judges uploads as amn scan does and answers with a verdict. Nothing is kept: a file is spooled
without a name, judged, and deleted.

HTTP (--listen): PUT /v1/check with a file, POST /v1/check with a form, whose files are judged as
one folder, GET /v1/rules, /metrics, /healthz, /readyz and /openapi.json. The answer to an accepted file is 200 with its
verdict; to a refused one it is 403, 413, 415 or 422 with application/problem+json, which names
the rules. Uploads beyond --max-uploads or --queue get 429 or 503 with Retry-After. With
?format=modelscan the answer has modelscan's form.

With --receipt-key each verdict has a receipt: a signed statement of what was judged, under which
policy, and how long the statement is valid. ?nonce=TEXT binds it to this request.

clamd (--clamd): PING, VERSION, INSTREAM, FILDES (clamdscan --fdpass), SCAN and its variants below
--root, STATS, RELOAD, sessions. A refused file is "Anamnesis.RULE FOUND"; so is a file over a
limit.

Files are judged in turns, so that a tenant with many or expensive files does not hold up another.
A tenant is a token; without --tokens it is a client's address, and all clients of a Unix socket
are one.

--limits sets the policy. An address that other machines can reach needs tokens and TLS, unless
--anyone states that something in front of this service provides both.

SIGTERM and SIGINT end the service: /readyz fails, what arrives or waits is answered with 503,
running checks are finished for up to --drain, and 2 seconds later every client is cut. The exit
code is 0, or 1 if a check was not finished. SIGHUP (and RELOAD of clamd's protocol, which also
works on Windows) reads the files of --limits, --tokens, --tls-cert and --tls-key again: if one of
them is wrong, all of the old ones stay, and the log says so.`
}

func (Serve) Examples() []run.Example {
	return []run.Example{
		{Command: "amn serve --listen localhost:8080 --limits strict", What: "A gate for hosts on this machine."},
		{Command: "amn serve --ui --listen localhost:8080", What: "With a page to drop files on, at http://localhost:8080/."},
		{Command: "curl -T model.safetensors 'http://localhost:8080/v1/check?name=model.safetensors'", What: "Ask it."},
		{Command: "curl -F file=@config.json -F file=@model.safetensors http://localhost:8080/v1/check", What: "Ask it about a folder."},
		{Command: "amn serve --clamd unix:clamd.sock --root models", What: "Instead of clamd."},
	}
}

// Validate checks the flags.
func (c *Serve) Validate() error {
	switch {
	case len(c.Listen)+len(c.Clamd) == 0:
		return errors.New("give --listen or --clamd an address to serve on")
	case len(c.Listen) == 0 && (c.Tokens != "" || c.TLSCert != "" || c.TLSKey != "" || c.UI || c.ReceiptKey != ""):
		return errors.New("--tokens, --tls-cert, --tls-key, --ui and --receipt-key need --listen: clamd's protocol has neither tokens, TLS nor receipts")
	case len(c.Clamd) == 0 && c.Root != "":
		return errors.New("--root needs --clamd")
	}
	return nil
}

// Run implements the command.
func (c *Serve) Run(ctx context.Context, s *run.Run) error {
	s.Signals.Serve(c.Drain)
	if c.Isolate {
		if err := c.CanLock(); err != nil {
			return err
		}
	}
	in, err := c.load(s, disk.ReadAgain)
	if err != nil {
		return err
	}
	o, err := c.options(s, in)
	if err != nil {
		return err
	}
	a, err := api.New(o)
	if err != nil {
		return err
	}
	v := newServer(c, s, a, o)
	defer v.close()
	if err := v.open(ctx, o.Version, in); err != nil {
		return errors.Join(err, v.shutdown())
	}
	has := flags.SandboxText() // before the lock: a locked process may not ask the kernel
	if !c.Isolate {            // which starts processes
		err := v.readLater()
		if err == nil {
			err = c.Lock(s, v.needs(o.Dir))
		}
		if err != nil {
			return errors.Join(err, v.shutdown())
		}
	}
	if c.Sandbox == "auto" {
		o.Log.Info("sandbox", "has", has)
	}
	for _, start := range v.start {
		start()
	}
	go v.hangups(v.judging, s.Signals)
	select {
	case <-ctx.Done():
		o.Log.Info("ending", "reason", context.Cause(ctx).Error())
		return v.shutdown()
	case err := <-v.ended:
		return errors.Join(err, v.shutdown())
	}
}

// options returns the options of the API.
func (c *Serve) options(s *run.Run, in *inForce) (o api.Options, err error) {
	o.Gate.Policy, o.Tokens, o.Today = in.policy, in.tokens, func() string { return time.Now().UTC().Format(time.DateOnly) }
	for _, size := range []struct {
		flag, text string
		to         *int64
	}{{"--max-file", c.MaxFile, &o.MaxFile}, {"--spool-size", c.SpoolSize, &o.MaxSpool}, {"--memory", c.Memory, &o.Memory}} {
		if *size.to, err = limits.ParseSize(size.text); err != nil || *size.to <= 0 {
			return o, fault.Usage(fmt.Sprintf("%s %s: give a size such as 1GiB", size.flag, size.text))
		}
	}
	if c.MaxUploads < 1 || c.MaxFiles < 1 || c.PerTenant < 0 || c.Slots < 0 || c.Queue < 1 || c.Idle <= 0 || c.UploadTime <= 0 || c.Drain <= 0 {
		return o, fault.Usage("--max-uploads, --max-files, --per-tenant, --slots, --queue, --idle, --upload-time and --drain must be positive")
	}
	if o.MinRate, err = limits.ParseSize(c.MinRate); err != nil {
		return o, fault.Usage(fmt.Sprintf("--min-rate %s: give a size such as 1KiB, or 0", c.MinRate))
	}
	if o.MinRate == 0 {
		o.MinRate = -1 // no limit
	}
	o.UploadTime, o.MaxFiles = c.UploadTime, c.MaxFiles
	if o.Slots = c.Slots; o.Slots == 0 {
		o.Slots = s.Workers
	}
	o.Dir, o.MaxUploads, o.PerTenant, o.Queue, o.IdleTimeout = c.SpoolDir, c.MaxUploads, c.PerTenant, c.Queue, c.Idle
	o.Log = slog.New(slog.NewTextHandler(s.Err, nil))
	if c.LogJSON || s.JSON {
		o.Log = slog.New(slog.NewJSONHandler(s.Err, nil))
	}
	if c.Isolate {
		one := &Children{c.Sandbox}
		o.Judge, o.JudgeFolder = one.JudgeInChild, one.JudgeFolderInChild
	}
	o.Version = s.Build().Version
	o.Gate.Version, o.UI = o.Version, c.UI
	if c.ReceiptKey != "" {
		text, err := disk.ReadBounded(c.ReceiptKey, attest.MaxBytes)
		if err != nil {
			return o, err
		}
		if o.Receipts, err = receipt.NewSigner(text, c.ReceiptFor, time.Now); err != nil {
			return o, fault.Usage("--receipt-key " + c.ReceiptKey + ": " + err.Error())
		}
	}
	return o, nil
}

// A server serves all addresses.
type server struct {
	cmd     *Serve
	s       *run.Run
	api     *api.API
	gate    gate.Gate // without its policy
	log     *slog.Logger
	ended   chan error
	http    []*http.Server
	clamds  []func() // functions that end the servers of clamd's protocol
	sockets []*socket
	start   []func() // functions that begin to serve, called once the process is locked

	judging context.Context // of all requests; ends when they have had their time
	cut     context.CancelFunc
	cert    atomic.Pointer[tls.Certificate]

	mu    sync.Mutex // one reload at a time
	again func() (reader, error)
	last  []func() // functions that close what is open until the end
}

func newServer(c *Serve, s *run.Run, a *api.API, o api.Options) *server {
	v := &server{cmd: c, s: s, api: a, gate: o.Gate, log: o.Log, again: func() (reader, error) { return disk.ReadAgain, nil }, ended: make(chan error, len(c.Listen)+len(c.Clamd))}
	v.judging, v.cut = context.WithCancel(context.Background())
	return v
}

// close gives back what the server holds.
func (v *server) close() {
	for _, own := range v.sockets {
		own.remove() // a listener that was closed has done so
	}
	v.cut()
	v.api.Close()
	for _, end := range v.last {
		end()
	}
}

// needs returns what the service opens after the lock.
func (v *server) needs(spool string) (n sandbox.Needs) {
	if spool == "" {
		spool = os.TempDir()
	}
	n = sandbox.Needs{Serve: true, Write: []string{spool}}
	if v.cmd.Root != "" {
		n.Read = []string{v.cmd.Root}
	}
	for _, own := range v.sockets {
		n.Remove = append(n.Remove, filepath.Dir(own.path))
	}
	return n
}

// open opens all addresses.
func (v *server) open(ctx context.Context, version string, in *inForce) error {
	var secure *tls.Config
	if in.cert != nil {
		v.cert.Store(in.cert)
		secure = &tls.Config{
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return v.cert.Load(), nil },
			MinVersion:     tls.VersionTLS12,
		}
	}
	for _, addr := range v.cmd.Listen {
		l, err := v.listen(ctx, addr, secure != nil && v.cmd.Tokens != "")
		if err != nil {
			return err
		}
		h := &http.Server{
			Handler: v.api, TLSConfig: secure, ReadHeaderTimeout: v.cmd.Idle, IdleTimeout: 2 * v.cmd.Idle, MaxHeaderBytes: 16 << 10,
			ErrorLog:    slog.NewLogLogger(v.log.Handler(), slog.LevelWarn),
			BaseContext: func(net.Listener) context.Context { return v.judging },
			HTTP2:       &http.HTTP2Config{WriteByteTimeout: v.cmd.Idle},
		}
		v.http = append(v.http, h)
		v.start = append(v.start, func() {
			go func() {
				if secure != nil {
					v.ended <- h.ServeTLS(l, "", "")
				} else {
					v.ended <- h.Serve(l)
				}
			}()
		})
	}
	return v.openClamd(ctx, version)
}

func (v *server) openClamd(ctx context.Context, version string) error {
	var root fs.FS
	dir := ""
	if v.cmd.Root != "" {
		r, err := os.OpenRoot(v.cmd.Root)
		if err != nil {
			return err
		}
		v.last = append(v.last, func() { r.Close() })
		if dir, err = filepath.Abs(v.cmd.Root); err != nil {
			return err
		}
		root, dir = clamd.Below(r), filepath.ToSlash(dir)
	}
	for _, addr := range v.cmd.Clamd {
		l, err := v.listen(ctx, addr, false)
		if err != nil {
			return err
		}
		o := v.api.Gate().Options()
		c := &clamd.Server{
			Host: v.api.Gate().Host(), Root: root, Dir: dir, Version: "anamnesis " + version, Log: v.log, Observe: v.api.Metrics().Observe,
			Idle: o.IdleTimeout, MinRate: o.MinRate, UploadTime: o.UploadTime, Drain: v.cmd.Drain + run.CutTime/4, Reload: v.reload,
		}
		inner, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		v.start = append(v.start, func() {
			v.clamds = append(v.clamds, func() { stop(); <-done })
			go func() {
				defer close(done)
				if err := c.Serve(inner, l); err != nil {
					v.ended <- err
				}
			}()
		})
	}
	return nil
}

// listen opens a Unix socket or a port. A port that other machines can reach must be guarded
// by tokens and TLS, or be allowed by --anyone.
func (v *server) listen(ctx context.Context, addr string, guarded bool) (net.Listener, error) {
	var config net.ListenConfig
	path, isUnix := strings.CutPrefix(addr, "unix:")
	if !isUnix {
		if !guarded && !v.cmd.Anyone && !isLoopback(addr) {
			return nil, fault.Usage(addr + " can be reached by other machines: give --tokens with --tls-cert and --tls-key (HTTP), or --anyone")
		}
		l, err := config.Listen(ctx, "tcp", addr)
		if err == nil {
			v.log.Info("listening", "address", l.Addr().String())
		}
		return l, err
	}
	mode, err := strconv.ParseUint(v.cmd.SocketMode, 8, 9)
	if err != nil {
		return nil, fault.Usage("--socket-mode " + v.cmd.SocketMode + ": give permissions in octal, such as 0660")
	}
	own, err := openSocket(ctx, path, fs.FileMode(mode))
	if err != nil {
		return nil, err
	}
	v.sockets = append(v.sockets, own)
	v.log.Info("listening", "address", addr)
	return own, nil
}

func isLoopback(addr string) bool {
	name, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(name)
	return err == nil && (name == "localhost" || ip != nil && ip.IsLoopback())
}
