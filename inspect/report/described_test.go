package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/report"
	"github.com/kubeloupe/kubeloupe/trace"
)

// describedNode tells all there is of a node: one certificate that is due, one that has expired, one that there is not.
func describedNode() (*model.Model, time.Time) {
	tp := tape.New()
	day := 24 * time.Hour
	tp.Point(0, trace.Pod{}, 0, &trace.Agent{State: trace.AgentReady, Node: "lab-1", Version: "0.1.0"})
	tp.Point(time.Second, trace.Pod{}, 0, &trace.NodeDescribed{
		Node: "lab-1", OSImage: "Debian GNU/Linux 13 (trixie)", Kernel: "6.12.9", OS: "linux", Architecture: "amd64", KubeletVersion: "v1.37.1+kubeloupe.0.1.0",
		ContainerRuntime: "containerd://2.4.2", CgroupVersion: 2, CgroupDriver: "systemd", Changed: []string{"capacity cpu 4 → 8"},
		Resources: []trace.NodeResource{
			{Name: "cpu", Capacity: "8", Allocatable: "7800m"},
			{Name: "example.com/gpu", Capacity: "1", Allocatable: "1"},
			{Name: "memory", Capacity: "16393244Ki", Allocatable: "15868956Ki"},
		},
		Addresses: []trace.NodeAddress{{Type: "InternalIP", Address: "10.0.0.11"}, {Type: "Hostname", Address: "lab-1"}},
	})
	tp.Point(time.Second, trace.Pod{}, 0, &trace.RuntimeDescribed{
		Handlers: []trace.RuntimeHandler{{RecursiveReadOnlyMounts: true, UserNamespaces: true}, {Name: "gvisor"}},
		Features: &trace.RuntimeFeatures{SupplementalGroupsPolicy: true},
	})
	tp.Point(time.Second, trace.Pod{}, 0, &trace.Certificate{
		Use: "client", Cause: "renewed", Source: "csr", Path: "/pki/kubelet-client-current.pem", Name: "system:node:lab-1", Serial: "7be1", Issuer: "kubernetes",
		NotBefore: tape.Epoch.Add(-90 * day), NotAfter: tape.Epoch.Add(10 * day), Renew: tape.Epoch.Add(-day),
	})
	tp.Point(time.Second, trace.Pod{}, 0, &trace.Certificate{
		Use: "serving", Cause: "start", Source: "file", Path: "/etc/tls.crt", Name: "lab-1\x1b[31m", Names: []string{"lab-1", "10.0.0.11"},
		NotBefore: tape.Epoch.Add(-90 * day), NotAfter: tape.Epoch.Add(-day),
	})
	m := model.New(model.Options{})
	for _, r := range tp.Records() {
		m.Apply(&r)
	}
	return m, tape.Epoch.Add(2 * time.Second)
}

func TestDescribedNode(t *testing.T) {
	m, now := describedNode()
	table, err := report.Make("node", m, report.Args{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "node-described-80.txt", write(t, table, report.Text, 80))
	golden(t, "node-described.txt", write(t, table, report.Wide, 0))
	golden(t, "node-described.yaml", write(t, table, report.YAML, 0))
	same(t, table)
}

// What there is not, and why, is said; what was not told at all is not said to be missing.
func TestNodeWithout(t *testing.T) {
	m := model.New(model.Options{})
	tp := tape.New()
	tp.Point(0, trace.Pod{}, 0, &trace.Certificate{Use: "client", None: "this agent stands alone"})
	tp.Point(0, trace.Pod{}, 0, &trace.RuntimeDescribed{})
	for _, r := range tp.Records() {
		m.Apply(&r)
	}
	table, err := report.Make("node", m, report.Args{Now: tape.Epoch})
	if err != nil {
		t.Fatal(err)
	}
	text := write(t, table, report.Wide, 0)
	for _, want := range []string{"none: this agent stands alone", "Runtime handlers:\n  The runtime names none.", "Capacity:        these records do not say\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
