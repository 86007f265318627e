package main

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/anamnesis-go/anamnesis/gate/receipt"
	"github.com/anamnesis-go/anamnesis/hub/api"
)

// listen opens the address, and returns what serves it, or nil.
func (r *running) listen() (func(context.Context) error, error) {
	c := r.cmd
	if c.Listen == "" {
		return nil, nil
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return nil, usage("--tls-cert and --tls-key need each other")
	}
	if !isLoopback(c.Listen) && (c.Tokens == "" || c.TLSCert == "") {
		return nil, usage(c.Listen + " can be reached by other machines: give --tokens, --tls-cert and --tls-key")
	}
	o, err := r.options()
	if err != nil {
		return nil, err
	}
	in, err := r.readFiles()
	if err != nil {
		return nil, err
	}
	o.Tokens = in.tokens
	r.cert.Store(in.cert)
	if r.api, err = api.New(o); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, err
	}
	r.log.Info("listening", "address", l.Addr().String())
	return r.serve(l), nil
}

// options are those of the interface, without what may be read again.
func (r *running) options() (o api.Options, err error) {
	o = api.Options{Store: r.db, Policies: r.policies, Incoming: r.in, Blobs: r.blob, Gate: r.gate, Budget: r.budget, Log: r.log}
	if r.cmd.ReceiptKey == "" {
		return o, nil
	}
	pem, err := os.ReadFile(r.cmd.ReceiptKey)
	if err != nil {
		return o, err
	}
	if o.Receipts, err = receipt.NewSigner(pem, 10*time.Minute, time.Now); err != nil {
		return o, usage("--receipt-key " + r.cmd.ReceiptKey + ": " + err.Error())
	}
	return o, nil
}

// serve returns what serves a listener until a context ends.
func (r *running) serve(l net.Listener) func(context.Context) error {
	server := &http.Server{
		Handler: r.api, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, WriteTimeout: 5 * time.Hour,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(r.log.Handler(), slog.LevelWarn),
	}
	if r.cmd.TLSCert != "" {
		server.TLSConfig = &tls.Config{
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return r.cert.Load(), nil },
			MinVersion:     tls.VersionTLS12,
		}
	}
	return func(ctx context.Context) error {
		serving := make(chan error, 1)
		go func() {
			if server.TLSConfig != nil {
				serving <- server.ServeTLS(l, "", "")
			} else {
				serving <- server.Serve(l)
			}
		}()
		select {
		case err := <-serving:
			return err
		case <-ctx.Done(): // what has begun may end
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
			defer cancel()
			server.Shutdown(end)
			return nil
		}
	}
}

// drainTime is how long requests and judgements go on that have begun when the program is to end:
// whoever ends it waits 10 s, as Docker does, or longer.
const drainTime = 7 * time.Second

// inForce is what a running service reads again.
type inForce struct {
	tokens map[string]api.Token // nil without --tokens
	cert   *tls.Certificate     // nil without --tls-cert
}

func (r *running) readFiles() (in inForce, err error) {
	if c := r.cmd; c.Tokens != "" {
		text, err := os.ReadFile(c.Tokens)
		if err != nil {
			return in, err
		}
		if in.tokens, err = api.ParseTokens(r.budget, text); err != nil {
			return in, usage("--tokens " + c.Tokens + ": " + err.Error())
		}
	}
	if c := r.cmd; c.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
		if err != nil {
			return in, usage("--tls-cert " + c.TLSCert + ": " + err.Error())
		}
		in.cert = &pair
	}
	return in, nil
}

// reload reads the tokens and the certificate again. If one of them cannot be read, all old ones stay.
func (r *running) reload() {
	if r.api == nil {
		return
	}
	in, err := r.readFiles()
	if err != nil {
		r.log.Error("not reloaded: the old tokens and the old certificate stay", "error", err)
		return
	}
	if r.cmd.Tokens != "" {
		r.api.SetTokens(in.tokens)
	}
	if in.cert != nil {
		r.cert.Store(in.cert)
	}
	r.log.Info("reloaded", "tokens", len(in.tokens), "certificate", in.cert != nil)
}

// isLoopback reports whether only this machine reaches an address.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
