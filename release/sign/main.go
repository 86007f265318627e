// Sign signs what release/build.py wrote, with a key that stays where it is:
//
//	go run ./release/sign --key key.pem dist
//
// It writes SHA256SUMS.sig, which openssl takes, the provenance in an envelope of DSSE, and
// both again as bundles of Sigstore, which `cosign verify-blob` and `verify-blob-attestation`
// take with --key. With --verify and a public key it checks all of them, and every file
// against its sum. These files have no sum themselves: release/check.py leaves them out.
package main

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/anamnesis-go/anamnesis/gate/attest"
	"github.com/anamnesis-go/anamnesis/internal/output"
)

func main() {
	key := flag.String("key", "", "a private key (PEM, P-256 or Ed25519), or with --verify a public one")
	verify := flag.Bool("verify", false, "check the signatures, and the files against their sums")
	flag.Parse()
	if flag.NArg() != 1 || *key == "" {
		flag.Usage()
		os.Exit(2)
	}
	run := sign
	if *verify {
		run = check
	}
	if err := run(*key, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "sign:", err)
		os.Exit(1)
	}
}

// sign writes both signatures.
func sign(keyFile, dist string) error {
	text, err := os.ReadFile(keyFile)
	if err != nil {
		return err
	}
	key, err := attest.PrivateKey(text)
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
	if err != nil {
		return err
	}
	if err := whole(dist, sums); err != nil {
		return err
	}
	digest, with := sums, crypto.Hash(0)
	if _, ok := key.Public().(*ecdsa.PublicKey); ok {
		sum := sha256.Sum256(sums)
		digest, with = sum[:], crypto.SHA256
	}
	sig, err := key.Sign(rand.Reader, digest, with)
	if err != nil {
		return err
	}
	statement, err := provenance(dist)
	if err != nil {
		return err
	}
	envelope, err := attest.Sign(statement, key)
	if err != nil {
		return err
	}
	files := map[string][]byte{"provenance.dsse.json": envelope, "SHA256SUMS.sig": []byte(base64.StdEncoding.EncodeToString(sig))}
	if files[sumsBundle], err = bundle(key.Public(), messageSignature(sums, sig)); err != nil {
		return err
	}
	inside, err := dsseEnvelope(envelope)
	if err != nil {
		return err
	}
	if files[provenanceBundle], err = bundle(key.Public(), inside); err != nil {
		return err
	}
	for name, text := range files {
		if err := output.WriteFile(filepath.Join(dist, name), text, output.Options{Force: true}); err != nil {
			return err
		}
	}
	return nil
}

// check is what a receiver does.
func check(keyFile, dist string) error {
	text, err := os.ReadFile(keyFile)
	if err != nil {
		return err
	}
	key, err := attest.PublicKey(text)
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
	if err != nil {
		return err
	}
	line, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS.sig"))
	if err != nil {
		return err
	}
	sig, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(line)))
	if err != nil {
		return err
	}
	if !signed(key, sums, sig) {
		return errors.New("SHA256SUMS is not signed by this key")
	}
	envelope, err := os.ReadFile(filepath.Join(dist, "provenance.dsse.json"))
	if err != nil {
		return err
	}
	inside, err := attest.Open(envelope, key)
	if err != nil {
		return err
	}
	if statement, err := provenance(dist); err != nil || !bytes.Equal(inside, statement) {
		return fmt.Errorf("the signed provenance is another one: %w", err)
	}
	if err := bundled(dist, key, sums, sig, envelope); err != nil {
		return err
	}
	return whole(dist, sums)
}

func signed(key crypto.PublicKey, text, sig []byte) bool {
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		sum := sha256.Sum256(text)
		return ecdsa.VerifyASN1(k, sum[:], sig)
	case ed25519.PublicKey:
		return ed25519.Verify(k, text, sig)
	}
	return false
}

func provenance(dist string) ([]byte, error) {
	found, err := filepath.Glob(filepath.Join(dist, "*_provenance.json"))
	if err != nil || len(found) != 1 {
		return nil, fmt.Errorf("%d statements of provenance in %s", len(found), dist)
	}
	return os.ReadFile(found[0])
}

// whole holds every file against its sum.
func whole(dist string, sums []byte) error {
	for line := range strings.Lines(string(sums)) {
		want, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || !filepath.IsLocal(name) {
			return fmt.Errorf("a line of sums: %q", line)
		}
		data, err := os.ReadFile(filepath.Join(dist, name))
		if err != nil {
			return err
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
			return fmt.Errorf("%s has another sum", name)
		}
	}
	return nil
}
