package tuitest

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	gpus = "gpu.example.com"
	nics = "nic.example.com"
)

// Claims is a node with two DRA drivers and claims in all states: one is shared by two pods, one has an unhealthy device, the driver of one is
// missing.
func Claims() []trace.Record {
	s := &Script{}
	s.Point(0, Span{}, &trace.Agent{State: trace.AgentStarting, Node: "lab-5", Version: "0.1.0", PID: 815})
	s.Point(20*ms, Span{}, &trace.ResourcesDescribed{
		CPUPolicy: "none", MemoryPolicy: "None", TopologyPolicy: "none", Nodes: []trace.NUMANode{{ID: 0, CPUs: "0-15"}}, Pool: "0-15",
		Memory: []trace.NUMAMemory{{Node: 0, Resource: "memory", Total: 64 * gib}},
	})
	s.Point(40*ms, Span{}, &trace.Agent{
		State: trace.AgentReady, Node: "lab-5", Runtime: "containerd", RuntimeVersion: "2.4.2", Endpoint: "unix:///run/containerd/containerd.sock",
	})
	n := &nodeScript{Script: s}
	for i, driver := range []string{gpus, nics} {
		socket := "/var/lib/kubelet/plugins/" + driver + "/dra.sock"
		at := 200*ms + time.Duration(i)*50*ms
		n.Point(at, Span{}, &trace.DRAPlugin{Op: trace.DRARegistered, Driver: driver, Socket: socket, Service: "v1.DRAPlugin", Health: "v1.DRAResourceHealth"})
		n.Point(at+ms, Span{}, &trace.DRAPlugin{Op: trace.DRAConnected, Driver: driver, Socket: socket})
	}
	for i := range claims {
		c := &claims[i]
		e := c.ClaimDescribed
		e.UID, e.Since = fmt.Sprintf("5f1e-%d", i), Epoch.Add(c.at)
		n.Point(c.at, Span{}, &e)
	}
	n.waiting()
	return s.Records()
}

// claimAt is a claim, and when its state began.
type claimAt struct {
	at time.Duration
	trace.ClaimDescribed
}

var claims = []claimAt{
	{at: 50 * ms, ClaimDescribed: trace.ClaimDescribed{
		Namespace: "db", Name: "cache-nic", State: trace.ClaimRestored, Drivers: []string{nics}, Count: 1, Users: 1,
		Devices: []trace.ClaimDevice{{Driver: nics, Pool: "lab-5", Device: "vf-3", CDI: []string{"example.com/nic=vf-3"}, Health: trace.DeviceHealthUnknown}},
		Pods:    []trace.ClaimPod{{Pod: trace.Pod{Namespace: "db", Name: "cache-0", UID: "cache-0"}, Containers: []string{"redis"}}},
	}},
	{at: 5 * time.Second, ClaimDescribed: trace.ClaimDescribed{
		Namespace: "ml", Name: "train-7c9d-x2z-gpus-4kq8t", State: trace.ClaimReady, Drivers: []string{gpus}, Count: 2, Users: 1,
		Devices: []trace.ClaimDevice{
			{Driver: gpus, Pool: "lab-5", Device: "gpu-0", Requests: []string{"gpus"}, CDI: []string{"example.com/gpu=0", "example.com/nvlink=0"}, Health: trace.DeviceHealthy},
			{Driver: gpus, Pool: "lab-5", Device: "gpu-1", Requests: []string{"gpus"}, CDI: []string{"example.com/gpu=1"}, Health: trace.DeviceUnhealthy, Message: "XID 79: the GPU has fallen off the bus"},
		},
		Pods: []trace.ClaimPod{{Pod: trace.Pod{Namespace: "ml", Name: "train-7c9d-x2z", UID: "train"}, Containers: []string{"cuda"}}},
	}},
	{at: 9 * time.Second, ClaimDescribed: trace.ClaimDescribed{
		Namespace: "ml", Name: "shared-gpu", State: trace.ClaimReady, Drivers: []string{gpus}, Count: 1, Users: 2,
		Devices: []trace.ClaimDevice{{Driver: gpus, Pool: "lab-5", Device: "gpu-2", Share: "a1", CDI: []string{"example.com/gpu=2"}, Health: trace.DeviceHealthy}},
		Pods: []trace.ClaimPod{
			{Pod: trace.Pod{Namespace: "ml", Name: "infer-5f6b-9kq", UID: "infer-1"}, Containers: []string{"warmup", "server"}},
			{Pod: trace.Pod{Namespace: "ml", Name: "infer-5f6b-c7w", UID: "infer-2"}, Containers: []string{"warmup", "server"}},
		},
	}},
	{at: 40 * time.Second, ClaimDescribed: trace.ClaimDescribed{
		Namespace: "net", Name: "dpdk-1-nic-x7v2p", State: trace.ClaimUnpreparing, Drivers: []string{nics}, Count: 1, Users: 1,
		Devices: []trace.ClaimDevice{{Driver: nics, Pool: "lab-5", Device: "vf-0", CDI: []string{"example.com/nic=vf-0"}, Health: trace.DeviceHealthy}},
		Pods:    []trace.ClaimPod{{Pod: trace.Pod{Namespace: "net", UID: "0c5b2f4e-dpdk"}}},
	}},
	{at: 52 * time.Second, ClaimDescribed: trace.ClaimDescribed{
		Namespace: "ml", Name: "batch-gpu", State: trace.ClaimPreparing, Drivers: []string{gpus, nics}, Users: 1,
		Pods: []trace.ClaimPod{{Pod: trace.Pod{Namespace: "ml", Name: "batch-2", UID: "batch-2"}, Containers: []string{"main"}}},
	}},
	{at: 55 * time.Second, ClaimDescribed: trace.ClaimDescribed{
		Namespace: "radio", Name: "l1-0-fpga-9s4mk", State: trace.ClaimFailed, Users: 1,
		Fault: trace.FaultDriverMissing, FaultDriver: "fpga.example.com", Err: "DRA driver fpga.example.com is not registered",
		Pods: []trace.ClaimPod{{Pod: trace.Pod{Namespace: "radio", Name: "l1-0", UID: "l1-0"}, Containers: []string{"phy"}}},
	}},
	{at: 58 * time.Second, ClaimDescribed: trace.ClaimDescribed{
		Namespace: "web", Name: "old-nic", State: trace.ClaimStuck, Drivers: []string{nics}, Count: 1, Users: 1,
		Fault: trace.FaultDriverFailed, FaultDriver: nics, Err: "NodeUnprepareResources failed for ResourceClaim old-nic: device is busy",
		Devices: []trace.ClaimDevice{{Driver: nics, Pool: "lab-5", Device: "vf-9", CDI: []string{"example.com/nic=vf-9"}, Health: trace.DeviceHealthy}},
		Pods:    []trace.ClaimPod{{Pod: trace.Pod{Namespace: "web", Name: "old-1", UID: "old-1"}, Containers: []string{"web"}}},
	}},
}

// waiting is the pod whose driver is missing.
func (n *nodeScript) waiting() {
	sp := Span{}.Of(trace.Pod{Namespace: "radio", Name: "l1-0", UID: "l1-0"})
	at := 55 * time.Second
	n.Point(at-ms, sp, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceAPI, Spec: &trace.PodSpec{
		Containers: []trace.ContainerSpec{{Name: "phy", Image: "registry.example/phy:1"}}, QoS: trace.QoSGuaranteed,
	}})
	n.Point(at, sp, &trace.ResourceClaim{
		Op: trace.ClaimNotPrepared, Namespace: "radio", Name: "l1-0-fpga-9s4mk", UID: "5f1e-5", Driver: "fpga.example.com", Fault: trace.FaultDriverMissing,
		Err: "DRA driver fpga.example.com is not registered",
	})
	n.Begin(at+ms, sp, &trace.Wait{For: trace.WaitClaims, Target: trace.Target{Kind: trace.TargetDRADriver, Name: "fpga.example.com"}})
	n.Point(75*time.Second, Span{}, &trace.Usage{CPU: 20 * ms, Interval: time.Second})
}
