package tensor

import (
	"sync"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A Keeper is a model whose memory is charged to accounts that end with it. [File] and
// [Sharded] are.
type Keeper interface {
	// Keep gives the model an account to close.
	Keep(*limits.Budget)
}

// keeper implements Keeper.
type keeper struct {
	mu       sync.Mutex
	accounts []*limits.Budget
	closed   bool
}

// Keep implements [Keeper]. If the model is closed already, so is the account.
func (k *keeper) Keep(b *limits.Budget) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		b.Close()
		return
	}
	k.accounts = append(k.accounts, b)
}

// letGo closes the accounts.
func (k *keeper) letGo() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	for _, b := range k.accounts {
		b.Close()
	}
	k.accounts = nil
}
