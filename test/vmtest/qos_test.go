package vmtest

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// TestQOS starts a pod of each QoS class: systemd has its slices and scopes, in which the kernel has the limits.
func TestQOS(t *testing.T) {
	b := setup(t)
	b.start(t, map[string]string{
		"guaranteed": spec("", "resources: {limits: {cpu: 100m, memory: 32Mi}}"),
		"burstable":  spec("", "resources: {requests: {cpu: 50m, memory: 16Mi}, limits: {cpu: 200m, memory: 64Mi}}"),
		"besteffort": spec("", ""),
	})
	for name, c := range map[string]struct {
		class       v1.PodQOSClass
		cpu, memory string
	}{
		"guaranteed": {v1.PodQOSGuaranteed, "10000 100000", "33554432"},
		"burstable":  {v1.PodQOSBurstable, "20000 100000", "67108864"},
		"besteffort": {v1.PodQOSBestEffort, "max 100000", "max"},
	} {
		t.Run(name, func(t *testing.T) {
			p := b.pod(t, name)
			if p.Status.QOSClass != c.class {
				t.Fatalf("its class is %s", p.Status.QOSClass)
			}
			for _, dir := range []string{slice(p), scope(t, p, "web")} {
				b.has(t, dir, map[string]string{"cpu.max": c.cpu, "memory.max": c.memory})
				unit := dir[strings.LastIndexByte(dir, '/')+1:]
				if state := b.Run(t, "systemctl show -p ActiveState -p ControlGroup --value "+unit); state != "active\n/"+dir && state != "/"+dir+"\nactive" {
					t.Errorf("unit %s is %q", unit, state)
				}
			}
			if procs := b.Run(t, "cat /sys/fs/cgroup/"+scope(t, p, "web")+"/cgroup.procs | wc -l"); procs != "1" {
				t.Errorf("its scope has %s processes, want that of sleep", procs)
			}
		})
	}
	weight := func(name string) string { return "cat /sys/fs/cgroup/" + slice(b.pod(t, name)) + "/cpu.weight" }
	out := b.Run(t, `g=$(`+weight("guaranteed")+`) b=$(`+weight("burstable")+`) e=$(`+weight("besteffort")+`); echo $g $b $e; test $g -gt $b && test $b -gt $e && test $e -eq 1`)
	t.Log("weights", out)
	tiers := b.Run(t, "cd /sys/fs/cgroup/kubepods.slice && cat kubepods-besteffort.slice/cpu.weight memory.max")
	if tier, limit, _ := strings.Cut(tiers, "\n"); tier != "1" || limit == "max" {
		t.Errorf("besteffort has the weight %s, and all pods the limit %s of memory", tier, limit)
	}
}

// TestGone sees that nothing is left of a pod that was deleted: no slice, no unit.
func TestGone(t *testing.T) {
	b := setup(t)
	b.Create(t, "short")
	b.Runs(t, "short")
	dir := slice(b.pod(t, "short"))
	unit := dir[strings.LastIndexByte(dir, '/')+1:]
	if out, err := b.Kubectl(t.Context(), "delete", "pod", "short", "--timeout", "5m"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b.Says(t, "test -e /sys/fs/cgroup/"+dir+" || systemctl list-units --all --no-legend "+unit+" | grep . || echo none", "none")
}
