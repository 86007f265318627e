package corpus

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Draft writes bytes as a recipe without class and offset. Parse refuses it until they are
// filled in.
func Draft(data []byte) string {
	var out strings.Builder
	out.WriteString("# What the file is. What the reference loader of which version does with it.\nexpect: ?\noffset: ?\n--\n")
	for len(data) > 0 {
		n := 0
		switch same, plain := equalPrefix(data), printablePrefix(data); {
		case same >= 16:
			n = same
			fmt.Fprintf(&out, "pad %d", n)
			if data[0] != 0 {
				fmt.Fprintf(&out, " %#x", data[0])
			}
			out.WriteByte('\n')
		case plain >= 4:
			n = min(plain, 80)
			fmt.Fprintf(&out, "str %s\n", strconv.Quote(string(data[:n])))
		default:
			for n < min(len(data), 32) && (n == 0 || equalPrefix(data[n:]) < 16 && printablePrefix(data[n:]) < 4) {
				n++
			}
			fmt.Fprintf(&out, "hex % x\n", data[:n])
		}
		data = data[n:]
	}
	return out.String()
}

func equalPrefix(data []byte) int {
	n := 0
	for n < len(data) && data[n] == data[0] {
		n++
	}
	return n
}

func printablePrefix(data []byte) int {
	n := 0
	for n < len(data) && data[n] >= ' ' && data[n] <= '~' {
		n++
	}
	return n
}

// CrashBytes returns the input in a crash file: the first []byte or string of a file that
// go test wrote, else the file itself.
func CrashBytes(file []byte) ([]byte, error) {
	rest, isGo := bytes.CutPrefix(file, []byte("go test fuzz v1\n"))
	if !isGo {
		return file, nil
	}
	for line := range strings.Lines(string(rest)) {
		line = strings.TrimSpace(line)
		for _, kind := range []string{"[]byte(", "string("} {
			if quoted, ok := strings.CutPrefix(line, kind); ok {
				s, err := strconv.Unquote(strings.TrimSuffix(quoted, ")"))
				return []byte(s), err
			}
		}
	}
	return nil, fmt.Errorf("the crash file has no []byte and no string")
}
