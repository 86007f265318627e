package clamd

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/internal/pace"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// maxCommand bounds a command with its path.
const maxCommand = 8 << 10

// A conn is a connected client.
type conn struct {
	*Server

	c       *pacedConn
	in      *bufio.Reader
	ctx     context.Context // ends with the server
	judging context.Context // ends later
	tenant  string
	end     byte // terminator of commands and answers
	session bool
	number  int // of the command in a session
}

// serveConn serves a client until it leaves or the server ends: ctx ends reading and
// writing, judging the judgements.
func (s *Server) serveConn(ctx, judging context.Context, c net.Conn) {
	p := newPacedConn(ctx, c)
	defer p.close()
	defer func() {
		if p := recover(); p != nil { // a bug ends this connection, not the service, and is no answer
			s.Log.Error("panic", "error", wire.Clean(fmt.Sprint(p), 512))
		}
	}()
	p.out = s.rule().Meter()
	k := &conn{Server: s, c: p, in: bufio.NewReaderSize(p, maxCommand), ctx: ctx, judging: judging, tenant: "clamd"}
	if from := host.AddressTenant(c.RemoteAddr().String()); from != "" {
		k.tenant = from
	}
	for ctx.Err() == nil {
		again, err := k.serveCommand()
		if err != nil || !again || !k.session {
			return
		}
	}
}

// rule returns how slowly a stream and the answers may pass.
func (s *Server) rule() pace.Rule {
	return pace.Rule{Idle: s.Idle, Rate: s.MinRate, Window: 10 * time.Second, Total: s.UploadTime}
}

var errTooLong = errors.New("the command is too long")

// serveCommand reads one command and answers it. It returns false if it was the last.
func (k *conn) serveCommand() (bool, error) {
	k.c.in = pace.Rule{Idle: k.Idle, Total: k.Idle}.Meter()
	text, err := k.readCommand()
	k.c.in = k.rule().Meter()
	if err == errTooLong {
		err := k.answer("The command is too long. ERROR")
		k.drain(k.in)
		return false, err
	}
	if err != nil {
		return false, err
	}
	k.number++
	name, arg, _ := strings.Cut(text, " ")
	switch name {
	case "PING":
		return true, k.answer("PONG")
	case "VERSION":
		return true, k.answer(k.Version)
	case "VERSIONCOMMANDS":
		return true, k.answer(k.Version + "| COMMANDS: SCAN CONTSCAN MULTISCAN ALLMATCHSCAN INSTREAM FILDES RELOAD PING VERSION VERSIONCOMMANDS STATS IDSESSION END")
	case "STATS":
		return true, k.answer(k.statsText())
	case "IDSESSION":
		k.session, k.number = true, 0
		return true, nil
	case "END":
		return false, nil
	case "INSTREAM":
		return k.stream()
	case "FILDES":
		return k.fildes()
	case "RELOAD":
		return true, k.answer(k.reload())
	case "SCAN", "CONTSCAN", "MULTISCAN", "ALLMATCHSCAN":
		return true, k.scan(arg, name != "SCAN")
	}
	return false, k.answer("UNKNOWN COMMAND ERROR")
}

// readCommand reads a command up to its newline, or up to a zero byte after the prefix z.
func (k *conn) readCommand() (string, error) {
	first, err := k.in.ReadByte()
	if err != nil {
		return "", err
	}
	text := ""
	switch first {
	case 'n':
		k.end = '\n'
	case 'z':
		k.end = 0
	default:
		if k.session {
			return "", errors.New("a command of a session has a prefix")
		}
		k.end, text = '\n', string(first)
	}
	line, err := k.in.ReadSlice(k.end)
	if err == bufio.ErrBufferFull {
		return "", errTooLong
	}
	if err != nil && !(err == io.EOF && len(line)+len(text) > 0 && !k.session) {
		return "", err
	}
	text += strings.TrimSuffix(string(line), string(k.end))
	return strings.TrimSuffix(text, "\r"), nil
}

// answer writes one answer.
func (k *conn) answer(text string) error {
	if k.session {
		text = fmt.Sprintf("%d: %s", k.number, text)
	}
	_, err := io.WriteString(k.c, text+string(k.end))
	return err
}

// A chunkReader reads the body of INSTREAM: chunks with their lengths, up to an empty
// one.
type chunkReader struct {
	in   *bufio.Reader
	left int64
	done bool
}

func (c *chunkReader) Read(p []byte) (int, error) {
	for c.left == 0 {
		if c.done {
			return 0, io.EOF
		}
		var n [4]byte
		if _, err := io.ReadFull(c.in, n[:]); err == io.EOF {
			return 0, io.ErrUnexpectedEOF // the empty chunk is missing
		} else if err != nil {
			return 0, err
		}
		if c.left = int64(binary.BigEndian.Uint32(n[:])); c.left == 0 {
			c.done = true
		}
	}
	n, err := c.in.Read(p[:min(int64(len(p)), c.left)])
	if c.left -= int64(n); err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// stream judges the file that a client sends.
func (k *conn) stream() (bool, error) {
	body := &chunkReader{in: k.in}
	text, err := k.judge("stream", func(u *host.Upload) error { return u.Spool(body, -1) })
	if err != nil {
		if !body.done {
			return false, err // the client left, or sent an invalid chunk: it gets no answer
		}
		text = "not judged: " + wire.Clean(err.Error(), 256) + ". ERROR"
	}
	if err := k.answer("stream: " + text); err != nil {
		return false, err
	}
	if !body.done {
		k.drain(body)
		return false, nil
	}
	return true, nil
}

// drained bounds how many bytes are read after a refusal. A client that writes everything
// before it reads still gets its answer.
const drained = 64 << 20

func (k *conn) drain(body io.Reader) {
	if half, ok := k.c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_, _ = io.CopyN(io.Discard, body, drained)
}

// judge returns the answer about one file: OK, FOUND or ERROR. The error is that of
// reading from the client.
func (k *conn) judge(name string, take func(*host.Upload) error) (string, error) {
	u, err := k.Host.Begin(k.tenant)
	if err != nil {
		return wire.Clean(err.Error(), 256) + ". ERROR", nil
	}
	defer u.Close()
	u.Beside = true
	if name != "stream" && name != descriptor {
		u.Name = name[strings.LastIndexByte(name, '/')+1:]
	}
	began := time.Now()
	if err := take(u); err != nil {
		if _, ok := errors.AsType[*host.TooLarge](err); ok {
			return "Anamnesis.limit.file FOUND", nil
		}
		if _, ok := errors.AsType[*host.Busy](err); ok {
			return wire.Clean(err.Error(), 256) + ". ERROR", nil
		}
		return "", err
	}
	spooled := time.Now()
	if _, err := u.Judge(k.judging); err != nil {
		return "not judged: " + wire.Clean(err.Error(), 256) + ". ERROR", nil
	}
	return k.report(u, k.tenant, name, spooled.Sub(began), time.Since(spooled)), nil
}
