package node

import (
	"bytes"
	"fmt"
	"os"
)

// Panics returns how often the kernel of the machine has crashed, and where it did last: without KVM, the emulator makes that happen at times.
func (m *Machine) Panics() (n int, last string, err error) {
	text, err := os.ReadFile(m.Console)
	if err != nil {
		return 0, "", err
	}
	const mark = "Kernel panic - not syncing"
	n = bytes.Count(text, []byte(mark))
	if n == 0 {
		return 0, "", nil
	}
	before := text[:bytes.LastIndex(text, []byte(mark))]
	if i := bytes.LastIndex(before, []byte("RIP: 0010:")); i >= 0 { // of the kernel's code
		line, _, _ := bytes.Cut(before[i:], []byte("\n"))
		last = string(bytes.TrimSpace(line))
	}
	return n, last, nil
}

// Crashed is an error if the kernel of the machine has crashed more than before times.
func (m *Machine) Crashed(before int) error {
	n, last, err := m.Panics()
	if err != nil || n <= before {
		return err
	}
	return fmt.Errorf("the machine's kernel has crashed and the machine has started again: %s (see %s)", last, m.Console)
}
