package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

func clusterRows() []clusterRow {
	rows := []clusterRow{
		{name: "one", run: func(ctx context.Context, c *clusterBench) error { return c.ones(ctx, "one pod", plain, nil, false) }},
		{name: "volumes", run: func(ctx context.Context, c *clusterBench) error {
			return c.ones(ctx, "ConfigMap + Secret + token + emptyDir", stocked, withToken, false)
		}},
		{name: "staged", run: func(ctx context.Context, c *clusterBench) error {
			return c.ones(ctx, "2 init + 3 containers", staged, nil, false)
		}},
		{name: "pull", run: func(ctx context.Context, c *clusterBench) error {
			return c.ones(ctx, "uncached 60 MiB image", big, nil, true)
		}},
		{name: "crash", run: func(ctx context.Context, c *clusterBench) error { return c.crashes(ctx) }},
	}
	for _, size := range []int{10, 30, 60} {
		rows = append(rows, clusterRow{name: "burst" + strconv.Itoa(size), run: func(ctx context.Context, c *clusterBench) error { return c.clusterBurst(ctx, size) }})
	}
	for _, size := range []int{10, 30, 60} {
		rows = append(rows, clusterRow{name: "loaded" + strconv.Itoa(size), once: true, ours: true, run: func(ctx context.Context, c *clusterBench) error { return c.loadedPairs(ctx, size) }})
	}
	return append(rows,
		clusterRow{name: "cold", restarts: true, run: func(ctx context.Context, c *clusterBench) error { return c.cold(ctx) }},
		clusterRow{name: "waiting", restarts: true, run: func(ctx context.Context, c *clusterBench) error { return c.waiting(ctx) }},
		clusterRow{name: "api", restarts: true, run: func(ctx context.Context, c *clusterBench) error { return c.apiCost(ctx) }},
		clusterRow{name: "idle", restarts: true, once: true, run: func(ctx context.Context, c *clusterBench) error { return c.idles(ctx) }},
	)
}

func clusterRowNames() []string {
	var out []string
	for _, r := range clusterRows() {
		out = append(out, r.name)
	}
	return out
}

// samples is how many a turn takes.
func (c *clusterBench) samples() int { return max(1, (c.o.n+c.o.rounds-1)/c.o.rounds) }

func (c *clusterBench) create(ctx context.Context, p *v1.Pod) error {
	_, err := c.client.CoreV1().Pods(benchNamespace).Create(ctx, p, metav1.CreateOptions{})
	return err
}

func (c *clusterBench) remove(ctx context.Context, p *v1.Pod) error {
	return c.client.CoreV1().Pods(benchNamespace).Delete(ctx, p.Name, metav1.DeleteOptions{})
}

// warm has the agent start and end a pod, which is not measured.
func (c *clusterBench) warm(ctx context.Context) error {
	p := bound(stocked(c.node.lab))
	if err := c.create(ctx, p); err != nil {
		return err
	}
	if _, err := c.seen.awaitReady(ctx, p.Name); err != nil {
		return err
	}
	if err := c.remove(ctx, p); err != nil {
		return err
	}
	_, err := c.seen.awaitGone(ctx, p.Name)
	return err
}

// ones times one pod at a time: the floor's, then the agent's.
func (c *clusterBench) ones(ctx context.Context, title string, pod maker, also func(*v1.Pod) *v1.Pod, pull bool) error {
	started := c.table.times(title+": started", ofFloor(1.10))
	ready := c.table.times(title+": Ready", noSlower)
	later := c.table.partTimes(title+": Ready after started", atMost(15))
	var gone *line
	if !pull {
		gone = c.table.times(title+": deleted, gone", ofFloor(1.40))
	}
	for range c.samples() {
		if err := c.floorSample(ctx, pod, also, pull, started, gone); err != nil {
			return fmt.Errorf("floor: %w", err)
		}
		p := bound(pod(c.node.lab))
		begin := time.Now()
		if err := c.create(ctx, p); err != nil {
			return err
		}
		at, err := c.node.events.awaitStarted(ctx, p.Name, len(p.Spec.InitContainers)+len(p.Spec.Containers))
		if err != nil {
			return err
		}
		shown, err := c.seen.awaitReady(ctx, p.Name)
		if err != nil {
			return err
		}
		started.agent(c.kind, at.Sub(begin))
		ready.agent(c.kind, shown.Sub(begin))
		later.agent(c.kind, shown.Sub(at))
		time.Sleep(100 * time.Millisecond) // let it take note
		begin = time.Now()
		if err := c.remove(ctx, p); err != nil {
			return err
		}
		if at, err = c.seen.awaitGone(ctx, p.Name); err != nil {
			return err
		}
		if gone != nil {
			gone.agent(c.kind, at.Sub(begin))
		}
		if pull {
			for _, s := range []*side{&c.node, &c.twin} {
				if err := s.cri.drop(ctx, s.lab.Image(lab.Image60M)); err != nil {
					return err
				}
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}

func (c *clusterBench) floorSample(ctx context.Context, pod maker, also func(*v1.Pod) *v1.Pod, pull bool, started, gone *line) error {
	p := pod(c.twin.lab)
	if also != nil {
		p = also(p)
	}
	begin := time.Now()
	m, err := c.twin.cri.start(ctx, p, pull)
	if err != nil {
		return err
	}
	at, err := c.twin.events.awaitStarted(ctx, p.Name, len(p.Spec.InitContainers)+len(p.Spec.Containers))
	if err != nil {
		return err
	}
	started.floor(1, at.Sub(begin))
	time.Sleep(100 * time.Millisecond)
	begin = time.Now()
	if err := c.twin.cri.stop(ctx, m); err != nil {
		return err
	}
	if at, err = c.twin.events.awaitGone(ctx, p.Name); err != nil {
		return err
	}
	if gone != nil {
		gone.floor(1, at.Sub(begin))
	}
	return nil
}

// crashes times from a container's end to the start of its next.
func (c *clusterBench) crashes(ctx context.Context) error {
	l, told := c.table.times("crash → restarted", ofFloor(1.10)), c.table.times("restarted → shown in the API", noSlower)
	var pods []*v1.Pod
	for range c.samples() {
		p := crasher(c.twin.lab)
		m, err := c.twin.cri.start(ctx, p, false)
		if err != nil {
			return err
		}
		ended, err := c.twin.events.awaitStopped(ctx, p.Name, 1)
		if err != nil {
			return err
		}
		m.attempt++
		if err := c.twin.cri.container(ctx, m, &p.Spec.Containers[0], false); err != nil {
			return err
		}
		again, err := c.twin.events.awaitStarted(ctx, p.Name, 2)
		if err != nil {
			return err
		}
		l.floor(1, again.Sub(ended))
		time.Sleep(100 * time.Millisecond) // its shell has to listen
		if err := c.twin.cri.stop(ctx, m); err != nil {
			return err
		}
		p = bound(crasher(c.node.lab))
		if err := c.create(ctx, p); err != nil {
			return err
		}
		if ended, err = c.node.events.awaitStopped(ctx, p.Name, 1); err != nil {
			return err
		}
		if again, err = c.node.events.awaitStarted(ctx, p.Name, 2); err != nil {
			return err
		}
		l.agent(c.kind, again.Sub(ended))
		shown, err := c.seen.awaitRestarted(ctx, p.Name)
		if err != nil {
			return err
		}
		told.agent(c.kind, shown.Sub(again))
		pods = append(pods, p)
	}
	return c.removeAll(ctx, pods)
}

// removeAll deletes pods, ten calls at a time, and waits until all are gone.
func (c *clusterBench) removeAll(ctx context.Context, pods []*v1.Pod) error {
	if err := each(pods, 10, func(p *v1.Pod) error { return c.remove(ctx, p) }); err != nil {
		return err
	}
	for _, p := range pods {
		if _, err := c.seen.awaitGone(ctx, p.Name); err != nil {
			return err
		}
	}
	return nil
}

// each calls do for all, at most width at a time, in order, and returns the first error.
func each[T any](all []T, width int, do func(T) error) error {
	next := make(chan T)
	var (
		work  sync.WaitGroup
		once  sync.Once
		first error
	)
	for range width {
		work.Go(func() {
			for t := range next {
				if err := do(t); err != nil {
					once.Do(func() { first = err })
				}
			}
		})
	}
	for _, t := range all {
		next <- t
	}
	close(next)
	work.Wait()
	return first
}
