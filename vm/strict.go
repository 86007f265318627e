package vm

import "github.com/anamnesis-go/anamnesis/internal/wire"

// Violations that a scan notes before it continues. They are made once, since every
// instruction of a flood may have one.
var (
	errArguments      = wire.ErrSyntax.By("pickle.arguments")
	errChangedLater   = wire.ErrSyntax.By("pickle.changed-later")
	errContainsItself = wire.ErrSyntax.By("pickle.contains-itself")
	errFrame          = wire.ErrSyntax.By("pickle.frame")
	errFrameCrossed   = wire.ErrRange.By("pickle.frame-crossed")
	errKey            = wire.ErrSyntax.By("pickle.key")
	errKeyTwice       = wire.ErrDuplicate.By("pickle.key-twice")
	errKeyUnknown     = wire.ErrUnsupported.By("pickle.key-unknown")
	errMemoRange      = wire.ErrRange.By("pickle.memo-range")
	errNumpySize      = wire.ErrMismatch.By("pickle.numpy-size")
	errProtocol       = wire.ErrUnsupported.By("pickle.protocol")
	errProtocolLate   = wire.ErrSyntax.By("pickle.protocol-late")
	errStop           = wire.ErrSyntax.By("pickle.stop")
	errPersistent     = wire.ErrUnsupported.By("pickle.persistent")
	errStorageCount   = wire.ErrRange.By("pickle.storage-count")
	errStorageID      = wire.ErrSyntax.By("pickle.storage-id")
)
