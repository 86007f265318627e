package blob

import (
	"crypto/rand"
	"encoding/hex"
)

func random() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
