package say

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
)

// signals are the signals by which containers mostly end, with what they mean there.
var signals = map[int32]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL, an instruction that the processor does not have", 6: "SIGABRT, the program aborted",
	7: "SIGBUS, a bad memory access", 8: "SIGFPE, an arithmetic error", 9: "SIGKILL", 11: "SIGSEGV, a bad memory access", 13: "SIGPIPE",
	15: "SIGTERM", 24: "SIGXCPU, the limit of CPU time", 25: "SIGXFSZ, the limit of a file's size", 31: "SIGSYS, a system call that seccomp forbids",
}

// Code is an exit code with its usual meaning: "exit code 137 (SIGKILL)".
func Code(code int32) string {
	text := "exit code " + strconv.Itoa(int(code))
	switch more := meaning(code); more {
	case "":
		return noise.Of(text)
	default:
		return noise.Of(text + " (" + more + ")")
	}
}

func meaning(code int32) string {
	switch {
	case code == 126:
		return "a command that cannot be executed"
	case code == 127:
		return "a command that was not found"
	case code == 255:
		return "out of range, or the program could not be executed"
	case code > 128 && code < 128+65:
		return cmp.Or(signals[code-128], "signal "+strconv.Itoa(int(code-128)))
	}
	return ""
}

// Exit describes how a container exited, as kubectl describe does in one line: "OOMKilled, exit code 137 (SIGKILL), at 12:03:01, ran for 4s".
func Exit(e *trace.ContainerExit) string {
	text := Code(e.ExitCode)
	if e.Reason != "" && e.Reason != "Error" {
		text = e.Reason + ", " + text
	}
	if at := exitTimes(e.Started, e.Finished); at != "" {
		text += ", " + at
	}
	if e.Message != "" {
		text += ": " + human.Line(e.Message)
	}
	return noise.Of(text)
}

// exitTimes says when a container finished and how long it had run.
func exitTimes(started, finished time.Time) string {
	if finished.Unix() <= 0 {
		return ""
	}
	at := "at " + finished.UTC().Format("15:04:05")
	if started.Unix() > 0 && !finished.Before(started) { // whole seconds
		return fmt.Sprintf("%s, ran for %s", at, human.Duration(finished.Sub(started)))
	}
	return at
}

// Container describes a container's state and its exit before that, as kubectl describe does: "waiting (CrashLoopBackOff), last: ...".
func Container(c *trace.ContainerStatus) string {
	text := string(c.State)
	switch {
	case c.State == trace.ContainerTerminated:
		text += " (" + Exit(&trace.ContainerExit{Reason: c.Reason, Message: c.Message, ExitCode: c.ExitCode, Started: c.Started, Finished: c.Finished}) + ")"
	case c.Reason != "" && c.Message != "":
		text += " (" + c.Reason + ": " + human.Line(c.Message) + ")"
	case c.Reason != "":
		text += " (" + c.Reason + ")"
	case c.State == trace.ContainerRunning && c.Started.Unix() > 0:
		text += " since " + c.Started.UTC().Format("15:04:05")
	}
	if c.Last != nil {
		text += "; last " + Exit(c.Last)
	}
	if c.Restarts > 0 {
		text += fmt.Sprintf("; restarts: %d", c.Restarts)
	}
	return noise.Of(text)
}
