package attest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// PrivateKey reads a private key in PEM: PKCS #8, or SEC 1 for ECDSA.
func PrivateKey(text []byte) (crypto.Signer, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		var key any
		var err error
		switch block.Type {
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		case "ENCRYPTED PRIVATE KEY":
			return nil, keyError("it has a password")
		default:
			continue // such as EC PARAMETERS
		}
		if err != nil {
			return nil, keyError("%s", err)
		}
		signer, ok := key.(crypto.Signer)
		if !ok {
			return nil, keyError("it is neither Ed25519 nor ECDSA")
		}
		_, err = hashOf(signer.Public())
		return signer, err
	}
	return nil, keyError("there is no private key in PEM form")
}

// PublicKey reads a public key in PEM, as openssl pkey -pubout writes it.
func PublicKey(text []byte) (crypto.PublicKey, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "PUBLIC KEY" {
			continue
		}
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, keyError("%s", err)
		}
		for next, rest := pem.Decode(rest); next != nil; next, rest = pem.Decode(rest) {
			if next.Type == "PUBLIC KEY" {
				return nil, keyError("there are two public keys: a statement is checked with one")
			}
		}
		_, err = hashOf(key)
		return key, err
	}
	return nil, keyError("there is no public key in PEM form (openssl pkey -pubout writes one)")
}

func keyError(format string, args ...any) error {
	return wire.ErrUsage.Errorf("no key that is taken: "+format, args...)
}

// hashOf returns the hash to use with a key, 0 for Ed25519.
func hashOf(key crypto.PublicKey) (crypto.Hash, error) {
	switch k := key.(type) {
	case ed25519.PublicKey:
		if len(k) == ed25519.PublicKeySize {
			return 0, nil
		}
	case *ecdsa.PublicKey:
		if k == nil {
			break
		}
		switch k.Curve {
		case elliptic.P256():
			return crypto.SHA256, nil
		case elliptic.P384():
			return crypto.SHA384, nil
		case elliptic.P521():
			return crypto.SHA512, nil
		}
	}
	return 0, keyError("it is neither Ed25519 nor ECDSA over P-256, P-384 or P-521")
}

// sign signs a message.
func sign(key crypto.Signer, message []byte) ([]byte, error) {
	switch k := key.(type) {
	case nil:
		return nil, keyError("there is none")
	case ed25519.PrivateKey:
		if len(k) != ed25519.PrivateKeySize {
			return nil, keyError("it has %d bytes", len(k))
		}
	case *ecdsa.PrivateKey:
		//lint:ignore SA1019 asks whether the key has a number, because methods of a key without one panic
		if k == nil || k.D == nil {
			return nil, keyError("there is none")
		}
	}
	h, err := hashOf(key.Public())
	if err != nil {
		return nil, err
	}
	return key.Sign(rand.Reader, sum(h, message), h)
}

// verify reports whether the signature of message is valid for key.
func verify(key crypto.PublicKey, message, signature []byte) bool {
	h, err := hashOf(key)
	if err != nil {
		return false
	}
	switch k := key.(type) {
	case ed25519.PublicKey:
		return ed25519.Verify(k, message, signature)
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(k, sum(h, message), signature)
	}
	return false
}

func sum(h crypto.Hash, message []byte) []byte {
	if h == 0 {
		return message
	}
	w := h.New()
	w.Write(message)
	return w.Sum(nil)
}
