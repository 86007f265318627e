package vm

import "github.com/anamnesis-go/anamnesis/internal/wire"

// Violations that a scan notes before it continues. They are made once, since every
// instruction of a flood may have one.
var (
	errArguments      = wire.ErrSyntax.WithRule("pickle.arguments")
	errChangedLater   = wire.ErrSyntax.WithRule("pickle.changed-later")
	errContainsItself = wire.ErrSyntax.WithRule("pickle.contains-itself")
	errFrame          = wire.ErrSyntax.WithRule("pickle.frame")
	errFrameCrossed   = wire.ErrRange.WithRule("pickle.frame-crossed")
	errKey            = wire.ErrSyntax.WithRule("pickle.key")
	errKeyTwice       = wire.ErrDuplicate.WithRule("pickle.key-twice")
	errKeyHash        = wire.ErrRange.WithRule("pickle.key-hash")
	errKeyUnknown     = wire.ErrUnsupported.WithRule("pickle.key-unknown")
	errMemoRange      = wire.ErrRange.WithRule("pickle.memo-range")
	errNumpyText      = wire.ErrText.WithRule("pickle.numpy-text")
	errNumpySize      = wire.ErrMismatch.WithRule("pickle.numpy-size")
	errProtocol       = wire.ErrUnsupported.WithRule("pickle.protocol")
	errProtocolLate   = wire.ErrSyntax.WithRule("pickle.protocol-late")
	errStop           = wire.ErrSyntax.WithRule("pickle.stop")
	errPersistent     = wire.ErrUnsupported.WithRule("pickle.persistent")
	errStorageCount   = wire.ErrRange.WithRule("pickle.storage-count")
	errStorageID      = wire.ErrSyntax.WithRule("pickle.storage-id")
)
