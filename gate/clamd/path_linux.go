package clamd

import "golang.org/x/sys/unix"

// pathOnly is the flag of a descriptor that names a file and gives no right to read it.
const pathOnly = unix.O_PATH
