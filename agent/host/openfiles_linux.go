package host

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/trace"
)

// enoughFiles is a limit of open files that no node of ordinary size reaches.
const enoughFiles = 65536

// RaiseOpenFiles sets the configured limit of open files. If this is not permitted, the agent runs with the existing limit. It
// warns if the configured limit is higher, or if the existing one is low.
func RaiseOpenFiles(bus *trace.Bus, want int64, asked bool) {
	var have unix.Rlimit
	if want <= 0 || unix.Getrlimit(unix.RLIMIT_NOFILE, &have) != nil || have.Cur >= uint64(want) {
		return
	}
	target := unix.Rlimit{Cur: uint64(want), Max: max(have.Max, uint64(want))}
	if unix.Setrlimit(unix.RLIMIT_NOFILE, &target) == nil {
		return
	}
	target = unix.Rlimit{Cur: have.Max, Max: have.Max}
	err := unix.Setrlimit(unix.RLIMIT_NOFILE, &target)
	trace.Point(bus, trace.Span{}, trace.Log{
		Level: openFilesLevel(target.Cur, asked), Message: fmt.Sprintf("maxOpenFiles %d is not permitted here; the limit is %d", want, target.Cur), Attrs: errAttr(err),
	})
}

// openFilesLevel returns the log level for a limit below the configured one. Most machines refuse the default without
// CAP_SYS_RESOURCE.
func openFilesLevel(limit uint64, asked bool) trace.LogLevel {
	if asked || limit < enoughFiles {
		return trace.LevelWarn
	}
	return trace.LevelDebug
}
