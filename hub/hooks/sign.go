// Package hooks sends events to other systems, and checks messages from them.
//
// A message has a number, a time, and a signature over both and its body, in the headers of
// Standard Webhooks:
//
//	webhook-id: 17                    the same for every attempt
//	webhook-timestamp: 1790000000     seconds since 1970
//	webhook-signature: v1,BASE64      HMAC-SHA256 of ID.TIMESTAMP.BODY; v1a,BASE64 for Ed25519
//
// A receiver refuses a message without a valid signature, one that is older than five minutes, and
// one whose number it has already received.
//
// A delivery is queued in the transaction of its event, and repeated until the receiver accepts it.
// So a message may arrive twice, but none is lost. See [store.Hooks].
package hooks

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Skew is how old a message may be, or how far its clock ahead.
const Skew = 5 * time.Minute

// A Key signs messages, or checks them: with a secret, or with Ed25519.
type Key struct {
	Secret  []byte
	Private ed25519.PrivateKey // to sign
	Public  ed25519.PublicKey  // to check
}

// minSecret is how many bytes a secret has at least.
const minSecret = 16

// Check returns what is wrong with a key.
func (k *Key) Check() error {
	switch {
	case k.Secret == nil && k.Private == nil && k.Public == nil:
		return errors.New("there is neither a secret nor a key")
	case k.Secret != nil && len(k.Secret) < minSecret:
		return fmt.Errorf("a secret has at least %d bytes", minSecret)
	}
	return nil
}

func signed(id, timestamp string, body []byte) []byte {
	return append([]byte(id+"."+timestamp+"."), body...)
}

func (k *Key) mac(text []byte) []byte {
	h := hmac.New(sha256.New, k.Secret)
	h.Write(text)
	return h.Sum(nil)
}

// Sign sets the headers of a message.
func (k *Key) Sign(h http.Header, id string, now time.Time, body []byte) {
	timestamp := strconv.FormatInt(now.Unix(), 10)
	text := signed(id, timestamp, body)
	var list []string
	if k.Secret != nil {
		list = append(list, "v1,"+base64.StdEncoding.EncodeToString(k.mac(text)))
	}
	if k.Private != nil {
		list = append(list, "v1a,"+base64.StdEncoding.EncodeToString(ed25519.Sign(k.Private, text)))
	}
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", timestamp)
	h.Set("Webhook-Signature", strings.Join(list, " "))
}

// Errors of messages that are refused.
var (
	ErrSignature = errors.New("hooks: the message has no valid signature")
	ErrOld       = errors.New("hooks: the message is too old, or from the future")
)

// Verify returns the number of a message whose signature is valid. Whether the number has come
// before is for the caller to ask.
func (k *Key) Verify(h http.Header, now time.Time, body []byte) (id string, err error) {
	one := func(name string) string {
		if v := h.Values(name); len(v) == 1 {
			return v[0]
		}
		return ""
	}
	id, timestamp := one("Webhook-Id"), one("Webhook-Timestamp")
	if id == "" || len(id) > 256 || strings.ContainsAny(id, ". \t") || timestamp == "" || strings.Trim(timestamp, "0123456789") != "" {
		return "", ErrSignature
	}
	text := signed(id, timestamp, body)
	good := false
	for part := range strings.FieldsSeq(one("Webhook-Signature")) {
		version, encoded, _ := strings.Cut(part, ",")
		sum, err := base64.StdEncoding.DecodeString(encoded)
		switch {
		case err != nil:
		case version == "v1" && k.Secret != nil:
			good = good || hmac.Equal(sum, k.mac(text))
		case version == "v1a" && k.Public != nil:
			good = good || ed25519.Verify(k.Public, text, sum)
		}
	}
	if !good {
		return "", ErrSignature
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if at := time.Unix(seconds, 0); err != nil || at.Before(now.Add(-Skew)) || at.After(now.Add(Skew)) {
		return "", ErrOld
	}
	return id, nil
}
