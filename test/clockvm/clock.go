package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	served = `  containers:
  - name: main
    image: $BUSYBOX
    command: [sh, -c, "mkdir /www; echo well >/www/index.html; exec httpd -f -p 8080 -h /www"]
    livenessProbe: {httpGet: {port: 8080, path: /}, periodSeconds: 2, timeoutSeconds: 30}
`
	deadline = "  activeDeadlineSeconds: 3000\n" + plain
	crash    = "  containers: [{name: main, image: $BUSYBOX, command: [\"false\"]}]\n"
	job      = "  restartPolicy: Never\n  containers: [{name: main, image: $BUSYBOX, command: [sleep, \"15\"]}]\n"
	stubborn = "  terminationGracePeriodSeconds: 20\n  containers: [{name: main, image: $BUSYBOX, command: [sh, -c, \"trap '' TERM; while :; do sleep 1; done\"]}]\n"
	across   = "  terminationGracePeriodSeconds: 0\n  initContainers: [{name: wait, image: $BUSYBOX, command: [sleep, \"10\"]}]\n" +
		"  containers: [{name: main, image: $BUSYBOX, command: [sleep, infinity]}]\n"
)

// probed is for the simulated runtime, which has no network.
const probed = `  containers:
  - name: main
    image: $BUSYBOX
    command: [sleep, infinity]
    livenessProbe: {exec: {command: ["true"]}, periodSeconds: 2, timeoutSeconds: 30}
`

// lasting are the pods that live through all steps.
func (n *node) lasting() map[string]string {
	line := strings.Repeat("1234567890", 30)
	chatty := "  terminationGracePeriodSeconds: 0\n  containers: [{name: main, image: $BUSYBOX, command: [sh, -c, \"while :; do echo " + line + "; sleep 0.05; done\"]}]\n"
	all := map[string]string{"served": served, "chatty": chatty, "deadline": deadline}
	if n.Lab == nil {
		all["served"] = probed
	}
	return all
}

// tooLong is what nothing here takes, however slow the machine; a step is an hour.
const tooLong = 20 * time.Minute

// clockSteps sets the clock an hour forth and back, and an hour back and forth.
func clockSteps(ctx context.Context, n *node) []finding {
	c := &clockRun{node: n}
	if err := c.setUp(ctx); err != nil {
		return append(c.found, good(false, "pods before the steps: %v", err))
	}
	for i, step := range []time.Duration{time.Hour, -time.Hour, -time.Hour, time.Hour} {
		if err := c.step(ctx, i, step); err != nil {
			c.look(false, "step %s: %v", step, err)
		}
	}
	if err := c.after(ctx); err != nil {
		c.look(false, "after the steps: %v", err)
	}
	return c.found
}

type clockRun struct {
	*node
	found         []finding
	before        map[string]v1.PodStatus
	without, with []time.Duration
	first         int // records before the first step

	mu       sync.Mutex
	restarts []time.Time // of the pod that crashes
}

func (c *clockRun) look(ok bool, format string, args ...any) {
	c.found = append(c.found, good(ok, format, args...))
	fmt.Println("  ", ok, fmt.Sprintf(format, args...)) // at once, for who waits
}

func (c *clockRun) setUp(ctx context.Context) (err error) {
	for name, spec := range c.lasting() {
		if _, err := c.run(ctx, name, spec); err != nil {
			return err
		}
	}
	if err := c.put("crash", crash); err != nil {
		return err
	}
	go c.follow(ctx)
	if c.without, err = c.starts(ctx, 3); err != nil {
		return err
	}
	c.look(true, "starts before: %v", rounded(c.without))
	for c.crashed() < 2 && ctx.Err() == nil {
		time.Sleep(time.Second)
	}
	c.first = c.mark()
	c.before, err = c.pods(ctx)
	return err
}

// follow notes when the container that crashes is started again.
func (c *clockRun) follow(ctx context.Context) {
	for mark := 0; ctx.Err() == nil && c.alive(); {
		recs := c.node.after(mark)
		mark += len(recs)
		for i := range recs {
			if a, ok := recs[i].Event.(*trace.Action); ok && a.Verb == trace.VerbStart && recs[i].Edge == trace.EdgeEnd && ofPod(&recs[i], "crash") {
				c.mu.Lock()
				c.restarts = append(c.restarts, time.Now())
				c.mu.Unlock()
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (c *clockRun) crashed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.restarts) - 1
}

// step sets the clock while a pod starts, one ends by itself and one ends slowly.
func (c *clockRun) step(ctx context.Context, i int, by time.Duration) error {
	names := []string{fmt.Sprintf("stubborn-%d", i), fmt.Sprintf("job-%d", i), fmt.Sprintf("across-%d", i)}
	if _, err := c.run(ctx, names[0], stubborn); err != nil {
		return err
	}
	mark := c.mark()
	if _, err := c.run(ctx, names[1], job); err != nil {
		return err
	}
	if err := c.put(names[2], across); err != nil {
		return err
	}
	if err := os.Remove(c.file(names[0])); err != nil {
		return err
	}
	ending := time.Now()
	for _, what := range []string{"RunPodSandbox", "StopContainer"} { // both are under way
		if err := c.until(ctx, what, mark, func(r *trace.Record) bool {
			e, ok := r.Event.(*trace.CRICall)
			return ok && e.Method == what && (ofPod(r, names[2]) || ofPod(r, names[0]))
		}); err != nil {
			return err
		}
	}
	stepped := c.mark()
	if err := setClock(by); err != nil {
		return err
	}
	fmt.Printf("the clock was set by %s\n", by)
	var told trace.ClockStepped
	if err := c.until(ctx, "clock.stepped", stepped, func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.ClockStepped)
		if ok {
			told = *e
		}
		return ok
	}); err != nil {
		return err
	}
	off := told.Step - by
	c.look(max(off, -off) < 2*time.Second, "%s: clock.stepped says %s, times jump by %s and are ahead by %s", by, told.Step, told.Jump, told.Ahead)
	if err := c.until(ctx, names[0]+" to be gone", mark, milestone(names[0], "gone")); err != nil {
		return err
	}
	took := time.Since(ending)
	c.look(took > 18*time.Second && took < 4*time.Minute, "%s: a pod with a grace of 20 s that ignores SIGTERM ended after %s", by, took.Round(time.Second))
	if err := c.until(ctx, names[2]+" to run", mark, milestone(names[2], "started")); err != nil {
		return err
	}
	if err := c.until(ctx, names[1]+" to end", mark, func(r *trace.Record) bool {
		s, ok := r.Event.(*trace.PodStatus)
		return ok && ofPod(r, names[1]) && s.Phase == trace.PodSucceeded
	}); err != nil {
		return err
	}
	starts, err := c.starts(ctx, 2)
	if err != nil {
		return err
	}
	c.with = append(c.with, starts...)
	_, err = get(ctx, healthz)
	c.look(err == nil, "%s: healthz (%v)", by, err)
	rotated := slices.ContainsFunc(c.node.after(stepped), func(r trace.Record) bool {
		e, ok := r.Event.(*trace.CRICall)
		return ok && e.Method == "ReopenContainerLog" && e.Code == "OK"
	})
	c.look(rotated, "%s: logs are rotated", by)
	live, err := c.why(ctx, true)
	if err != nil {
		return err
	}
	c.durations("live, "+by.String(), live)
	return errors.Join(c.drop(ctx, names[1]), c.drop(ctx, names[2]))
}

func setClock(by time.Duration) error {
	tv := unix.NsecToTimeval(time.Now().Add(by).UnixNano())
	return unix.Settimeofday(&tv)
}

// after looks at all of it.
func (c *clockRun) after(ctx context.Context) error {
	ratio := float64(median(c.with)) / float64(median(c.without))
	c.look(ratio < 1.5, "other pods' starts: without %s %v, after a step %s %v: %.2f times", median(c.without).Round(time.Millisecond), rounded(c.without),
		median(c.with).Round(time.Millisecond), rounded(c.with), ratio)
	now, err := c.pods(ctx)
	if err != nil {
		return err
	}
	for name := range c.lasting() {
		a, b := c.before[name], now[name]
		same := len(a.ContainerStatuses) == 1 && len(b.ContainerStatuses) == 1 && a.ContainerStatuses[0].ContainerID == b.ContainerStatuses[0].ContainerID
		c.look(same && b.Phase == v1.PodRunning && b.ContainerStatuses[0].RestartCount == 0, "%s: runs on, the same container", name)
	}
	c.records(c.node.after(0))
	c.backoff()
	reports, err := c.why(ctx, false)
	if err != nil {
		return err
	}
	c.durations("recording", reports)
	dead, err := filepath.Glob("/node/log/*/main/*.log*")
	c.look(err == nil && len(dead) < 30, "log files that are left: %d", len(dead))
	return nil
}

// records looks at what was published: probes, kills, durations, what the runtime did.
func (c *clockRun) records(recs []trace.Record) {
	probes, failed, kills, long, back, spans := 0, 0, 0, 0, 0, 0
	var last int64
	for i := range recs {
		r := &recs[i]
		if r.Time < last {
			back++
		}
		last = r.Time
		if r.Edge == trace.EdgeEnd && (r.Dur < 0 || r.Dur > tooLong) {
			long++
			fmt.Printf("  a duration of %s: %s %s %+v\n", r.Dur, r.Pod.Name, r.Event.Kind(), r.Event)
		}
		switch e := r.Event.(type) {
		case *trace.ProbeAttempt:
			if r.Edge == trace.EdgeEnd && !e.Early && e.Result != "" {
				probes++
				if e.Result != trace.ProbeSuccess {
					failed++
					fmt.Printf("  a probe: %+v\n", e)
				}
			}
		case *trace.NodeEvent:
			for name := range c.lasting() {
				if ofPod(r, name) && slices.Contains([]string{"Killing", "Evicted", "BackOff", "Unhealthy", "DeadlineExceeded"}, e.Reason) {
					kills++
					fmt.Printf("  %s: %s %s\n", name, e.Reason, e.Message)
				}
			}
		case *trace.RuntimeSpan:
			spans++
		}
	}
	c.look(probes > 10 && failed == 0, "probes: %d, of which %d failed", probes, failed)
	c.look(kills == 0, "pods that live through it and were killed, evicted or told unhealthy: %d", kills)
	c.look(long == 0, "records with a duration below nothing or above %s: %d of %d", tooLong, long, len(recs))
	c.look(back == 0, "times of records that go back: %d", back)
	fmt.Printf("spans of the runtime: %d\n", spans)
}

// backoff looks at the times between the starts of what crashes: 0, 10, 20, 40, ... seconds and what the runtime needs.
func (c *clockRun) backoff() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var gaps []string
	ok := len(c.restarts) > 3
	want := time.Duration(0)
	for i := 1; i < len(c.restarts); i++ {
		gap := c.restarts[i].Sub(c.restarts[i-1])
		gaps = append(gaps, gap.Round(time.Second).String())
		ok = ok && gap > want-time.Second && gap < want+90*time.Second
		want = min(max(2*want, 10*time.Second), 5*time.Minute)
	}
	c.look(ok, "back-off between the starts of what crashes: %s", strings.Join(gaps, " "))
}

// durations looks at every duration of the reports that `why` makes, which may be of 20 minutes at most.
func (c *clockRun) durations(of string, reports any) {
	text, err := json.Marshal(reports)
	if err != nil {
		c.look(false, "%s: %v", of, err)
		return
	}
	var all []any
	_ = json.Unmarshal(text, &all)
	wrong, seen := []string{}, 0
	for _, r := range all {
		pod := ""
		if m, ok := r.(map[string]any); ok {
			pod = fmt.Sprint(m["pod"])
		}
		walk("", r, func(path string, value float64) {
			seen++
			if d := time.Duration(value); d < 0 || d > tooLong {
				wrong = append(wrong, fmt.Sprintf("%s %s=%s", pod, path, d))
			}
		})
	}
	for _, w := range wrong[:min(len(wrong), 10)] {
		fmt.Println("  ", w)
	}
	c.look(len(wrong) == 0 && seen > 0, "%s: of %d durations in `why` of %d pods, %d are below nothing or above %s", of, seen, len(all), len(wrong), tooLong)
}

// walk visits the numbers whose names end in _ns.
func walk(path string, v any, visit func(path string, value float64)) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if f, ok := e.(float64); ok && strings.HasSuffix(k, "_ns") {
				visit(path+"."+k, f)
				continue
			}
			walk(path+"."+k, e, visit)
		}
	case []any:
		for _, e := range v {
			walk(path, e, visit)
		}
	}
}

func rounded(all []time.Duration) []string {
	var out []string
	for _, d := range all {
		out = append(out, d.Round(100*time.Millisecond).String())
	}
	return out
}
