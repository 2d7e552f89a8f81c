package agent

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/trace"
)

// raiseOpenFiles asks for the configured open-files limit; where that is not
// permitted the agent runs with what it has and says so.
func raiseOpenFiles(bus *trace.Bus, want int64) {
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
		Level: "warn", Message: fmt.Sprintf("maxOpenFiles %d is not permitted here; the limit is %d", want, target.Cur), Attrs: errAttr(err),
	})
}

func errAttr(err error) []trace.KV {
	if err == nil {
		return nil
	}
	return []trace.KV{{K: "error", V: err.Error()}}
}
