package crisuite

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func (s *suite) testExecSync(t *testing.T) {
	p := s.run(t)
	id := p.start(t, "sleep 1000")
	exec := func(timeout int64, cmd ...string) (*runtimeapi.ExecSyncResponse, error) {
		return s.Runtime.ExecSync(s.ctx, &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: cmd, Timeout: timeout})
	}
	r, err := exec(10, "sh", "-c", "echo out; echo err >&2; exit 4")
	check(t, err)
	equal(t, "stdout", string(r.GetStdout()), "out\n")
	equal(t, "stderr", string(r.GetStderr()), "err\n")
	equal(t, "exit code", r.GetExitCode(), 4)

	// A file lives from one command to the next.
	r, err = exec(10, "cat", "/tmp/healthy")
	check(t, err)
	equal(t, "exit code without the file", r.GetExitCode(), 1)
	_, err = exec(10, "sh", "-c", "mkdir -p /tmp && touch /tmp/healthy")
	check(t, err)
	r, err = exec(10, "cat", "/tmp/healthy")
	check(t, err)
	equal(t, "exit code with the file", r.GetExitCode(), 0)

	began := time.Now()
	_, err = exec(1, "sleep", "1000")
	wantError(t, err, codes.DeadlineExceeded, "timeout 1s exceeded")
	if d := time.Since(began); d > atOnce {
		t.Errorf("a timeout of one second took %v", d)
	}
	if _, err = exec(10, "nosuchprogram"); err == nil || !strings.Contains(err.Error(), `exec: "nosuchprogram": executable file not found in $PATH`) {
		t.Errorf("exec of a program that does not exist: %v", err)
	}
	s.stop(t, id, 0)
	_, err = exec(10, "true")
	wantError(t, err, codes.Unknown, "container is in CONTAINER_EXITED state")
}

func (s *suite) testLogs(t *testing.T) {
	p := s.run(t)
	id := p.start(t, "echo one; echo two >&2; printf three")
	s.waitExited(t, id)
	path := s.status(t, id).GetLogPath()
	var lines [][]string
	eventually(t, "three lines of log", func() bool {
		b, err := os.ReadFile(path)
		check(t, err)
		lines = nil
		for line := range strings.Lines(string(b)) {
			lines = append(lines, strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4))
		}
		return len(lines) == 3
	})
	slices.SortFunc(lines, func(a, b []string) int { return strings.Compare(a[3], b[3]) }) // the streams race
	for i, want := range []string{"stdout F one", "stdout P three", "stderr F two"} {
		equal(t, "log line", strings.Join(lines[i][1:], " "), want)
		if _, err := time.Parse(time.RFC3339Nano, lines[i][0]); err != nil {
			t.Errorf("time of a log line: %v", err)
		}
	}
	_, err := s.Runtime.ReopenContainerLog(s.ctx, &runtimeapi.ReopenContainerLogRequest{ContainerId: id})
	wantError(t, err, codes.Unknown, "container is not running")

	id = p.start(t, "while true; do echo tick; sleep 0.1; done")
	s.waitLog(t, id, "tick")
	path = s.status(t, id).GetLogPath()
	check(t, os.Rename(path, path+".1"))
	_, err = s.Runtime.ReopenContainerLog(s.ctx, &runtimeapi.ReopenContainerLogRequest{ContainerId: id})
	check(t, err)
	s.waitLog(t, id, "tick")
}

// testCommand: command and arguments replace the image's, the environment is the request's.
func (s *suite) testCommand(t *testing.T) {
	p := s.run(t)
	cfg := p.container("")
	cfg.Command = []string{"echo", "command"}
	cfg.Args = []string{"and", "args"}
	id := p.create(t, cfg)
	check(t, p.tryStart(id))
	s.waitLog(t, id, "stdout F command and args")

	cfg = p.container("")
	cfg.Command, cfg.Args = nil, []string{"echo", "only args"}
	id = p.create(t, cfg)
	check(t, p.tryStart(id))
	s.waitLog(t, id, "stdout F only args")

	cfg = p.container("echo $GREETING from $(hostname)")
	cfg.Envs = []*runtimeapi.KeyValue{{Key: "GREETING", Value: []byte("hello")}}
	id = p.create(t, cfg)
	check(t, p.tryStart(id))
	s.waitLog(t, id, "stdout F hello from "+p.config.GetHostname())
}

func (s *suite) testResources(t *testing.T) {
	p := s.run(t)
	cfg := p.container("sleep 1000")
	cfg.Linux.Resources = &runtimeapi.LinuxContainerResources{CpuShares: 128, MemoryLimitInBytes: 64 << 20}
	id := p.create(t, cfg)
	check(t, p.tryStart(id))
	res := s.status(t, id).GetResources().GetLinux()
	equal(t, "memory limit", res.GetMemoryLimitInBytes(), 64<<20)
	equal(t, "CPU shares", res.GetCpuShares(), 128)
	_, err := s.Runtime.UpdateContainerResources(s.ctx, &runtimeapi.UpdateContainerResourcesRequest{
		ContainerId: id, Linux: &runtimeapi.LinuxContainerResources{MemoryLimitInBytes: 96 << 20},
	})
	check(t, err)
	res = s.status(t, id).GetResources().GetLinux()
	equal(t, "memory limit after the update", res.GetMemoryLimitInBytes(), 96<<20)
	equal(t, "CPU shares after the update", res.GetCpuShares(), 128)
	equal(t, "state after the update", s.status(t, id).GetState(), runtimeapi.ContainerState_CONTAINER_RUNNING)
}

func (s *suite) testUser(t *testing.T) {
	p := s.run(t)
	cfg := p.container("sleep 1000")
	sc := cfg.GetLinux().GetSecurityContext()
	sc.RunAsUser, sc.RunAsGroup = &runtimeapi.Int64Value{Value: 1000}, &runtimeapi.Int64Value{Value: 2000}
	sc.SupplementalGroups = []int64{3000}
	id := p.create(t, cfg)
	check(t, p.tryStart(id))
	user := s.status(t, id).GetUser().GetLinux()
	equal(t, "uid", user.GetUid(), 1000)
	equal(t, "gid", user.GetGid(), 2000)
	equal(t, "groups", fmt.Sprint(user.GetSupplementalGroups()), "[2000 3000]")
}

func (s *suite) testStats(t *testing.T) {
	p := s.run(t)
	id := p.start(t, "sleep 1000")
	r, err := s.Runtime.ContainerStats(s.ctx, &runtimeapi.ContainerStatsRequest{ContainerId: id})
	check(t, err)
	equal(t, "id", r.GetStats().GetAttributes().GetId(), id)
	if r.GetStats().GetMemory().GetWorkingSetBytes().GetValue() == 0 || r.GetStats().GetCpu().GetTimestamp() == 0 {
		t.Errorf("no memory or CPU in %v", r.GetStats())
	}
	list, err := s.Runtime.ListContainerStats(s.ctx, &runtimeapi.ListContainerStatsRequest{Filter: &runtimeapi.ContainerStatsFilter{PodSandboxId: p.id}})
	check(t, err)
	equal(t, "statistics of the pod's containers", len(list.GetStats()), 1)
	s.stop(t, id, 0)
	if _, err = s.Runtime.ContainerStats(s.ctx, &runtimeapi.ContainerStatsRequest{ContainerId: id}); err == nil {
		t.Error("statistics of a container that has exited")
	}
	list, err = s.Runtime.ListContainerStats(s.ctx, &runtimeapi.ListContainerStatsRequest{Filter: &runtimeapi.ContainerStatsFilter{Id: id}})
	check(t, err)
	if len(list.GetStats()) != 1 || list.GetStats()[0].GetCpu() != nil || list.GetStats()[0].GetMemory() != nil {
		t.Errorf("listed statistics of a container that has exited = %v, want its attributes without CPU and memory", list.GetStats())
	}
	pod, err := s.Runtime.PodSandboxStats(s.ctx, &runtimeapi.PodSandboxStatsRequest{PodSandboxId: p.id})
	check(t, err)
	equal(t, "pod", pod.GetStats().GetAttributes().GetId(), p.id)
	_, err = s.Runtime.StopPodSandbox(s.ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: p.id})
	check(t, err)
	_, err = s.Runtime.PodSandboxStats(s.ctx, &runtimeapi.PodSandboxStatsRequest{PodSandboxId: p.id})
	wantError(t, err, codes.Unavailable, "is not in ready state")
}
