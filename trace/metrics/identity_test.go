package metrics

import (
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/kubeloupe/kubeloupe/trace"
)

// collect returns the series of a collector.
func collect(c prometheus.Collector) (out []prometheus.Metric) {
	ch := make(chan prometheus.Metric, 4096)
	c.Collect(ch)
	close(ch)
	for m := range ch {
		out = append(out, m)
	}
	return out
}

func series(c prometheus.Collector) int { return len(collect(c)) }

// value is that of the only series.
func value(t *testing.T, c prometheus.Collector) float64 {
	t.Helper()
	all := collect(c)
	if len(all) != 1 {
		t.Fatalf("%d series", len(all))
	}
	var m dto.Metric
	if err := all[0].Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetGauge().GetValue() + m.GetCounter().GetValue()
}

// TestExits has a container whose exit no status shows: it waits for its restart at once, and then runs.
func TestExits(t *testing.T) {
	s, err := New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	status := func(c trace.ContainerStatus) {
		c.Name = "main"
		s.Apply(&trace.Record{Pod: trace.Pod{Namespace: "n", Name: "a", UID: "1"}, Event: &trace.PodStatus{Phase: trace.PodRunning, Containers: []trace.ContainerStatus{c}}})
	}
	exit := func(id string) *trace.ContainerExit {
		return &trace.ContainerExit{ID: id, ExitCode: 3, Reason: "Error", Finished: time.Unix(9, 0)}
	}
	status(trace.ContainerStatus{State: trace.ContainerRunning, ID: "b", Last: exit("a")}) // before this agent
	status(trace.ContainerStatus{State: trace.ContainerWaiting, Reason: "CrashLoopBackOff", ID: "b", Last: exit("b")})
	status(trace.ContainerStatus{State: trace.ContainerRunning, ID: "c", Last: exit("b")})
	status(trace.ContainerStatus{State: trace.ContainerRunning, ID: "d", Last: exit("c")})
	status(trace.ContainerStatus{State: trace.ContainerTerminated, ID: "d", ExitCode: 3, Reason: "Error", Finished: time.Unix(9, 0), Last: exit("c")})
	status(trace.ContainerStatus{State: trace.ContainerWaiting, Reason: "CrashLoopBackOff", ID: "d", Last: exit("d")})
	if got := value(t, s.terminatedContainers); got != 3 {
		t.Errorf("%v exits, want those of b, c and d", got)
	}
}

func TestIdentity(t *testing.T) {
	s, err := New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	if got := value(t, s.identity.client.ttl); !math.IsInf(got, 1) {
		t.Errorf("without a certificate, %v", got)
	}
	s.Apply(&trace.Record{Event: &trace.Agent{Node: "a"}})
	s.Apply(&trace.Record{Event: &trace.Agent{Node: "lab-1"}})
	s.Apply(&trace.Record{Event: &trace.Agent{}})
	s.Apply(&trace.Record{Event: &trace.Certificate{Use: trace.UseClient, NotAfter: time.Now().Add(time.Hour)}})
	s.Apply(&trace.Record{Event: &trace.Certificate{Use: trace.UseServing, NotAfter: time.Now().Add(-time.Hour)}})
	if n, one := series(s.identity.name), value(t, s.identity.name.WithLabelValues("lab-1")); n != 1 || one != 1 {
		t.Errorf("%d names, %v", n, one)
	}
	if got := value(t, s.identity.client.ttl); got < 3590 || got > 3600 {
		t.Errorf("%v seconds, want an hour", got)
	}
}
