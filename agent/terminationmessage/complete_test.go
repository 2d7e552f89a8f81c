package terminationmessage

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/logs"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

func TestCompleteBy(t *testing.T) {
	end := time.Unix(1000, 0)
	failed := podstate.Container{State: podstate.Exited, ExitCode: 1, FinishedAt: end, TerminationMessagePolicy: string(v1.TerminationMessageFallbackToLogsOnError)}
	fine, running, file, later, cannot := failed, failed, failed, failed, failed
	cannot.Reason, cannot.FinishedAt = "ContainerCannotRun", end.Add(time.Minute)
	fine.ExitCode, running.State, file.TerminationMessagePolicy, later.FinishedAt = 0, podstate.Running, string(v1.TerminationMessageReadFile), end.Add(time.Second)
	for _, c := range []struct {
		name string
		pod  *podstate.Pod
		want time.Time
	}{
		{"nothing is known", nil, time.Time{}},
		{"no log is shown", &podstate.Pod{Containers: []podstate.Container{fine, running, file, cannot}}, time.Time{}},
		{"the last of those that failed", &podstate.Pod{Containers: []podstate.Container{later, failed}}, end.Add(time.Second + logs.Lag)},
	} {
		if got := CompleteBy(c.pod); !got.Equal(c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
