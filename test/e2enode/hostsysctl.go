package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

// hostSysctls are those that kubelets set for the whole host, whatever namespace they are in.
var hostSysctls = []string{
	"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
}

// sysctls are the values of hostSysctls by their files. One that this kernel lacks is left out.
func sysctls() map[string][]byte {
	values := make(map[string][]byte)
	for _, name := range hostSysctls {
		file := "/proc/sys/" + name
		if value, err := os.ReadFile(file); err == nil {
			values[file] = value
		}
	}
	return values
}

// restoreSysctls writes those that have another value.
func restoreSysctls(values map[string][]byte) error {
	var errs []error
	for file, want := range values {
		have, err := os.ReadFile(file)
		if err == nil && !bytes.Equal(have, want) {
			err = os.WriteFile(file, want, 0o644)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("restore %s: %w", file, err))
		}
	}
	return errors.Join(errs...)
}
