// Command _emu is the first and only process of the emulated machine: it runs
// the tests of package asm, says how they ended on the console, and turns the
// machine off.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

func main() {
	fmt.Printf("emu: exit %d\n", tests())
	// Turning off does not wait for the console.
	f, err := os.OpenFile("/dev/console", os.O_WRONLY, 0)
	if err == nil {
		const drain = 0x5409 // TCSBRK
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), drain, 1)
	}
	err = syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
	fmt.Println("emu: still on:", err)
	select {}
}

// tests is the status that the tests end with. The file args has an argument a
// line, the file env a variable.
func tests() int {
	for _, m := range [][2]string{{"proc", "/proc"}, {"devtmpfs", "/dev"}, {"tmpfs", "/tmp"}} {
		if err := os.MkdirAll(m[1], 0o755); err != nil {
			fmt.Println("emu:", err)
		}
		if err := syscall.Mount(m[0], m[1], m[0], 0, ""); err != nil {
			fmt.Println("emu:", m[1], err)
		}
	}
	c := exec.Command("/asm.test", lines("/args")...)
	c.Env = lines("/env")
	c.Stdout, c.Stderr = os.Stdout, os.Stdout
	if err := c.Run(); err != nil {
		fmt.Println("emu:", err)
	}
	if c.ProcessState == nil {
		return 1
	}
	return c.ProcessState.ExitCode()
}

func lines(name string) []string {
	text, err := os.ReadFile(name)
	if err != nil {
		fmt.Println("emu:", err)
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}
