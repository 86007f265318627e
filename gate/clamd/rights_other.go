//go:build !unix

package clamd

import "os"

// rights never come on this system.
type rights struct{}

func (p *pacedConn) takesRights() bool             { return false }
func (p *pacedConn) receive(b []byte) (int, error) { return p.Conn.Read(b) }
func (r *rights) take() (f *os.File, why string)   { return nil, "No file descriptor received" }
func (r *rights) close()                           {}
func readOnly(*os.File) bool                       { return false }
