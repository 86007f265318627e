package worker_test

import (
	"crypto/sha256"
	"encoding/hex"
)

func digest(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}
