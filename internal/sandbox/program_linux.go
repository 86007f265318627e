package sandbox

import "golang.org/x/sys/unix"

const (
	allowed = unix.SECCOMP_RET_ALLOW
	refused = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// audit is what the kernel says of calls of an abi.
var audit = [abis]uint32{amd64: unix.AUDIT_ARCH_X86_64, arm64: unix.AUDIT_ARCH_AARCH64}

// A program is one of classic BPF over the number of a system call and its arguments.
type program []unix.SockFilter

// fails stands for a jump over the rest of an alternative; at the end it gets its length.
const fails = 255

func (p *program) add(code uint16, k uint32, yes, no uint8) {
	*p = append(*p, unix.SockFilter{Code: code, K: k, Jt: yes, Jf: no})
}

func (p *program) ret(k uint32) { p.add(unix.BPF_RET|unix.BPF_K, k, 0, 0) }

// load takes four bytes of what the kernel says of a call.
func (p *program) load(off uint32) { p.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, off, 0, 0) }

// Offsets of the number, the processor, and the halves of an argument. The kernel looks only
// at the low half of what it takes for an int.
const (
	atNumber = 0
	atAudit  = 4
)

func low(arg uint32) uint32  { return 16 + 8*arg }
func high(arg uint32) uint32 { return 16 + 8*arg + 4 }

// A condition adds what goes on if it holds, and else jumps to fails.
type condition func(p *program, pid uint32)

// within holds if the argument has no bit but these.
func within(arg, bits uint32) condition {
	return func(p *program, _ uint32) {
		p.load(low(arg))
		p.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, ^bits, fails, 0)
	}
}

// is holds if the argument is one of these.
func is(arg uint32, values ...uint32) condition { return masked(arg, ^uint32(0), values...) }

// masked holds if these bits of the argument are one of these values.
func masked(arg, bits uint32, values ...uint32) condition {
	return func(p *program, _ uint32) {
		p.load(low(arg))
		if bits != ^uint32(0) {
			p.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, bits, 0, 0)
		}
		for i, v := range values {
			rest := uint8(len(values) - 1 - i)
			if rest == 0 {
				p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, v, 0, fails)
			} else {
				p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, v, rest, 0)
			}
		}
	}
}

// own holds if the argument is this process.
func own(arg uint32) condition {
	return func(p *program, pid uint32) { is(arg, pid)(p, pid) }
}

// nothing holds if the argument is zero, both of its halves.
func nothing(arg uint32) condition {
	return func(p *program, _ uint32) {
		for _, off := range []uint32{low(arg), high(arg)} {
			p.load(off)
			p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, 0, fails)
		}
	}
}

// alternatives is the program that allows a call if one of them holds.
func alternatives(list [][]condition, pid uint32) (p program) {
	for _, conditions := range list {
		var one program
		for _, holds := range conditions {
			holds(&one, pid)
		}
		one.ret(allowed)
		for i := range one {
			for _, jump := range []*uint8{&one[i].Jt, &one[i].Jf} {
				if *jump == fails {
					*jump = uint8(len(one) - 1 - i)
				}
			}
		}
		p = append(p, one...)
	}
	p.ret(refused)
	return p
}

// filterOf is the program for what a process needs. A call of another abi than the
// processor's own ends the process: no runtime asks for one.
func filterOf(n *Needs, on abi, pid uint32) (p program) {
	p.load(atAudit)
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, audit[on], 1, 0)
	p.ret(unix.SECCOMP_RET_KILL_PROCESS)
	p.load(atNumber) // that of x32 is in no list
	for _, c := range calls {
		if nr := c.nr[on]; nr != none && c.any == nil && n.serves(c.use) {
			p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, uint32(nr), 0, 1)
			p.ret(allowed)
		}
	}
	for _, nr := range tooNew {
		p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, uint32(nr[on]), 0, 1)
		p.ret(unknown)
	}
	for _, c := range calls {
		if nr := c.nr[on]; nr != none && c.any != nil && n.serves(c.use) {
			inner := alternatives(c.any, pid)
			p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, uint32(nr), 0, uint8(len(inner)))
			p = append(p, inner...)
		}
	}
	p.ret(refused)
	return p
}
