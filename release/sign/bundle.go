package main

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
)

// Files with the same signatures as bundles, the form that cosign 3 expects.
const (
	sumsBundle       = "SHA256SUMS.sigstore.json"
	provenanceBundle = "provenance.sigstore.json"
)

// bundle writes a bundle of Sigstore for content that is signed by a key alone:
// https://github.com/sigstore/protobuf-specs/blob/main/protos/sigstore_bundle.proto
func bundle(key crypto.PublicKey, content map[string]any) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(der)
	all := map[string]any{
		"mediaType":            "application/vnd.dev.sigstore.bundle.v0.3+json",
		"verificationMaterial": map[string]any{"publicKey": map[string]string{"hint": base64.StdEncoding.EncodeToString(sum[:])}},
	}
	maps.Copy(all, content)
	return json.Marshal(all)
}

// messageSignature is the content of a bundle for a file.
func messageSignature(message, sig []byte) map[string]any {
	sum := sha256.Sum256(message)
	return map[string]any{"messageSignature": map[string]any{
		"messageDigest": map[string]any{"algorithm": "SHA2_256", "digest": sum[:]},
		"signature":     sig,
	}}
}

// dsseEnvelope is the content of a bundle for a statement. Its signature has no identifier of
// a key: cosign computes another one than DSSE's and would pass the signature by.
func dsseEnvelope(envelope []byte) (map[string]any, error) {
	var e struct {
		PayloadType string `json:"payloadType"`
		Payload     []byte `json:"payload"`
		Signatures  []struct {
			Sig []byte `json:"sig"`
		} `json:"signatures"`
	}
	if err := json.Unmarshal(envelope, &e); err != nil {
		return nil, err
	}
	return map[string]any{"dsseEnvelope": e}, nil
}

// bundled holds both bundles against what was checked: they are the same signatures.
func bundled(dist string, key crypto.PublicKey, sums, sig, envelope []byte) error {
	statement, err := dsseEnvelope(envelope)
	if err != nil {
		return err
	}
	for name, content := range map[string]map[string]any{sumsBundle: messageSignature(sums, sig), provenanceBundle: statement} {
		want, err := bundle(key, content)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(dist, name))
		if err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("%s holds another signature", name)
		}
	}
	return nil
}
