package main

import (
	"context"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// shot is a picture of a view: the keys that lead to it, and what is to be seen in it.
type shot struct {
	name, title string
	keys        []string // a key, or @NS/NAME: to that pod, in the Pod view
	want        []string
	rows        int // 0 is as many as usual
}

// slowly is how fast the registry answers: a pull is to be seen.
var slowly = lab.Limits{Rate: 16 << 20, Latency: 10 * time.Millisecond}

// live takes the views of the running agent.
func live(ctx context.Context, s *stage, to *album) error {
	if err := s.cluster.SetLimits(ctx, slowly); err != nil {
		return err
	}
	if err := s.run(ctx); err != nil {
		return err
	}
	for _, ns := range []string{"shop", "jobs"} {
		if _, err := s.cluster.Kubectl(ctx, "create", "namespace", ns); err != nil {
			return err
		}
	}
	if err := s.apply(ctx, sessionPods); err != nil {
		return err
	}
	if err := shoot(ctx, s.agent, to, shot{
		name: "overview", title: "The Overview while pods start: a pull in progress, pods with problems, slow starts and their causes",
		want: []string{"pull 60m:1", "ErrImagePull", "slowest starts", "!no pod has started"}, rows: 42,
	}); err != nil {
		return err
	}
	if _, err := s.agent.await(ctx, "3 backing off", "CrashLoopBackOff", "0 starting", "KL02"); err != nil {
		return err
	}
	for _, p := range shots() {
		if err := shoot(ctx, s.agent, to, p); err != nil {
			return err
		}
	}
	return nil
}

func shots() []shot {
	one := func(name, title, key string, want ...string) shot {
		return shot{name: name, title: title, keys: []string{key}, want: want}
	}
	return []shot{
		one("loop", "The Loop: each iteration of syncLoop, and what it did", "2", "CASE", "housekeeping"),
		one("pods", "Pods: each pod with its current activity or wait, and the start of the selected one", "3", "STATE", "jobs/report"),
		one("cri", "CRI: calls to the container runtime", "4", "METHOD", "StartContainer"),
		one("gc", "GC: garbage collection runs", "5", "image", "container"),
		{name: "node", title: "The Node: the agent, the machine, the Node object and the API server", keys: []string{"8"}, want: []string{"the node", "API server"}, rows: 42},
		one("log", "Log: the important events", "9", "FailedMount"),
		one("volumes", "Volumes: each pod's volumes, and what they wait for", "v", "configmap", "failed"),
		one("status", "Status: each pod's status, and its writes to the API", "u", "lease", "in the API"),
		one("probes", "Probes: the result of each probe, and how many times in a row", "p", "readiness", "liveness"),
		one("sources", "Sources: the sources of pods", "o", "api"),
		one("eviction", "Eviction: usage and thresholds", "x", "memory"),
		one("starts", "Starts: all starts of the session, the slowest first", "r", "shop/cart"),
		{
			name: "pod", title: "The Pod view: a start as a waterfall, with the spans of containerd and the CNI plugins",
			keys: []string{"6", "@shop/web"}, want: []string{"started in", "make task"}, rows: 42,
		},
		{name: "learn", title: "The learner's panel explains the selected phase", keys: []string{"L", "j", "j", "j"}, want: []string{"read: "}, rows: 42},
		{
			name: "causes", title: "The Pod view of a pod that cannot start: its wait, and the named cause",
			keys: []string{"L", "@shop/search"}, want: []string{"cause", "KL05"}, rows: 42,
		},
		one("help", "Help: the keys of the view", "?", "everywhere"),
	}
}

// shoot presses the keys, waits for what is to be seen, and takes the picture.
func shoot(ctx context.Context, t *terminal, to *album, p shot) error {
	if p.rows == 0 {
		p.rows = rows
	}
	if err := t.resize(ctx, p.rows); err != nil {
		return err
	}
	for _, key := range p.keys {
		if pod, ok := strings.CutPrefix(key, "@"); ok {
			if err := find(ctx, t, pod); err != nil {
				return err
			}
			continue
		}
		if err := t.press(ctx, key); err != nil {
			return err
		}
	}
	if _, err := t.await(ctx, p.want...); err != nil {
		return err
	}
	screen, err := t.capture(ctx)
	if err != nil {
		return err
	}
	return to.add(p.name, p.title, screen)
}

// find goes through the pods of the Pod view to one of them.
func find(ctx context.Context, t *terminal, pod string) error {
	for range 20 {
		screen, err := t.await(ctx, "[ ] pod")
		if err != nil {
			return err
		}
		if lines := strings.Split(screen, "\n"); len(lines) > 2 && strings.Contains(lines[2], " "+pod+" ") {
			return nil
		}
		if err := t.press(ctx, "]"); err != nil {
			return err
		}
	}
	_, err := t.await(ctx, "the pod "+pod)
	return err
}

// attached catches a pod's creation from another terminal.
func attached(ctx context.Context, s *stage, to *album) error {
	t, err := start(ctx, s.bin, "step", "--pod", "shop/stepped", "--creation", "--socket", s.socket())
	if err != nil {
		return err
	}
	defer t.close() //nolint:errcheck // of a session that went wrong, the first error counts
	if _, err := t.await(ctx, "shop/stepped"); err != nil {
		return err
	}
	if err := s.apply(ctx, steppedPod); err != nil {
		return err
	}
	if _, err := t.await(ctx, "paused before  cgroup"); err != nil {
		return err
	}
	for _, next := range []string{"dirs", "volumes", "sandbox"} {
		if err := t.press(ctx, "n"); err != nil {
			return err
		}
		if _, err := t.await(ctx, "paused before  "+next); err != nil {
			return err
		}
	}
	err = shoot(ctx, t, to, shot{
		name: "step", title: "Step, attached to a running agent: the next request, and the changes", want: []string{"RunPodSandboxRequest", "changed: "},
	})
	if err != nil {
		return err
	}
	return t.press(ctx, "q")
}

// printed draws what commands print: why, and the waterfall as trace -o svg draws it.
func printed(ctx context.Context, s *stage, to *album) error {
	text, err := s.kubeloupe(ctx, "why", "shop/cart")
	if err != nil {
		return err
	}
	if err := to.add("why", "kubeloupe why shop/cart", "$ kubeloupe why shop/cart\n"+text); err != nil {
		return err
	}
	picture, err := s.kubeloupe(ctx, "trace", "shop/web", "-o", "svg")
	if err != nil {
		return err
	}
	return to.write("waterfall", []byte(picture))
}

// scripted takes a picture of a machine with NUMA nodes and devices, which the lab does not have: from the scripted session of the UI's tests.
func scripted(ctx context.Context, s *stage, to *album) error {
	t, err := start(ctx, s.bin, "tui", "--from", recorded(machine), "--view", "resources")
	if err != nil {
		return err
	}
	defer t.close() //nolint:errcheck // of a session that went wrong, the first error counts
	err = shoot(ctx, t, to, shot{
		name: "resources", title: "Resources: who has which CPUs, memory and devices, and which pods were refused", keys: []string{"m", "m", "m", "j", "j"},
		want: []string{"TopologyAffinityError", "gpu-[4-7]", "connected"},
	})
	if err != nil {
		return err
	}
	return t.press(ctx, "q")
}

// replayed plays the recording of all this, up to the first causes.
func replayed(ctx context.Context, s *stage, to *album) error {
	if err := s.quit(ctx); err != nil {
		return err
	}
	t, err := start(ctx, s.bin, "replay", s.recording(), "--paused")
	if err != nil {
		return err
	}
	defer t.close() //nolint:errcheck // of a session that went wrong, the first error counts
	if _, err := t.await(ctx, "PAUSED"); err != nil {
		return err
	}
	err = shoot(ctx, t, to, shot{
		name: "replay", title: "The replay of a recording, stopped at a cause", keys: []string{":", "5", "0", "%", "Enter", "{"}, want: []string{"KL", "slowest starts"},
	})
	if err != nil {
		return err
	}
	return t.press(ctx, "q")
}
