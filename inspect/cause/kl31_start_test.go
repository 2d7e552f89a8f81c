package cause_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	ociFailed = "start container web: rpc error: code = Unknown desc = failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: "
	notInPath = ociFailed + `exec: "serve": executable file not found in $PATH`
)

// startFails adds a step of web that failed.
func startFails(s *casetest.Script, at time.Duration, id string, verb trace.Verb, code, err string) {
	s.Action(at, at+100*ms, trace.Action{ID: id, Verb: verb, Container: "web", Code: code, Err: err})
}

func TestCannotStart(t *testing.T) {
	run(t, "KL31", []script{
		{
			name: "not in PATH", now: 9 * sec, cost: 8 * sec, current: true, want: "container web cannot be started: its program is not in the container, or not in PATH (it failed twice): ",
			write: func(s *casetest.Script) {
				startFails(s, sec, "start web", trace.VerbStart, "RunContainerError", notInPath)
				startFails(s, 2*sec, "start web", trace.VerbStart, "RunContainerError", notInPath)
			},
		},
		{
			name: "as its status tells it", now: 9 * sec, cost: 8 * sec, current: true, want: "container web cannot be started: its program must not be executed",
			write: func(s *casetest.Script) {
				s.Point(sec, 0, &trace.PodStatus{Phase: trace.PodPending, Total: 1, Containers: []trace.ContainerStatus{{
					Name: "web", State: trace.ContainerWaiting, Reason: "CrashLoopBackOff", Restarts: 3,
					Last: &trace.ContainerExit{Reason: "StartError", Class: trace.FailStartDenied, ExitCode: 128, Message: "permission denied"},
				}}})
			},
		},
		{
			name: "a mount inside a read-only volume, with long paths", now: 9 * sec, cost: 8 * sec, current: true,
			want: "container web cannot be started: its root file system or a volume is read-only, and a directory must be created there: ... mkdirat /run/" + strings.Repeat("x", 80) + "/rootfs/data/cache: read-only file system",
			write: func(s *casetest.Script) {
				startFails(s, sec, "start web", trace.VerbStart, "RunContainerError", ociFailed+`error mounting "/var/lib/kubelet/pods/`+strings.Repeat("u", 80)+`" to rootfs at "/data/cache": create mountpoint for /data/cache mount: make mountpoint "/data/cache": mkdirat /run/`+strings.Repeat("x", 80)+`/rootfs/data/cache: read-only file system`)
			},
		},
		{
			name: "until it could", cost: 2 * sec, want: "container web cannot be started: a mount cannot be made in it",
			write: func(s *casetest.Script) {
				startFails(s, sec, "start web", trace.VerbStart, "RunContainerError", ociFailed+`error mounting "/a" to rootfs at "/b": not a directory`)
				s.Wait(1100*ms, 3*sec, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}, Reason: "RunContainerError"})
				s.Action(3*sec, 3100*ms, trace.Action{ID: "start web", Verb: trace.VerbStart, Container: "web"})
				s.Started(3100 * ms)
			},
		},
		{
			name: "not: the runtime does not answer", now: 9 * sec,
			write: func(s *casetest.Script) {
				startFails(s, sec, "start web", trace.VerbStart, "RunContainerError", "start container web: rpc error: code = DeadlineExceeded desc = context deadline exceeded")
			},
		},
		{
			name: "not: its Secret is missing", now: 9 * sec,
			write: func(s *casetest.Script) {
				startFails(s, sec, "create web", trace.VerbCreate, "CreateContainerConfigError", `container web: env: secret "keys" not found`)
			},
		},
		{
			name: "not: it ran, and exited with 128", now: 9 * sec,
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				s.Point(sec, 0, &trace.PodStatus{Phase: trace.PodRunning, Total: 1, Containers: []trace.ContainerStatus{{
					Name: "web", State: trace.ContainerTerminated, Reason: "Error", ExitCode: 128, Message: notInPath,
				}}})
			},
		},
	})
}

func TestSecurityContext(t *testing.T) {
	run(t, "KL36", []script{
		{
			name: "runs as root", now: 9 * sec, cost: 8 * sec, current: true, want: "container web cannot be started: runAsNonRoot is set, and its image runs as root",
			write: func(s *casetest.Script) {
				startFails(s, sec, "create web", trace.VerbCreate, "CreateContainerConfigError", "container web: securityContext.runAsNonRoot: container has runAsNonRoot and image will run as root: set securityContext.runAsUser")
			},
		},
		{
			name: "a name", now: 9 * sec, cost: 8 * sec, current: true, want: "container web cannot be started: runAsNonRoot is set, and the user of its image is a name",
			write: func(s *casetest.Script) {
				startFails(s, sec, "create web", trace.VerbCreate, "CreateContainerConfigError", "container web: securityContext.runAsNonRoot: container has runAsNonRoot and image has non-numeric user (www), cannot verify user is non-root")
			},
		},
		{
			name: "AppArmor", now: 9 * sec, cost: 8 * sec, current: true, want: "container web cannot be started: its AppArmor profile cannot be applied",
			write: func(s *casetest.Script) {
				startFails(s, sec, "start web", trace.VerbStart, "RunContainerError", ociFailed+"unable to apply apparmor profile: apparmor failed to apply profile: write /proc/self/attr/apparmor/exec: no such file or directory")
			},
		},
		{
			name: "not: a program with such a name", now: 9 * sec,
			write: func(s *casetest.Script) {
				startFails(s, sec, "start web", trace.VerbStart, "RunContainerError", ociFailed+`exec: "run as root": executable file not found in $PATH`)
			},
		},
	})
}
