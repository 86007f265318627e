package vm

import (
	"strconv"
	"strings"
)

// deviceTypes are the device types of PyTorch (c10/core/DeviceType.cpp of 2.15) and of
// backends that register as its "privateuseone".
const deviceTypes = "cpu cuda ipu xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps meta hpu mtia privateuseone npu mlu musa gcu"

// maxDevice is the highest index that PyTorch does not wrap around.
const maxDevice = 127

// Device parses a device name as PyTorch does: a type, optionally with a colon and an
// index.
func Device(name string) (kind string, numbered, ok bool) {
	kind, number, numbered := strings.Cut(name, ":")
	if !hasName(deviceTypes, kind) {
		return "", false, false
	}
	if numbered {
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n > maxDevice || strconv.Itoa(n) != number {
			return "", false, false
		}
	}
	return kind, numbered, true
}

// isDevice reports whether torch.device takes these arguments, which have the right
// types.
func (m *matcher) isDevice(args ref) bool {
	n := m.g.node(args)
	_, numbered, ok := Device(m.g.text(m.g.elem(n.a)))
	if !ok || n.n < 2 {
		return ok
	}
	number, _ := m.g.int64(m.g.elem(n.a + 1))
	return !numbered && number >= 0 && number <= maxDevice
}
