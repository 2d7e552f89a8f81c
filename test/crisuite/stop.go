package crisuite

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// longGrace in seconds is a grace period that no test may use up; atOnce is clearly less.
const (
	longGrace = 60
	atOnce    = 20 * time.Second
)

func (s *suite) testExitCodes(t *testing.T) {
	p := s.run(t)
	for _, tc := range []struct {
		script, reason string
		code           int32
	}{
		{"true", "Completed", 0},
		{"exit 3", "Error", 3},
		{"false || exit 255", "Error", 255},
		{"nosuchprogram", "Error", 127},
	} {
		st := s.waitExited(t, p.start(t, tc.script))
		equal(t, tc.script+": exit code", st.GetExitCode(), tc.code)
		equal(t, tc.script+": reason", st.GetReason(), tc.reason)
		equal(t, tc.script+": message", st.GetMessage(), "")
	}
}

func (s *suite) testOutOfMemory(t *testing.T) {
	p := s.run(t)
	cfg := p.container("")
	cfg.Command = []string{"tail", "/dev/zero"}
	cfg.Linux.Resources.MemoryLimitInBytes = 24 << 20
	id := p.create(t, cfg)
	check(t, p.tryStart(id))
	st := s.waitExited(t, id)
	equal(t, "exit code", st.GetExitCode(), 137)
	equal(t, "reason", st.GetReason(), "OOMKilled")
}

func (s *suite) testStopGraceful(t *testing.T) {
	p := s.run(t)
	id := p.start(t, "trap 'echo bye; exit 7' TERM; echo up; while true; do sleep 0.1; done")
	s.waitLog(t, id, "up")
	began := time.Now()
	s.stop(t, id, longGrace)
	if d := time.Since(began); d > atOnce {
		t.Errorf("stop took %v although the signal was handled", d)
	}
	st := s.status(t, id)
	equal(t, "state after stop", st.GetState(), runtimeapi.ContainerState_CONTAINER_EXITED)
	equal(t, "exit code", st.GetExitCode(), 7)
	equal(t, "reason", st.GetReason(), "Error")
	s.waitLog(t, id, "bye")
}

func (s *suite) testStopIgnored(t *testing.T) {
	p := s.run(t)
	id := p.start(t, "trap '' TERM; echo up; while true; do sleep 0.1; done")
	s.waitLog(t, id, "up")
	began := time.Now()
	s.stop(t, id, 2)
	if d := time.Since(began); d < 2*time.Second {
		t.Errorf("stop took %v, less than the grace period", d)
	}
	st := s.status(t, id)
	equal(t, "exit code", st.GetExitCode(), 137)
	equal(t, "reason", st.GetReason(), "Error")

	// A shell runs its traps between commands, and this one never comes to that.
	id = p.start(t, "trap 'exit 0' TERM; echo up; sleep 1000")
	s.waitLog(t, id, "up")
	s.stop(t, id, 1)
	equal(t, "exit code of a shell that waits for a command", s.status(t, id).GetExitCode(), 137)

	id = p.start(t, "trap '' TERM; sleep 1000")
	began = time.Now()
	s.stop(t, id, 0)
	if d := time.Since(began); d > atOnce {
		t.Errorf("stop without grace took %v", d)
	}
	equal(t, "exit code without grace", s.status(t, id).GetExitCode(), 137)
}

// testStopInit: the first process of a PID namespace ignores a signal that it does not handle; in the pod's PID
// namespace the same program is not the first process, and ends.
func (s *suite) testStopInit(t *testing.T) {
	p := s.run(t)
	cfg := p.container("")
	cfg.Command = []string{"sleep", "1000"}
	id := p.create(t, cfg)
	check(t, p.tryStart(id))
	began := time.Now()
	s.stop(t, id, 2)
	if d := time.Since(began); d < 2*time.Second {
		t.Errorf("stop of an init process took %v, less than the grace period", d)
	}
	equal(t, "exit code of an init process", s.status(t, id).GetExitCode(), 137)

	shared := s.run(t, func(c *runtimeapi.PodSandboxConfig) {
		c.Linux.SecurityContext.NamespaceOptions.Pid = runtimeapi.NamespaceMode_POD
	})
	cfg = shared.container("")
	cfg.Command = []string{"sleep", "1000"}
	cfg.Linux.SecurityContext.NamespaceOptions.Pid = runtimeapi.NamespaceMode_POD
	id = shared.create(t, cfg)
	check(t, shared.tryStart(id))
	began = time.Now()
	s.stop(t, id, longGrace)
	if d := time.Since(began); d > atOnce {
		t.Errorf("stop in the pod's PID namespace took %v", d)
	}
	equal(t, "exit code in the pod's PID namespace", s.status(t, id).GetExitCode(), 143)
}

func (s *suite) testStopSignal(t *testing.T) {
	p := s.run(t)
	cfg := p.container("trap 'exit 1' TERM; trap 'exit 9' USR1; echo up; while true; do sleep 0.1; done")
	cfg.StopSignal = runtimeapi.Signal_SIGNAL_SIGUSR1
	id := p.create(t, cfg)
	check(t, p.tryStart(id))
	s.waitLog(t, id, "up")
	equal(t, "stop signal", s.status(t, id).GetStopSignal(), runtimeapi.Signal_SIGNAL_SIGUSR1)
	s.stop(t, id, longGrace)
	equal(t, "exit code", s.status(t, id).GetExitCode(), 9)
}

// testStopTwice: a second stop with a shorter grace period is not held up by the first.
func (s *suite) testStopTwice(t *testing.T) {
	p := s.run(t)
	id := p.start(t, "trap '' TERM; echo up; while true; do sleep 0.1; done")
	s.waitLog(t, id, "up")
	first := make(chan error, 1)
	go func() {
		_, err := s.Runtime.StopContainer(s.ctx, &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: longGrace})
		first <- err
	}()
	began := time.Now()
	s.stop(t, id, 1)
	check(t, <-first)
	if d := time.Since(began); d > atOnce {
		t.Errorf("both stops took %v", d)
	}
	equal(t, "exit code", s.status(t, id).GetExitCode(), 137)
}

func (s *suite) testStopNotRunning(t *testing.T) {
	p := s.run(t)
	id := p.create(t, p.container("true"))
	s.stop(t, id, 1)
	equal(t, "state of a created container after stop", s.status(t, id).GetState(), runtimeapi.ContainerState_CONTAINER_CREATED)
	check(t, p.tryStart(id))
	before := s.waitExited(t, id)
	s.stop(t, id, longGrace)
	after := s.status(t, id)
	equal(t, "exit code after a stop too late", after.GetExitCode(), 0)
	equal(t, "end time after a stop too late", after.GetFinishedAt(), before.GetFinishedAt())
	s.stop(t, "nosuch", 1)
}

// testStopCancelled: a stop whose context ends before the grace period kills nothing.
func (s *suite) testStopCancelled(t *testing.T) {
	p := s.run(t)
	id := p.start(t, "trap '' TERM; echo up; while true; do sleep 0.1; done")
	s.waitLog(t, id, "up")
	ctx, cancel := context.WithTimeout(s.ctx, time.Second)
	defer cancel()
	_, err := s.Runtime.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: longGrace})
	wantError(t, err, codes.DeadlineExceeded, "")
	equal(t, "state after a cancelled stop", s.status(t, id).GetState(), runtimeapi.ContainerState_CONTAINER_RUNNING)
}

func (s *suite) testStopSandbox(t *testing.T) {
	p := s.run(t)
	created := p.create(t, p.container("true"))
	running := p.start(t, "trap '' TERM; sleep 1000")
	for range 2 { // it may be called again
		began := time.Now()
		_, err := s.Runtime.StopPodSandbox(s.ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: p.id})
		check(t, err)
		if d := time.Since(began); d > atOnce {
			t.Errorf("stopping the sandbox took %v", d)
		}
		equal(t, "exit code of a container that ran", s.status(t, running).GetExitCode(), 137)
		equal(t, "state of a container that did not", s.status(t, created).GetState(), runtimeapi.ContainerState_CONTAINER_CREATED)
		st := s.sandboxStatus(t, p.id)
		equal(t, "sandbox state", st.GetState(), runtimeapi.PodSandboxState_SANDBOX_NOTREADY)
		equal(t, "address", st.GetNetwork().GetIp(), "")
	}
	_, err := p.tryCreate(p.container("true"))
	wantError(t, err, codes.Unknown, "is not running")
	wantError(t, p.tryStart(created), codes.Unknown, "is not running")
	equal(t, "reason after a start too late", s.status(t, created).GetReason(), "StartError")
	_, err = s.Runtime.StopPodSandbox(s.ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: "nosuch"})
	check(t, err)
}

func (s *suite) testRemoveRunning(t *testing.T) {
	p := s.run(t)
	id := p.start(t, "trap '' TERM; sleep 1000")
	for range 2 { // it may be called again
		_, err := s.Runtime.RemoveContainer(s.ctx, &runtimeapi.RemoveContainerRequest{ContainerId: id})
		check(t, err)
		_, err = s.Runtime.ContainerStatus(s.ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
		wantError(t, err, codes.NotFound, id)
	}
	s.events.wait(t, id, runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT)
	equal(t, "events", kinds(s.events.of(id)), "CREATED STARTED STOPPED DELETED")
	_, err := s.Runtime.RemoveContainer(s.ctx, &runtimeapi.RemoveContainerRequest{ContainerId: "nosuch"})
	check(t, err)
}

func (s *suite) testRemoveSandbox(t *testing.T) {
	p := s.run(t)
	id := p.start(t, "trap '' TERM; sleep 1000")
	for range 2 { // it may be called again
		_, err := s.Runtime.RemovePodSandbox(s.ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: p.id})
		check(t, err)
		_, err = s.Runtime.PodSandboxStatus(s.ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: p.id})
		wantError(t, err, codes.NotFound, "")
		_, err = s.Runtime.ContainerStatus(s.ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
		wantError(t, err, codes.NotFound, id)
	}
}
