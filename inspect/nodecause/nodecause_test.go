package nodecause_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/nodecause"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/trace"
)

// at is a record of the node, so long after the beginning.
type at struct {
	after time.Duration
	event trace.Event
}

func begins() time.Time { return time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC) }

// input is what the records of a node that has been watched for that long give.
func input(long time.Duration, records ...at) *nodecause.Input {
	s, m := session.New(session.Options{}), model.New(model.Options{})
	for i, r := range records {
		rec := trace.Record{Seq: uint64(i + 1), Span: trace.SpanID(i + 1), Time: begins().Add(r.after).UnixNano(), Event: r.event}
		switch r.event.(type) {
		case *trace.APICall, *trace.NodeStatus:
			rec.Edge, rec.Dur = trace.EdgeEnd, time.Millisecond
		case *trace.Loop, *trace.Wait:
			rec.Edge = trace.EdgeBegin
		}
		s.Apply(&rec)
		m.Apply(&rec)
	}
	now := begins().Add(long)
	return &nodecause.Input{Model: m, Case: s.NodeCase(begins(), now), Now: now}
}

func TestFind(t *testing.T) {
	const sec = time.Second
	agent := func(state trace.AgentState, why string) *trace.Agent {
		return &trace.Agent{State: state, Node: "n1", Reason: why}
	}
	renewed := &trace.APICall{Verb: trace.APIUpdate, Resource: "leases", Code: 200}
	refused := &trace.APICall{Verb: trace.APIUpdate, Resource: "leases", Code: 403, Err: "forbidden"}
	down := &trace.APICall{Verb: trace.APIGet, Resource: "nodes", Err: "connection refused", Class: trace.FailUnreachable}
	cert := func(ends, renew time.Duration) *trace.Certificate {
		c := &trace.Certificate{Use: trace.UseClient, Source: trace.CertificateCSR, Name: "system:node:n1", NotBefore: begins().Add(-time.Hour), NotAfter: begins().Add(ends)}
		if renew != 0 {
			c.Renew = begins().Add(renew)
		}
		return c
	}
	memory := func(used int64) *trace.Pressure {
		return &trace.Pressure{Signal: trace.SignalMemory, Used: used, Capacity: 1000 << 20, Thresholds: []trace.Threshold{{Kind: trace.ThresholdPressure, Bytes: 100 << 20}}}
	}
	condition := func(name, status string, ready bool) *trace.NodeStatus {
		return &trace.NodeStatus{Op: trace.NodePatch, Ready: ready, Changed: []trace.Change{{What: trace.ChangeCondition, Name: name, From: "Unknown", To: status, Reason: "KubeletSays"}}}
	}
	usage := func(some time.Duration) *trace.Usage {
		return &trace.Usage{Interval: 10 * sec, CPUs: 1, Busy: 10 * sec, Stalls: []trace.Stall{{Resource: trace.ResourceCPU, Some: some}}}
	}
	up := at{0, agent(trace.AgentReady, "")}
	runtime := &trace.Wait{For: trace.WaitRuntime, Target: trace.Target{Kind: trace.TargetRuntime}, Cause: "PLEG is not healthy"}
	awaited := func(use trace.CertificateUse) *trace.Certificate {
		return &trace.Certificate{Use: use, None: "it must be approved", Awaited: true}
	}
	refusal := &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetCertificate, Name: string(trace.UseClient)}, Cause: "the API server does not accept the token"}
	for name, c := range map[string]struct {
		in    *nodecause.Input
		state nodecause.State
		want  string // beginnings of "ID sentence", separated by |
	}{
		"nothing is known":    {input(0), nodecause.Untold, ""},
		"well":                {input(60*sec, up, at{55 * sec, renewed}, at{0, cert(24*time.Hour, 20*time.Hour)}, at{50 * sec, memory(500 << 20)}), nodecause.Ready, ""},
		"starting":            {input(5*sec, at{0, agent(trace.AgentStarting, "")}), nodecause.NotReady, ""},
		"starting for long":   {input(60*sec, at{0, agent(trace.AgentStarting, "")}), nodecause.NotReady, "KN01 the agent has been starting for 1m00s"},
		"stopped":             {input(60*sec, up, at{sec, agent(trace.AgentStopped, "")}), nodecause.NotReady, "KN01 the agent has stopped"},
		"degraded":            {input(60*sec, up, at{sec, agent(trace.AgentDegraded, "pod network: cni plugin not initialized")}), nodecause.NotReady, "KN01 the agent reports that the node cannot run pods: pod network: cni plugin not initialized"},
		"the runtime is down": {input(60*sec, up, at{sec, agent(trace.AgentDegraded, "container runtime: gone")}, at{sec, runtime}), nodecause.NotReady, "KL15 the container runtime did not answer"},
		"the condition":       {input(60*sec, up, at{sec, condition("Ready", "False", false)}), nodecause.NotReady, "KN01 the node's Ready condition is False: KubeletSays"},
		"shutting down": {
			input(60*sec, up, at{sec, &trace.Shutdown{State: trace.ShutdownAnnounced, Groups: 2}}, at{2 * sec, &trace.Shutdown{State: trace.ShutdownGroup, Group: 1, Groups: 2}}, at{3 * sec, condition("Ready", "False", false)}),
			nodecause.NotReady, "KN01 the machine is about to shut down: the node takes no pods, and its pods terminate, now those of group 1 of 2",
		},
		"a shutdown was canceled": {input(60*sec, up, at{sec, &trace.Shutdown{State: trace.ShutdownAnnounced}}, at{9 * sec, &trace.Shutdown{State: trace.ShutdownCanceled}}), nodecause.Ready, ""},
		"not: for a moment":       {input(3*sec, up, at{sec, condition("Ready", "False", false)}), nodecause.Ready, ""},
		"API server":              {input(31*sec, up, at{0, renewed}, at{10 * sec, down}, at{20 * sec, down}), nodecause.Cut, "KN02 the API server has not answered for 21.0s, 2 requests failed in a row: connection refused; the lease was last renewed 31.0s ago"},
		"API server for long":     {input(61*sec, up, at{0, renewed}, at{10 * sec, down}), nodecause.Unknown, "KN02 the API server has not answered for 51.0s, 1 request failed in a row: connection refused; the lease was last renewed 1m01s ago, and the control plane treats the node as unknown"},
		"not: it restarts":        {input(12*sec, up, at{0, renewed}, at{10 * sec, down}), nodecause.Ready, ""},
		"not: it is back":         {input(31*sec, up, at{0, renewed}, at{10 * sec, down}, at{20 * sec, renewed}), nodecause.Ready, ""},
		"lease late":              {input(30*sec, up, at{0, renewed}), nodecause.Ready, "KN03 the node's lease was last renewed 30.0s ago"},
		"lease refused":           {input(45*sec, up, at{0, renewed}, at{40 * sec, refused}), nodecause.Unknown, "KN03 the node's lease was last renewed 45.0s ago, and the control plane treats the node as unknown: forbidden"},
		"lease never":             {input(45*sec, up, at{40 * sec, refused}), nodecause.Ready, "KN03 the node's lease was never renewed: forbidden"},
		"not: lease in time":      {input(19*sec, up, at{0, renewed}), nodecause.Ready, ""},
		"expired":                 {input(2*time.Hour, up, at{0, cert(time.Hour, 30*time.Minute)}), nodecause.Ready, "KN04 the client certificate expired 1h00m ago"},
		"renewal overdue":         {input(45*time.Minute, up, at{0, cert(time.Hour, 30*time.Minute)}), nodecause.Ready, "KN04 the renewal of the client certificate is overdue by 15m00s, and it expires in 15m00s"},
		"not: renewal is due":     {input(35*time.Minute, up, at{0, cert(time.Hour, 30*time.Minute)}), nodecause.Ready, ""},
		"nobody renews":           {input(sec, up, at{0, cert(24*time.Hour, 0)}), nodecause.Ready, "KN04 the client certificate expires in 1d00h, and the agent does not renew it"},
		"not: for a year":         {input(sec, up, at{0, cert(365*24*time.Hour, 0)}), nodecause.Ready, ""},
		"no certificate":          {input(60*sec, up, at{0, awaited(trace.UseServing)}), nodecause.Ready, "KN04 the agent has had no serving certificate for 1m00s: it must be approved"},
		"not: it joins":           {input(20*sec, up, at{0, awaited(trace.UseServing)}), nodecause.Ready, ""},
		"no first certificate":    {input(60*sec, up, at{0, awaited(trace.UseClient)}), nodecause.NotReady, "KN04 the agent has had no client certificate for 1m00s: it must be approved"},
		"it is refused":           {input(5*sec, up, at{0, awaited(trace.UseClient)}, at{2 * sec, refusal}), nodecause.NotReady, "KN04 the agent has had no client certificate for 5.00s: the API server does not accept the token"},
		"not: another is refused": {input(5*sec, up, at{0, awaited(trace.UseServing)}, at{2 * sec, refusal}), nodecause.Ready, ""},
		"not: it needs none":      {input(60*sec, up, at{0, &trace.Certificate{Use: trace.UseClient, None: "it is standalone"}}), nodecause.Ready, ""},
		"memory":                  {input(60*sec, up, at{50 * sec, memory(950 << 20)}, at{51 * sec, condition("MemoryPressure", "True", true)}), nodecause.Pressed, "KN05 the node is short of memory: 50 MiB of 1000 MiB are free"},
		"a condition alone":       {input(60*sec, up, at{50 * sec, condition("PIDPressure", "True", true)}), nodecause.Pressed, "KN05 the node's condition PIDPressure is True: KubeletSays"},
		"not: it has recovered":   {input(60*sec, up, at{40 * sec, condition("MemoryPressure", "True", true)}, at{50 * sec, condition("MemoryPressure", "False", true)}), nodecause.Ready, ""},
		"a blocked loop":          {input(60*sec, up, at{50 * sec, &trace.Loop{N: 7, Case: "pleg"}}), nodecause.Slow, "KL16 the syncLoop was blocked for 10.0s so far"},
		"not: an iteration":       {input(60*sec, up, at{60*sec - time.Millisecond, &trace.Loop{N: 7, Case: "pleg"}}), nodecause.Ready, ""},
		"processors":              {input(30*sec, up, at{10 * sec, usage(0)}, at{20 * sec, usage(8 * sec)}, at{30 * sec, usage(9 * sec)}), nodecause.Slow, "KL23 tasks of the node stalled for a processor 17.0s of the last 30.0s (56 %)"},
		"not: a short stall":      {input(60*sec, up, at{10 * sec, usage(0)}, at{20 * sec, usage(0)}, at{30 * sec, usage(0)}, at{40 * sec, usage(6 * sec)}), nodecause.Ready, ""},
		"what leads":              {input(61*sec, up, at{0, cert(24*time.Hour, 0)}, at{10 * sec, down}, at{60 * sec, memory(950 << 20)}), nodecause.Unknown, "KN02 |KN04 |KN05 "},
	} {
		t.Run(name, func(t *testing.T) {
			found := nodecause.Find(c.in)
			var want []string
			if c.want != "" {
				want = strings.Split(c.want, "|")
			}
			if len(found) != len(want) {
				t.Errorf("%d findings, want %d: %+v", len(found), len(want), found)
			}
			for i, f := range found {
				if got := f.ID + " " + f.Sentence; i < len(want) && !strings.HasPrefix(got, want[i]) {
					t.Errorf("got %q, want %q", got, want[i])
				}
				if f.Name == "" || f.Remedy == "" || f.RuledOutBy == "" || len(f.Evidence) == 0 || f.Evidence[0].Seq == 0 {
					t.Errorf("%+v lacks something", f)
				}
			}
			if got := nodecause.StateOf(c.in, found); got != c.state {
				t.Errorf("state %s, want %s", got, c.state)
			}
		})
	}
}
