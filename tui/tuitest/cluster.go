package tuitest

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Cluster is a node of a cluster: pods with volumes, probes and statuses in the API. At the end the API server does
// not answer, one pod waits for a volume to be attached, one volume changes hands and one cannot be mounted.
func Cluster() []trace.Record {
	s := &Script{}
	s.Point(0, Span{}, &trace.Agent{State: trace.AgentStarting, Node: "lab-1", Version: "0.1.0", PID: 4711})
	s.Point(40*ms, Span{}, &trace.Agent{
		State: trace.AgentReady, Node: "lab-1", Runtime: "containerd", RuntimeVersion: "2.4.2", Endpoint: "unix:///run/containerd/containerd.sock",
	})
	s.Point(41*ms, Span{}, &trace.PLEGMode{Mode: "evented", Reason: "the runtime streams container events"})
	n := &nodeScript{Script: s}
	n.described()
	n.server()
	for i := range 4 {
		n.member(fmt.Sprintf("web-%02d", i), time.Duration(i+1)*time.Second)
	}
	n.attaching(60 * time.Second)
	n.chowning(70 * time.Second)
	n.unmountable(50 * time.Second)
	return s.Records()
}

// described is what the node is, and its certificates, of which the serving one is to be renewed.
func (n *nodeScript) described() {
	n.Point(15*ms, Span{}, &trace.Certificate{Use: "serving", None: "none yet: it is requested from the API server"})
	n.Point(16*ms, Span{}, &trace.RuntimeDescribed{
		Handlers: []trace.RuntimeHandler{{RecursiveReadOnlyMounts: true, UserNamespaces: true}, {Name: "gvisor"}, {Name: "runc", RecursiveReadOnlyMounts: true, UserNamespaces: true}},
		Features: &trace.RuntimeFeatures{SupplementalGroupsPolicy: true},
	})
	d := trace.NodeDescribed{
		Node: "lab-1", OSImage: "Debian GNU/Linux 13 (trixie)", Kernel: "6.12.9-amd64", OS: "linux", Architecture: "amd64",
		KubeletVersion: "v1.37.1+kubeloupe.0.1.0", ContainerRuntime: "containerd://2.4.2", CgroupVersion: 2, CgroupDriver: "systemd",
		Resources: []trace.NodeResource{
			{Name: "cpu", Capacity: "4", Allocatable: "3800m"},
			{Name: "ephemeral-storage", Capacity: "102400Mi", Allocatable: "96636764160"},
			{Name: "hugepages-1Gi", Capacity: "0", Allocatable: "0"},
			{Name: "memory", Capacity: "16393244Ki", Allocatable: "15868956Ki"},
			{Name: "pods", Capacity: "110", Allocatable: "110"},
		},
		Addresses: []trace.NodeAddress{{Type: "InternalIP", Address: "10.0.0.11"}, {Type: "Hostname", Address: "lab-1"}},
	}
	n.Point(28*ms, Span{}, &d)
	grown := d
	grown.Resources = append([]trace.NodeResource{}, d.Resources...)
	grown.Resources[0] = trace.NodeResource{Name: "cpu", Capacity: "8", Allocatable: "7800m"}
	grown.Changed = []string{"capacity cpu 4 → 8", "allocatable cpu 3800m → 7800m"}
	n.Point(40*time.Second, Span{}, &grown)
	n.Point(17*ms, Span{}, &trace.Certificate{
		Use: "client", Cause: "start", Source: "csr", Path: "/var/lib/kubelet/pki/kubelet-client-current.pem", Name: "system:node:lab-1", Issuer: "kubernetes",
		Serial: "7be1", NotBefore: Epoch.Add(-100 * 24 * time.Hour), NotAfter: Epoch.Add(265 * 24 * time.Hour), Renew: Epoch.Add(190 * 24 * time.Hour),
	})
	n.Point(18*ms, Span{}, &trace.Certificate{
		Use: "serving", Cause: "start", Source: "csr", Path: "/var/lib/kubelet/pki/kubelet-server-current.pem", Name: "system:node:lab-1", Issuer: "kubernetes",
		Serial: "7be2", Names: []string{"lab-1", "10.0.0.11"}, NotBefore: Epoch.Add(-340 * 24 * time.Hour), NotAfter: Epoch.Add(25 * 24 * time.Hour),
		Renew: Epoch.Add(10 * time.Second),
	})
	n.Point(10*time.Second, Span{}, &trace.Decision{
		By: trace.ByCerts, Subject: "serving certificate", Verdict: trace.VerdictRenew, Reason: "it is valid until " + Epoch.Add(25*24*time.Hour).Format(time.RFC3339),
	})
}

// request adds one to the API server.
func (n *nodeScript) request(from, to time.Duration, parent Span, e trace.APICall) {
	begin := e
	begin.Code, begin.Err = 0, ""
	sp := n.Begin(from, parent, &begin)
	n.End(to, sp, &e)
}

// server is what the node itself has to do with the API server.
func (n *nodeScript) server() {
	n.request(10*ms, 20*ms, Span{}, trace.APICall{Client: "main", Verb: "watch", Resource: "pods", Code: 200})
	n.request(11*ms, 24*ms, Span{}, trace.APICall{Client: "main", Verb: "watch", Resource: "nodes", Name: "lab-1", Code: 200})
	reg := n.Begin(30*ms, Span{}, &trace.NodeStatus{Op: "register", Cause: "start"})
	n.request(30*ms, 45*ms, reg, trace.APICall{Client: "main", Verb: "create", Resource: "nodes", Code: 201})
	n.End(45*ms, reg, &trace.NodeStatus{Op: "register", Cause: "start", Changed: []trace.Change{{What: trace.ChangeField, Name: "labels"}, {What: trace.ChangeCapacity}}})
	st := n.Begin(400*ms, Span{}, &trace.NodeStatus{Op: "patch", Cause: "change"})
	n.End(409*ms, st, &trace.NodeStatus{Op: "patch", Cause: "change", Ready: true, Changed: []trace.Change{{What: trace.ChangeCondition, Name: "Ready", From: "False", To: "True"}}})
	for at := time.Second; at < 62*time.Second; at += 10 * time.Second {
		n.request(at, at+4*ms, Span{}, trace.APICall{Client: "heartbeat", Verb: "update", Resource: "leases", Namespace: "kube-node-lease", Name: "lab-1", Code: 200})
	}
	n.request(70*time.Second, 71*time.Second, Span{}, trace.APICall{
		Client: "heartbeat", Verb: "update", Resource: "leases", Namespace: "kube-node-lease", Name: "lab-1", Err: "dial tcp 10.0.0.1:6443: connection refused",
	})
}

// member is a pod with two volumes and a readiness probe; of the first one, the probe fails in the end and the API does not hear of it.
func (n *nodeScript) member(name string, at time.Duration) {
	key := n.key("shop", name)
	of := Span{}.Of(key)
	n.Point(at, of, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceAPI, Spec: &trace.PodSpec{
		Containers: []trace.ContainerSpec{{Name: "web", Image: "web:1"}}, Volumes: []string{"config", "token"}, QoS: "Burstable",
	}})
	act := n.Begin(at+ms, of, &trace.Action{ID: "volumes", Verb: trace.VerbVolumes})
	for i, v := range []trace.Volume{
		{Op: "setup", Name: "config", Plugin: "kubernetes.io/configmap", Path: "/var/lib/kubelet/pods/x/volumes/config"},
		{Op: "setup", Name: "token", Plugin: "kubernetes.io/projected", Path: "/var/lib/kubelet/pods/x/volumes/token"},
	} {
		sp := n.Begin(at+ms, act, &v)
		n.Both(at+2*ms, at+time.Duration(20+20*i)*ms, sp, &trace.Wait{For: trace.WaitObject, Target: trace.Target{Kind: trace.TargetConfigMap, Namespace: "shop", Name: v.Name}})
		n.End(at+time.Duration(22+20*i)*ms, sp, &v)
	}
	n.End(at+42*ms, act, &trace.Action{ID: "volumes", Verb: trace.VerbVolumes})
	n.Point(at+200*ms, of, &trace.Milestone{Name: trace.MilestoneStarted, Since: 200 * ms})
	n.attempt(at+201*ms, of, trace.ProbeFailure, 1)
	n.Both(at+204*ms, at+300*ms, of, &trace.Wait{For: trace.WaitProbe, Target: trace.Target{Kind: trace.TargetProbe, Name: "readiness", Container: "web"}})
	n.attempt(at+300*ms, of, trace.ProbeSuccess, 1)
	n.Point(at+303*ms, of, &trace.Milestone{Name: trace.MilestoneReady, Since: 303 * ms})
	n.Point(at+303*ms, of, &trace.PodStatus{Phase: trace.PodRunning, Ready: 1, Total: 1, IP: fmt.Sprintf("10.88.0.%d", n.uids)})
	e := trace.StatusPatch{
		Op: trace.PatchStatus, Version: 3, Changed: []trace.Change{
			{What: trace.ChangeField, Name: "phase", From: "Pending", To: "Running"},
			{What: trace.ChangeCondition, Name: "Ready", From: "False", FromReason: "ContainersNotReady", To: "True"},
		},
		Patch: `{"metadata":{"uid":"x"},"status":{"phase":"Running"}}`, Bytes: 54, Age: ms,
	}
	sp := n.Begin(at+304*ms, of, &e)
	n.request(at+304*ms, at+312*ms, sp, trace.APICall{Client: "main", Verb: "patch", Resource: "pods/status", Namespace: "shop", Name: name, Code: 200})
	end := e
	end.Age = 9 * ms
	n.End(at+312*ms, sp, &end)
	if name == "web-00" {
		n.sick(of)
	}
}

func (n *nodeScript) attempt(at time.Duration, of Span, result trace.ProbeResult, run int) {
	e := trace.ProbeAttempt{Container: "web", Probe: trace.ProbeReadiness, How: trace.ProbeHTTP}
	sp := n.Begin(at, of, &e)
	end := e
	end.Result, end.State, end.Count, end.Threshold = result, trace.ProbeState(result), run, 1
	if result == trace.ProbeFailure {
		end.Output = "HTTP probe failed with statuscode: 503"
	}
	n.End(at+3*ms, sp, &end)
}

func (n *nodeScript) sick(of Span) {
	n.attempt(72*time.Second, of, trace.ProbeFailure, 3)
	n.Begin(72*time.Second+3*ms, of, &trace.Wait{For: trace.WaitProbe, Target: trace.Target{Kind: trace.TargetProbe, Name: "readiness", Container: "web"}, Until: Epoch.Add(81 * time.Second).UnixNano()})
	n.Point(72*time.Second+4*ms, of, &trace.PodStatus{Phase: trace.PodRunning, Ready: 0, Total: 1})
	e := trace.StatusPatch{Op: trace.PatchStatus, Version: 4, Changed: []trace.Change{{What: trace.ChangeCondition, Name: "Ready", From: "True", To: "False", Reason: "ContainersNotReady"}}, Bytes: 180, Age: ms}
	sp := n.Begin(72*time.Second+5*ms, of, &e)
	e.Err, e.Age = "dial tcp 10.0.0.1:6443: connection refused", 9*ms
	n.request(72*time.Second+5*ms, 72*time.Second+13*ms, sp, trace.APICall{Client: "main", Verb: "patch", Resource: "pods/status", Namespace: "shop", Name: "web-00", Err: e.Err})
	n.End(72*time.Second+13*ms, sp, &e)
	n.Begin(72*time.Second+13*ms, of, &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetStatuses}, Cause: "2 tries failed, next in 4s", Class: trace.Classify("2 tries failed, next in 4s")})
}

// starting adds a pod whose volumes are not set up; their parent is returned.
func (n *nodeScript) starting(name string, at time.Duration) Span {
	of := Span{}.Of(n.key("shop", name))
	n.Point(at, of, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceAPI, Spec: &trace.PodSpec{
		Containers: []trace.ContainerSpec{{Name: "db", Image: "db:1"}}, Volumes: []string{"data"},
	}})
	return n.Begin(at+ms, of, &trace.Action{ID: "volumes", Verb: trace.VerbVolumes})
}

func (n *nodeScript) attaching(at time.Duration) {
	act := n.starting("db-0", at)
	v := n.Begin(at+2*ms, act, &trace.Volume{Op: "setup", Name: "data", Plugin: "kubernetes.io/csi"})
	n.Begin(at+3*ms, v, &trace.Wait{For: trace.WaitAttach, Target: trace.Target{Kind: trace.TargetVolume, Name: "pvc-7"}, Note: "hostpath.csi.k8s.io has to attach vol-7"})
}

func (n *nodeScript) chowning(at time.Duration) {
	act := n.starting("db-1", at)
	v := n.Begin(at+2*ms, act, &trace.Volume{Op: "setup", Name: "data", Plugin: "kubernetes.io/csi"})
	for i, m := range []string{"NodeStageVolume", "NodePublishVolume"} {
		n.Both(at+time.Duration(3+i*100)*ms, at+time.Duration(90+i*100)*ms, v, &trace.CSICall{Driver: "hostpath.csi.k8s.io", Method: m, Volume: "vol-8", Code: "OK"})
	}
	n.Point(at+1200*ms, v, &trace.VolumeProgress{Op: "fsgroup", Path: "/p", Files: 4100, PerSecond: 4100})
	n.Point(at+2200*ms, v, &trace.VolumeProgress{Op: "fsgroup", Path: "/p", Files: 9200, PerSecond: 5100})
}

func (n *nodeScript) unmountable(at time.Duration) {
	act := n.starting("db-2", at)
	v := n.Begin(at+2*ms, act, &trace.Volume{Op: "setup", Name: "data", Plugin: "kubernetes.io/csi"})
	n.Both(at+3*ms, at+90*ms, v, &trace.CSICall{Driver: "hostpath.csi.k8s.io", Method: "NodeStageVolume", Volume: "vol-9", Code: "Internal", Err: "no such device"})
	n.End(at+91*ms, v, &trace.Volume{Op: "setup", Name: "data", Plugin: "kubernetes.io/csi", Err: "stage vol-9: no such device"})
}
