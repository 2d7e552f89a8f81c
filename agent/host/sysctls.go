package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
	"github.com/kubeloupe/kubeloupe/trace"
)

// tunable is a setting of the kernel that a node needs.
type tunable struct {
	name string // a path below /proc/sys
	want int
}

// tunables: memory may be overcommitted, a lack of it kills a process and does not stop the machine, a machine that panics restarts, and the
// runtimes' keys have room.
//
// Upstream: pkg/kubelet/cm/container_manager_linux.go, setupKernelTunables.
func tunables() []tunable {
	return []tunable{
		{"vm/overcommit_memory", 1},
		{"vm/panic_on_oom", 0},
		{"kernel/panic", 10},
		{"kernel/panic_on_oops", 1},
		{"kernel/keys/root_maxkeys", 1_000_000},
		{"kernel/keys/root_maxbytes", 25_000_000},
	}
}

// TuneKernel gives the kernel the settings that a node needs, and publishes what it changed. With protect (protectKernelDefaults) it changes
// nothing: a different value is a RefusedError. proc is /proc. A value that cannot be changed is a warning: the agent may run in a container.
// Upstream does not start then.
func TuneKernel(bus *trace.Bus, proc string, protect bool) error {
	var errs []error
	for _, t := range tunables() {
		path := filepath.Join(proc, "sys", t.name)
		text, err := wholefile.Read(path, wholefile.Small)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without it
		}
		have, wrong := strconv.Atoi(strings.TrimSpace(string(text)))
		if err == nil {
			err = wrong
		}
		if err == nil && have == t.want {
			continue
		}
		name := strings.ReplaceAll(t.name, "/", ".")
		switch {
		case protect && err != nil:
			errs = append(errs, &RefusedError{"protectKernelDefaults", fmt.Sprintf("read %s: %v", name, err)})
		case protect:
			errs = append(errs, &RefusedError{"protectKernelDefaults", fmt.Sprintf("%s is %d; set it to %d (sysctl -w %s=%d), or set protectKernelDefaults: false", name, have, t.want, name, t.want)})
		default:
			tune(bus, path, name, have, t.want)
		}
	}
	return errors.Join(errs...)
}

// tune changes one setting.
func tune(bus *trace.Bus, path, name string, from, to int) {
	attrs := []trace.KV{{K: "name", V: name}, {K: "from", V: strconv.Itoa(from)}, {K: "to", V: strconv.Itoa(to)}}
	l := trace.Log{Level: trace.LevelInfo, Message: "a setting of the kernel is changed (protectKernelDefaults: false)", Attrs: attrs}
	if err := os.WriteFile(path, []byte(strconv.Itoa(to)), 0o644); err != nil {
		l = trace.Log{Level: trace.LevelWarn, Message: "a setting of the kernel cannot be changed", Attrs: append(attrs, errAttr(err)...)}
	}
	trace.Point(bus, trace.Span{}, l)
}
