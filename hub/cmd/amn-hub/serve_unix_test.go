//go:build unix

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// certificateOf returns the PEM of a certificate that signs itself, and of its key.
func certificateOf(t *testing.T, serial int64) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, &about, &about, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// tokensOf returns the text of a file of tokens in which one may read.
func tokensOf(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return fmt.Appendf(nil, `[{"sha256":"%s","tenant":"acme","roles":["read"]}]`, hex.EncodeToString(sum[:]))
}

// SIGHUP takes new tokens and a new certificate, and all of the old ones stay if one cannot be read.
func TestAServiceReadsItsFilesAgain(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(at(name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put := func(serial int64, token string) {
		t.Helper()
		cert, key := certificateOf(t, serial)
		write("cert", cert)
		write("key", key)
		write("tokens", tokensOf(token))
	}
	put(1, "first")
	cmd, address, mu, log := service(t, "--db", at("hub.db"), "--tokens", at("tokens"), "--tls-cert", at("cert"), "--tls-key", at("key"))
	hup := func(says string, times int) {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			mu.Lock()
			n, text := strings.Count(log.String(), says), log.String()
			mu.Unlock()
			if n == times {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d times %q:\n%s", n, says, text)
			}
		}
	}
	serves := func(serial int64, token string, status int) {
		t.Helper()
		var got int64
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, VerifyConnection: func(c tls.ConnectionState) error { got = c.PeerCertificates[0].SerialNumber.Int64(); return nil },
		}}}
		r, err := http.NewRequest("GET", "https://"+address+"/v1/events", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != status || got != serial {
			t.Errorf("%s: %d by certificate %d, want %d by %d", token, resp.StatusCode, got, status, serial)
		}
	}
	serves(1, "first", http.StatusOK)
	put(2, "second")
	hup("msg=reloaded", 1)
	serves(2, "second", http.StatusOK)
	serves(2, "first", http.StatusUnauthorized)

	put(3, "third")
	write("key", []byte("no key"))
	hup("not reloaded", 1)
	serves(2, "second", http.StatusOK)
	serves(2, "third", http.StatusUnauthorized)

	put(4, "fourth")
	write("tokens", []byte("[{"))
	hup("not reloaded", 2)
	serves(2, "second", http.StatusOK)

	put(5, "fifth")
	hup("msg=reloaded", 2)
	serves(5, "fifth", http.StatusOK)
}
