package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestSignedFilesVerifyAndChangedOnesDoNot(t *testing.T) {
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]crypto.Signer{"P-256": p256, "Ed25519": ed} {
		t.Run(name, func(t *testing.T) {
			dir, dist := t.TempDir(), t.TempDir()
			private, public := filepath.Join(dir, "key.pem"), filepath.Join(dir, "key.pub")
			write(t, private, armour(t, "PRIVATE KEY", x509.MarshalPKCS8PrivateKey, any(key)))
			write(t, public, armour(t, "PUBLIC KEY", x509.MarshalPKIXPublicKey, any(key.Public())))
			write(t, filepath.Join(dist, "a_provenance.json"), []byte(`{"_type": "https://in-toto.io/Statement/v1"}`))
			write(t, filepath.Join(dist, "SHA256SUMS"), fmt.Appendf(nil, "%x  a_provenance.json\n", sha256.Sum256([]byte(`{"_type": "https://in-toto.io/Statement/v1"}`))))
			if err := sign(private, dist); err != nil {
				t.Fatal(err)
			}
			if err := check(public, dist); err != nil {
				t.Fatal(err)
			}
			// The place in the envelope is in its payload: a key's identifier is a hint.
			for file, at := range map[string]int{"a_provenance.json": 9, "SHA256SUMS": 9, "SHA256SUMS.sig": 9, "provenance.dsse.json": 70, sumsBundle: 20, provenanceBundle: 70} {
				path := filepath.Join(dist, file)
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				other := append([]byte(nil), text...)
				other[at] ^= 1
				write(t, path, other)
				if check(public, dist) == nil {
					t.Errorf("%s was changed, and the check says nothing", file)
				}
				write(t, path, text)
			}
			write(t, filepath.Join(dist, "SHA256SUMS"), []byte(fmt.Sprintf("%x  ../other\n", sha256.Sum256(nil))))
			if sign(private, dist) == nil {
				t.Error("a name that leads outside is signed")
			}
		})
	}
}

func armour(t *testing.T, kind string, marshal func(any) ([]byte, error), key any) []byte {
	t.Helper()
	der, err := marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
}
