package cli

import (
	"bytes"
	"crypto/tls"
	"errors"
	"strings"

	"github.com/anamnesis-go/anamnesis/gate"
)

// inForce is what a service reads again: its policy, tokens and certificate.
type inForce struct {
	policy gate.Policy
	tokens []string
	cert   *tls.Certificate
}

// files are the files that hold what is in force.
func (c *serveCmd) files(s *session) (list []string) {
	if isPolicyFile(s.flags.Limits) {
		list = append(list, s.flags.Limits)
	}
	for _, name := range []string{c.Tokens, c.TLSCert, c.TLSKey} {
		if name != "" {
			list = append(list, name)
		}
	}
	return list
}

// isPolicyFile reports whether --limits names a file.
func isPolicyFile(arg string) bool {
	_, profile := gate.Profile(arg)
	return arg != "" && !profile
}

// load reads all of it, or nothing.
func (c *serveCmd) load(s *session, read func(name string) ([]byte, error)) (*inForce, error) {
	in := &inForce{policy: s.gatePolicy}
	in.policy.Limits = s.policy
	if name := s.flags.Limits; isPolicyFile(name) {
		text, err := read(name)
		if err == nil {
			in.policy, err = gate.ReadPolicy(bytes.NewReader(text))
		}
		if err == nil {
			err = s.flags.Ceilings.apply(&in.policy.Limits)
		}
		if err != nil {
			return nil, usage{"--limits " + name + ": " + err.Error()}
		}
	}
	if c.Tokens != "" {
		text, err := read(c.Tokens)
		if err != nil {
			return nil, err
		}
		if in.tokens = strings.Fields(string(text)); len(in.tokens) == 0 {
			return nil, usage{"--tokens " + c.Tokens + ": the file has no token"}
		}
	}
	if c.TLSCert != "" || c.TLSKey != "" {
		cert, err := read(c.TLSCert)
		key, err2 := read(c.TLSKey)
		pair := tls.Certificate{}
		if err = errors.Join(err, err2); err == nil {
			pair, err = tls.X509KeyPair(cert, key)
		}
		if err != nil {
			return nil, usage{"--tls-cert, --tls-key: " + err.Error()}
		}
		in.cert = &pair
	}
	return in, nil
}

// reload puts in force what the files say now. If anything is wrong with one of them,
// everything stays as it is.
func (v *server) reload() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	in, err := v.cmd.load(v.s, v.read)
	g := v.gate
	if err == nil {
		g.Policy = in.policy
		err = v.api.Reload(g, in.tokens)
	}
	if err != nil {
		v.log.Error("not reloaded: the old policy, tokens and certificate stay", "error", tidy(err.Error(), 1024))
		return err
	}
	v.cert.Store(in.cert)
	digest, _ := in.policy.Digest() // the gate has computed it
	attrs := []any{"policy", digest, "tokens", len(in.tokens)}
	if in.cert != nil && in.cert.Leaf != nil {
		attrs = append(attrs, "certificate_until", in.cert.Leaf.NotAfter.UTC().Format("2006-01-02"))
	}
	v.log.Info("reloaded", attrs...)
	return nil
}

// readLater makes the process able to read its files again once it is locked.
func (v *server) readLater() error {
	list := v.cmd.files(v.s)
	if !v.s.ownProcess || v.cmd.Sandbox == "off" || len(list) == 0 {
		return nil
	}
	r, err := newReread(list, v.cmd.Sandbox)
	if err != nil {
		return err
	}
	v.read = r.file
	v.last = append(v.last, r.close)
	return nil
}
